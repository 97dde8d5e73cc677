"""The demo's accounts, as the sign-in page names them: from a file that `manage.py demo` leaves beside the data.

The page shows passwords, so a site that serves others never does: it has to run with ASSENT_DEBUG and be asked for at
an address of this machine. Which people the demo has is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.hashers import make_password
from django.http import HttpRequest

from approvals.models import User

_THIS_MACHINE = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class DemoAccount:
    username: str
    password: str
    what: str


def write(password: str, what_by_username: Mapping[str, str]) -> str:
    """Write who may sign in with the demo's password; return its hash, which their rows get.

    The hash is the same with each run. By it the page knows who changed their password, without computing four more.
    """
    told = _read()
    encoded: str = told["hash"] if told.get("password") == password else make_password(password)
    accounts = {"password": password, "hash": encoded, "accounts": dict(what_by_username)}
    path = _path().with_suffix(".new")
    path.touch(mode=0o600)
    path.write_text(json.dumps(accounts, indent=2), encoding="utf-8")
    path.replace(_path())
    return encoded


def shown_to(request: HttpRequest) -> list[DemoAccount]:
    """Return the demo's people who still have its password; none on a site that others may reach."""
    if not settings.DEBUG or urlsplit(f"//{request.get_host()}").hostname not in _THIS_MACHINE:
        return []
    told = _read()
    what_by_username = told.get("accounts", {})
    unchanged = User.objects.filter(username__in=what_by_username, password=told.get("hash"), is_active=True)
    usernames = set(unchanged.values_list("username", flat=True))
    return [
        DemoAccount(username, told["password"], what)
        for username, what in what_by_username.items()
        if username in usernames
    ]


def _path() -> Path:
    return Path(settings.DATA_DIR) / "demo_accounts.json"


def _read() -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(_path().read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return told
