"""Reading settings from environment variables: every value is checked, and a wrong one stops the start.

A value that cannot be used is an error that names the variable, the value and what is allowed; nothing falls back to
a default behind the operator's back. An empty variable counts as not set. Secrets may come from files, as containers
hand them in: `NAME_FILE` names the file. Which settings there are is said where they are read (`settings`,
`webserver.options`).
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

#: What our variables begin with; another name with one of these is taken for a misspelt one.
PREFIXES = ("ASSENT_", "MEMORIES_")

#: Read outside the program: by docker-compose.yml and by what runs the tests.
_READ_ELSEWHERE = frozenset({"ASSENT_PORT", "ASSENT_DOLT", "ASSENT_REQUIRE_ALL", "ASSENT_TEST_PROCESSES"})

_FILE = "_FILE"
_TRUE = ("1", "true", "yes", "on", "y", "t")
_FALSE = ("0", "false", "no", "off", "n", "f")
#: Secrets are a line; a file that is larger is another one.
_LARGEST_SECRET = 64 * 1024
#: As alike as a name has to be to one of ours to be suggested (`difflib`).
_ALIKE = 0.8


class BadSetting(ImproperlyConfigured):
    """A variable says something that cannot be used. The message names it, its value and what is allowed."""


class Environment:
    """Environment variables as values; each method raises BadSetting for one that is not what it has to be.

    Attributes:
        known: the names that were asked for, with the `_FILE` names of secrets.
    """

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._variables = os.environ if variables is None else variables
        self.known: set[str] = set()

    def text(self, name: str, *, default: str = "") -> str:
        self.known.add(name)
        return self._variables.get(name, "").strip() or default

    def secret(self, name: str) -> str:
        """The variable, or what the file says that `NAME_FILE` names, without the newlines at its end."""
        self.known.add(name + _FILE)
        value, path = self.text(name), self.text(name + _FILE)
        if not path:
            return value
        if value:
            raise BadSetting(f"{name} and {name}{_FILE} are both set: one of them, please.")
        try:
            with Path(path).open("rb") as file:
                found = file.read(_LARGEST_SECRET + 1)
            said = found.decode().rstrip("\r\n")
        except OSError as error:
            raise BadSetting(f"{name}{_FILE} is {path!r}, which cannot be read: {error.strerror}.") from error
        except ValueError as error:
            raise BadSetting(f"{name}{_FILE} is {path!r}, which is not a text file.") from error
        if not said.strip() or len(found) > _LARGEST_SECRET or "\n" in said:
            raise BadSetting(f"{name}{_FILE} is {path!r}, which has to have one line: the secret alone.")
        return said

    def switch(self, name: str, *, default: bool) -> bool:
        value = self.text(name).lower()
        if not value:
            return default
        if value not in _TRUE + _FALSE:
            raise self._bad(name, "on or off (1 or 0, true or false, yes or no)")
        return value in _TRUE

    def whole(self, name: str, *, default: int, least: int = 0, most: int | None = None) -> int:
        """A whole number from `least` to `most`."""
        value = self.text(name)
        if not value:
            return default
        # Python also takes 1_000 and digits of other scripts.
        if value.isascii() and value.removeprefix("-").isdecimal() and len(value) < 20:
            number = int(value)
            if number >= least and (most is None or number <= most):
                return number
        raise self._bad(name, f"a whole number {_span(least, most)}")

    def number(
        self,
        name: str,
        *,
        default: float,
        least: float = 0,
        most: float | None = None,
    ) -> float:
        """A number from `least` to `most`."""
        value = self.text(name)
        if not value:
            return default
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number) and number >= least and (most is None or number <= most):
            return number
        raise self._bad(name, f"a number {_span(least, most)}")

    def choice(self, name: str, *, allowed: Sequence[str], default: str) -> str:
        """One of the `allowed` words, in any case."""
        value = self.text(name, default=default)
        for word in allowed:
            if value.lower() == word.lower():
                return word
        raise self._bad(name, _one_of(allowed))

    def words(self, name: str, *, allowed: Collection[str] | None = None, default: Iterable[str] = ()) -> list[str]:
        """Words separated by commas; each one of the `allowed` ones where they are given."""
        words = [word for part in self.text(name).split(",") if (word := part.strip())]
        if allowed is not None and any(word not in allowed for word in words):
            raise self._bad(name, f"words separated by commas, each {_one_of(allowed)}")
        return words or [*default]

    def require_url(self, name: str, value: str, *, schemes: Sequence[str]) -> None:
        """Raise BadSetting unless the value is empty or an address with one of these schemes.

        Passwords stand in addresses, so the value is not repeated; its scheme is.
        """
        if not value:
            return
        try:
            parts = urlsplit(value)
            _ = parts.port  # raises for one that is no number
            is_whole = bool(parts.netloc or parts.path.strip("/")) or value.endswith("://")
        except ValueError:
            raise BadSetting(f"{name} is no address: its host or port is malformed.") from None
        if "://" not in value or parts.scheme not in schemes or not is_whole:
            said = f"begins with {parts.scheme!r}" if "://" in value else "is no address"
            raise BadSetting(
                f"{name} {said}: it has to be an address that begins with {_one_of(schemes, after='://')}."
            )

    def unknown(self) -> list[tuple[str, str]]:
        """The variables that look like settings and are none, each with the nearest name of one ('' without any)."""
        names = sorted(
            name
            for name in self._variables
            if name.startswith(PREFIXES) and name not in self.known and name not in _READ_ELSEWHERE
        )
        return [(name, nearest(name, self.known)) for name in names]

    def _bad(self, name: str, allowed: str) -> BadSetting:
        return BadSetting(f"{name} is {self.text(name)!r}: it has to be {allowed}.")


def nearest(name: str, known: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1, cutoff=_ALIKE)), "")


def _span(least: float, most: float | None) -> str:
    return f"from {least:g} to {most:g}" if most is not None else f"of {least:g} or more"


def _one_of(words: Iterable[str], *, after: str = "") -> str:
    said = [f"{word}{after}" for word in words]
    return f"{', '.join(said[:-1])} or {said[-1]}" if len(said) > 1 else said[0]
