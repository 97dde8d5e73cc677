"""Pure packages of the server that the client has copies of: the memories.md format, and naming unseen characters.

The `memory` command reads and writes both without a server. A copy that a test compares keeps the server free of the
client, and the client free of the server; docs/decisions has why.
"""

from __future__ import annotations

from pathlib import Path

from django.conf import settings

#: Below memory_app, and below `_generated`.
_COPIED = ("runtime/progress.py",)
_FROM, _TO = "memory_app.", "assent_client._generated."
_PACKAGE = '"""Copies of pure modules of the server. Written by `manage.py client_code`: not edited by hand."""\n'


def modules() -> dict[str, str]:
    """Return the source of each copied module, importing its neighbours from where the copy is."""
    folder = Path(settings.BASE_DIR) / "memory_app"
    found = {"runtime/__init__.py": _PACKAGE}
    for name in _COPIED:
        paths = sorted((folder / name).glob("*.py")) if (folder / name).is_dir() else [folder / name]
        for path in paths:
            source = path.read_text(encoding="utf-8")
            found[str(path.relative_to(folder))] = source.replace(f"from {_FROM}", f"from {_TO}")
    return found
