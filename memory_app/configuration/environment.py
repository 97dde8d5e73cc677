"""Reading settings from environment variables: every value is checked, and a wrong one stops the start.

A value that cannot be used is an error that names the variable, the value and what is allowed; nothing falls back to
a default behind the operator's back. An empty variable counts as not set. Secrets may come from files, as containers
provide them: `NAME_FILE` names the file.
Not here: which settings there are (`settings` and `webserver.options` read them) and what they mean (docs/settings.md).
"""

import base64
import contextlib
import difflib
import functools
import math
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

#: What our variables begin with; any other name with one of these counts as misspelt.
PREFIXES = ("ASSENT_", "MEMORIES_")

#: Read outside the program, by `docker-compose.yml` and by what runs the tests.
READ_ELSEWHERE = frozenset(
    (
        *("ASSENT_PORT", "ASSENT_VERSION", "ASSENT_DOLT"),
        *("ASSENT_REQUIRE_ALL", "ASSENT_TEST_COVERAGE", "ASSENT_TEST_PROCESSES"),
    )
)

_FILE = "_FILE"
_TRUE = ("1", "true", "yes", "on", "y", "t")
_FALSE = ("0", "false", "no", "off", "n", "f")
#: Bytes. A secret is one line; a larger file holds something else.
_LARGEST_SECRET = 64 * 1024
#: How similar a name has to be to one of ours for that to be suggested (`difflib`).
_ALIKE = 0.8
#: What a server of the memory may be called.
_KEY = re.compile(r"[a-z][a-z0-9_-]{0,63}")


class BadSetting(ImproperlyConfigured):
    """A variable has a value that cannot be used. The message names it, its value and what is allowed."""


@dataclass(frozen=True)
class Reading:
    """How a setting was read: its default and the values it may have, in words."""

    default: str = ""
    allowed: str = ""
    is_secret: bool = False


class Environment:
    """Environment variables as values; each method raises BadSetting for one that is not what it has to be.

    Attributes:
        known: the names that were asked for, with the `_FILE` names of secrets.
        readings: how each setting was asked for, by name, in the order of reading.
    """

    def __init__(self, variables: Mapping[str, str] | None = None) -> None:
        self._variables = os.environ if variables is None else variables
        self.known: set[str] = set()
        self.readings: dict[str, Reading] = {}

    def text(self, name: str, *, default: str = "") -> str:
        return self._value(name, Reading(default)) or default

    def _value(self, name: str, reading: Reading) -> str:
        self.known.add(name)
        self.readings[name] = reading
        return self._raw(name)

    def _raw(self, name: str) -> str:
        return self._variables.get(name, "").strip()

    def secret(self, name: str) -> str:
        """Return the variable, or the content of the file that `NAME_FILE` names, without the newlines at its end."""
        self.known.add(name + _FILE)
        value, path = self._value(name, Reading(is_secret=True)), self._raw(name + _FILE)
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
        value = self._value(name, Reading("on" if default else "off", "on or off")).lower()
        if not value:
            return default
        if value not in _TRUE + _FALSE:
            raise self._bad(name, "on or off (1 or 0, true or false, yes or no)")
        return value in _TRUE

    def whole(self, name: str, *, default: int, least: int = 0, most: int | None = None) -> int:
        """Return a whole number from `least` to `most`."""
        return int(self._number(name, default, least, most, is_whole=True))

    def number(self, name: str, *, default: float, least: float = 0, most: float | None = None) -> float:
        """Return a number from `least` to `most`."""
        return self._number(name, default, least, most, is_whole=False)

    def _number(self, name: str, default: float, least: float, most: float | None, *, is_whole: bool) -> float:
        value = self._value(name, Reading(_plain(default), _span(least, most)))
        if not value:
            return default
        # Python also takes 1_000 and digits of other scripts.
        is_written_so = value.isascii() and value.removeprefix("-").isdecimal() and len(value) < 20
        try:
            number = float(value) if is_written_so or not is_whole else math.nan
        except ValueError:
            number = math.nan
        if math.isfinite(number) and number >= least and (most is None or number <= most):
            return int(value) if is_whole else number
        raise self._bad(name, f"a {'whole ' if is_whole else ''}number {_span(least, most)}")

    def choice(self, name: str, *, allowed: Sequence[str], default: str) -> str:
        """Return one of the `allowed` words, given in any case."""
        value = self._value(name, Reading(default, _one_of(allowed))) or default
        for word in allowed:
            if value.lower() == word.lower():
                return word
        raise self._bad(name, _one_of(allowed))

    def words(self, name: str, *, allowed: Collection[str] | None = None, default: Iterable[str] = ()) -> list[str]:
        """Return words separated by commas; each one of the `allowed` ones where they are given."""
        default = [*default]
        reading = Reading(",".join(default), f"words separated by commas{f': {_one_of(allowed)}' if allowed else ''}")
        words = [word for part in self._value(name, reading).split(",") if (word := part.strip())]
        if allowed is not None and any(word not in allowed for word in words):
            raise self._bad(name, f"words separated by commas, each {_one_of(allowed)}")
        return words or default

    def networks(self, name: str) -> list[IPv4Network | IPv6Network]:
        """Return networks separated by commas, as `10.0.0.0/8`; a single address is a network of one."""
        said = self._value(name, Reading(allowed="networks separated by commas"))
        try:
            return [ip_network(part.strip()) for part in said.split(",") if part.strip()]
        except ValueError:
            raise self._bad(
                name, "networks separated by commas, as in 10.0.0.0/8, without bits beyond the /8"
            ) from None

    def require_url(self, name: str, value: str, *, schemes: Sequence[str]) -> None:
        """Raise BadSetting unless the value is empty or an address with one of these schemes.

        Addresses may hold passwords, so the message repeats the scheme and not the value.
        """
        if not value:
            return
        try:
            parts = urlsplit(value)
            _ = parts.port  # raises when it is not a number
            is_whole = bool(parts.netloc or parts.path.strip("/")) or value.endswith("://")
        except ValueError:
            raise BadSetting(f"{name} is no address: its host or port is malformed.") from None
        if "://" not in value or parts.scheme not in schemes or not is_whole:
            said = f"begins with {parts.scheme!r}" if "://" in value else "is no address"
            raise BadSetting(
                f"{name} {said}: it has to be an address that begins with {_one_of(schemes, after='://')}."
            )

    def addresses(self, name: str, *, schemes: Sequence[str]) -> dict[str, str]:
        """Return addresses by name, given as `one=mysql://…,two=mysql://…`: a secret, since they hold passwords."""
        found = {}
        for part in filter(None, map(str.strip, self.secret(name).split(","))):
            key, _, url = part.partition("=")
            if not _KEY.fullmatch(key) or not url or key in found:
                raise BadSetting(f"{name} has to be names with addresses, each name once: one=mysql://…,two=mysql://…")
            self.require_url(name, url, schemes=schemes)
            found[key] = url
        return found

    def unknown(self) -> list[tuple[str, str]]:
        """Return the variables that look like settings and are none, with the nearest name of one ('' without any)."""
        names = sorted(
            name
            for name in self._variables
            if name.startswith(PREFIXES) and name not in self.known and name not in READ_ELSEWHERE
        )
        return [(name, nearest(name, self.known)) for name in names]

    def _bad(self, name: str, allowed: str) -> BadSetting:
        return BadSetting(f"{name} is {self._raw(name)!r}: it has to be {allowed}.")


def nearest(name: str, known: Iterable[str]) -> str:
    return next(iter(difflib.get_close_matches(name, sorted(known), n=1, cutoff=_ALIKE)), "")


def _span(least: float, most: float | None) -> str:
    return f"from {_plain(least)} to {_plain(most)}" if most is not None else f"of {_plain(least)} or more"


def _plain(number: float) -> str:
    """Return a number without an exponent: `:g` alone writes a million as 1e+06."""
    return str(int(number)) if number == int(number) else f"{number:g}"


def _one_of(words: Iterable[str], *, after: str = "") -> str:
    said = [f"{word}{after}" for word in words]
    return f"{', '.join(said[:-1])} or {said[-1]}" if len(said) > 1 else said[0]


# -- the data folder ------------------------------------------------------------------------------

#: What Assent writes there. Other files in the folder are somebody else's and keep their modes.
OURS = (
    "assent.sqlite3*",
    "memory*.doltlite*",
    ".memory*.doltlite*",
    "secret_key",
    "text_key",
    "erased.jsonl",
    "demo_token",
    "demo_accounts.*",
)
_OTHERS = stat.S_IRWXG | stat.S_IRWXO
#: Set by every entry point: what it creates is for its user alone. SQLite gives a WAL the mode of its main file, and a
#: collection of garbage, which writes the memory's file anew, keeps that file's mode.
UMASK = _OTHERS


def make(folder: Path) -> None:
    """Make the folder where it is missing, and close it and our files in it to other users.

    What another user owns stays as it is, and so does a sticky folder, which is everybody's as /tmp is: the system
    check `memory_app.W001` reports them.

    Raises:
        BadSetting: the folder cannot be made or used.
    """
    try:
        folder.mkdir(mode=stat.S_IRWXU, parents=True, exist_ok=True)
        open_to_others = exposed(folder)
    except OSError as error:
        raise BadSetting(
            f"ASSENT_DATA_DIR is {str(folder)!r}, which cannot be made or used as a folder: {error.strerror}."
        ) from error
    for path in open_to_others:
        with contextlib.suppress(OSError):  # a read-only disk, or a file that is gone this moment
            status = path.stat()
            if status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
                path.chmod(stat.S_IMODE(status.st_mode) & ~_OTHERS)


def exposed(folder: Path) -> list[Path]:
    """Return the folder and those of our files in it whose modes let in other users of this machine.

    Other users cannot reach the files of a closed folder; still, copies of the files keep their modes.
    """
    files = (path for pattern in OURS for path in folder.glob(pattern))
    found = []
    for path in (folder, *sorted(files)):
        with contextlib.suppress(FileNotFoundError):  # SQLite removes the WAL when the last connection closes
            mode = path.lstat().st_mode
            if mode & _OTHERS and not stat.S_ISLNK(mode):
                found.append(path)
    return found


# -- the secret key -------------------------------------------------------------------------------

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


# -- the key of the texts -------------------------------------------------------------------------

_TEXT_KEY_BYTES = 32


def text_key(env: Environment, data_dir: Path, *, is_required: bool) -> bytes:
    """Return ASSENT_TEXT_KEY; where none is required, one generated on first use and kept with the data.

    Raises:
        ImproperlyConfigured: a key is required and there is none, or it is none.
    """
    said, path = env.secret("ASSENT_TEXT_KEY"), data_dir / "text_key"
    if not said and is_required:
        raise ImproperlyConfigured(
            "Set ASSENT_TEXT_KEY to a key for the texts of the memory, or ASSENT_TEXT_KEY_FILE to a file that has one: "
            "`openssl rand -base64 32` makes one. Keep a copy away from the backups: without it all texts are lost."
        )
    if not said:
        if not path.exists():
            _make_text_key(path)
        said = path.read_text().strip()
    if key := as_text_key(said):
        return key
    raise ImproperlyConfigured(
        f"{'ASSENT_TEXT_KEY' if env.secret('ASSENT_TEXT_KEY') else path} has to be {_TEXT_KEY_BYTES} bytes, written in "
        "base64 or hexadecimal digits. `openssl rand -base64 32` makes them."
    )


def as_text_key(written: str) -> bytes | None:
    """Return the key that is written in base64 or hexadecimal digits; None where it is none."""
    for decode in (bytes.fromhex, functools.partial(base64.b64decode, validate=True)):
        with contextlib.suppress(ValueError):
            if len(key := decode(written.strip())) == _TEXT_KEY_BYTES:
                return key
    return None


def _make_text_key(path: Path) -> None:
    """Write a new key that a power cut leaves whole; of two processes that do, one does."""
    written = path.with_name(f"{path.name}.{os.getpid()}")
    with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
        file.write(base64.b64encode(secrets.token_bytes(_TEXT_KEY_BYTES)).decode() + "\n")
        file.flush()
        os.fsync(file.fileno())
    with contextlib.suppress(FileExistsError):
        os.link(written, path)
    written.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
