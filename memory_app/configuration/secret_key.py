"""The secret key: from the environment, or generated once while developing."""

from __future__ import annotations

import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from memory_app.configuration.environment import Environment

#: Characters of a secret key, and different ones among them. Anyone who guesses it can sign sessions and password
#: links. 32 hexadecimal digits have 128 bits, and fewer than 8 different digits once in 28 million.
_KEY_LENGTH, _KEY_VARIETY = 32, 8


def secret_key(env: Environment, data_dir: Path, *, is_required: bool) -> str:
    """Return ASSENT_SECRET_KEY; where none is required, one generated on first use and kept with the data.

    Raises:
        ImproperlyConfigured: a key is required, and there is none or one that can be guessed.
    """
    key = env.secret("ASSENT_SECRET_KEY")
    if key and is_required and (len(key) < _KEY_LENGTH or len(set(key)) < _KEY_VARIETY):
        raise ImproperlyConfigured(
            f"ASSENT_SECRET_KEY can be guessed: it needs {_KEY_LENGTH} characters or more, {_KEY_VARIETY} of them "
            "different. `openssl rand -base64 48` makes one."
        )
    if key:
        return key
    if is_required:
        raise ImproperlyConfigured(
            "Set ASSENT_SECRET_KEY to a long random value, or ASSENT_SECRET_KEY_FILE to a file that has one "
            "(ASSENT_DEBUG is off)."
        )
    path = data_dir / "secret_key"
    if not path.exists():
        path.touch(mode=0o600)
        path.write_text(secrets.token_urlsafe(50))
    return path.read_text()
