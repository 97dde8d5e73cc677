"""The same work in a bare Django and Django REST framework: what any site on them costs before it does anything more.

It reads a block, replaces a passage of it, keeps a note and searches notes by words, over one table each, without
tokens, history or review. Served by the same web server, on the same kind of database as the site's `default`.
Started by `beside`: DATA names its folder, DATABASE_URL a PostgreSQL where there is one.
"""

from __future__ import annotations

import json
import os
import sys
import uuid
from pathlib import Path
from typing import Any, ClassVar

import django
import environ
from django.conf import settings

_URL = os.environ.get("BARE_DATABASE_URL", "")
_SQLITE = {
    "ENGINE": "django.db.backends.sqlite3",
    "NAME": str(Path(os.environ.get("BARE_DATA", ".")) / "bare.sqlite3"),
    "OPTIONS": {"init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"},
    "CONN_MAX_AGE": None,
}

if not settings.configured:
    settings.configure(
        SECRET_KEY="only for benchmarks, which keep nothing",
        ALLOWED_HOSTS=["127.0.0.1"],
        REQUEST_LIMIT=1024 * 1024,  # asked for by the middleware
        ROOT_URLCONF="benchmarks.bare",
        INSTALLED_APPS=["rest_framework"],
        MIDDLEWARE=[],
        DATABASES={"default": (environ.Env.db_url_config(_URL) | {"CONN_MAX_AGE": None}) if _URL else _SQLITE},
        REST_FRAMEWORK={
            "DEFAULT_AUTHENTICATION_CLASSES": [],
            "DEFAULT_PERMISSION_CLASSES": [],
            "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
            "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
            "UNAUTHENTICATED_USER": None,
        },
    )
    django.setup()

from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.db import connection, models  # noqa: E402
from django.urls import path  # noqa: E402
from rest_framework.request import Request  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.views import APIView  # noqa: E402


class BareBlock(models.Model):
    objects: ClassVar[models.Manager[BareBlock]] = models.Manager()

    owner = models.CharField(max_length=150)
    label = models.CharField(max_length=100)
    body = models.TextField()

    class Meta:
        app_label = "bare"
        constraints = [models.UniqueConstraint(fields=["owner", "label"], name="bare_one_label")]

    def __str__(self) -> str:
        return self.label


class BareNote(models.Model):
    objects: ClassVar[models.Manager[BareNote]] = models.Manager()

    id = models.CharField(max_length=64, primary_key=True)
    owner = models.CharField(max_length=150, db_index=True)
    content = models.TextField()

    class Meta:
        app_label = "bare"

    def __str__(self) -> str:
        return self.id


class Read(APIView):
    def get(self, request: Request, label: str) -> Response:
        block = BareBlock.objects.get(owner="student", label=label)
        return Response({"label": block.label, "text": block.body})


class Edit(APIView):
    def post(self, request: Request, label: str) -> Response:
        block = BareBlock.objects.get(owner="student", label=label)
        given: Any = request.data
        block.body = block.body.replace(given["old_string"], given["new_string"], 1)
        block.save(update_fields=["body"])
        return Response({"label": label})


class Save(APIView):
    def post(self, request: Request) -> Response:
        given: Any = request.data
        note = BareNote.objects.create(id=f"note-{uuid.uuid4()}", owner="student", content=given["content"])
        if connection.vendor == "sqlite":
            with connection.cursor() as cursor:
                cursor.execute("INSERT INTO bare_words (id, content) VALUES (%s, %s)", [note.id, note.content])
        return Response({"note_id": note.id})


_FIND = {
    "sqlite": "SELECT id, content, rank FROM bare_words WHERE bare_words MATCH %s ORDER BY rank LIMIT 5",
    "postgresql": "SELECT id, content, ts_rank(to_tsvector('english', content), to_tsquery('english', %s)) AS rank "
    "FROM bare_barenote WHERE to_tsvector('english', content) @@ to_tsquery('english', %s) ORDER BY rank DESC LIMIT 5",
}


class BareSearch(APIView):
    def get(self, request: Request) -> Response:
        words = request.query_params["q"].split()
        joined = (" OR " if connection.vendor == "sqlite" else " | ").join(words)
        with connection.cursor() as cursor:
            cursor.execute(_FIND[connection.vendor], [joined] * _FIND[connection.vendor].count("%s"))
            rows = cursor.fetchall()
        return Response({"results": [{"note_id": row[0], "text": row[1], "score": row[2]} for row in rows]})


def prepare(blocks: dict[str, str], notes: list[str]) -> None:
    """Make the tables and fill them."""
    with connection.schema_editor() as editor:
        editor.create_model(BareBlock)
        editor.create_model(BareNote)
        if connection.vendor == "sqlite":
            editor.execute("CREATE VIRTUAL TABLE bare_words USING fts5(id UNINDEXED, content)")
        else:
            editor.execute("CREATE INDEX bare_words ON bare_barenote USING gin (to_tsvector('english', content))")
    BareBlock.objects.bulk_create(
        [BareBlock(owner="student", label=label, body=body) for label, body in blocks.items()]
    )
    more(notes)


def more(notes: list[str]) -> None:
    """Keep so many more notes."""
    made = [BareNote(id=f"note-{uuid.uuid4()}", owner="student", content=content) for content in notes]
    BareNote.objects.bulk_create(made, batch_size=1000)
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO bare_words (id, content) VALUES (%s, %s)", [(note.id, note.content) for note in made]
            )


urlpatterns: list[Any] = [
    path("blocks/<str:label>/", Read.as_view()),
    path("blocks/<str:label>/edit/", Edit.as_view()),
    path("notes/", Save.as_view()),
    path("search/", BareSearch.as_view()),
]

application = get_wsgi_application()

if __name__ == "__main__":  # {"blocks": {label: body}, "notes": [content]} on standard input; no blocks: more notes
    given = json.load(sys.stdin)
    if given["blocks"]:
        prepare(given["blocks"], given["notes"])
    else:
        more(given["notes"])
