"""Django's backend for PostgreSQL, which does not begin to connect when a deadline has passed."""

from typing import Any

from django.db.backends.postgresql.base import DatabaseWrapper as PostgreSQLWrapper

from memory_app.runtime import deadlines


class DatabaseWrapper(PostgreSQLWrapper):
    def get_new_connection(self, conn_params: Any) -> Any:
        deadlines.require()  # connecting to a server that hangs takes seconds
        at_most = deadlines.at_most(conn_params["connect_timeout"])
        return super().get_new_connection(conn_params | {"connect_timeout": at_most})
