"""Django's backend for PostgreSQL, which does not begin to connect when a deadline has passed."""

from typing import Any

from django.db.backends.postgresql.base import DatabaseWrapper as PostgreSQLWrapper

from memory_app.runtime import deadlines


class DatabaseWrapper(PostgreSQLWrapper):
    def get_new_connection(self, conn_params: Any) -> Any:
        return super().get_new_connection(deadlines.connecting(conn_params))
