"""Everything about a person, as one zip for themselves: to be read by a program (`data`), and by people (`index.html`).

What is in it is said by own_data.toml and, for readers, by docs/own-data.md.
"""

import json
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from functools import reduce
from operator import or_
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any
from zipfile import ZIP_DEFLATED, ZipFile

from django.apps import apps
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from approvals.models import User
from assent_client.text import memories_md
from memory_app import reads

PARTS: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))

_CELL = '<dt lang="en">{}</dt><dd dir="auto" lang="">{}</dd>'


def write(person: User, file: IO[bytes]) -> None:
    """Write the zip. Rows are read a few hundred at a time: only the present notes and blocks are held at once."""
    owner = person.username
    blocks, numbers = reads.blocks(owner), {}
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, rows in _parts(owner):
            numbers[name] = _write_part(archive, name, rows)
        for block in blocks:
            archive.writestr(f"memory/blocks/{block.label}.md", block.body)
        archive.writestr("memory/memories.md", memories_md.write(reads.memories(owner)))
        context = {"person": person, "numbers": numbers, "blocks": blocks, "at": timezone.now()}
        archive.writestr("index.html", render_to_string("own_data/index.html", context))


def _parts(owner: str) -> Iterator[tuple[str, Iterable[dict[str, Any]]]]:
    yield "blocks", map(asdict, reads.blocks(owner))
    yield "notes", (note.as_json() for note in reads.notes(owner))
    for name, part in PARTS.items():
        mine = reduce(or_, (Q(**{lookup: owner}) for lookup in part["of"]))
        found = apps.get_model(part["model"])._default_manager.filter(mine, **part.get("where", {}))
        yield name, found.order_by("pk").distinct().values(*part["fields"]).iterator(chunk_size=500)


def _write_part(archive: ZipFile, name: str, rows: Iterable[dict[str, Any]]) -> int:
    """Write rows as lines of JSON and as a page; return how many there are."""
    number = 0
    with TemporaryFile() as page:
        page.write(render_to_string("own_data/part.html", {"name": name}).encode())
        with archive.open(f"data/{name}.jsonl", "w") as data:
            for row in rows:
                number += 1
                data.write(json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False).encode() + b"\n")
                shown = [(name.replace("_", " "), value) for name, value in row.items() if value not in (None, "")]
                # A template for each row took three quarters of the time.
                page.write(format_html("<dl>{}</dl>\n", format_html_join("", _CELL, shown)).encode())
        page.seek(0)
        with archive.open(f"{name}.html", "w") as copy:
            shutil.copyfileobj(page, copy)
    return number
