"""How to connect: for each way in, what to type or save, filled in with an address and a token.

The texts are in snippets.toml. No Django is needed: pages, documents and tests use the same ones. Snippets of coding
agents have no token but name the variable it is in, which Claude Code reads when it starts. Those of libraries have
neither: the client reads MEMORY_URL and MEMORY_TOKEN.
"""

import shlex
import tomllib
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Snippet:
    """One text to copy.

    Args:
        key: unique among all snippets; in ids of the page and names of tests.
        title: what to do with it, or the file it goes into.
        language: sh, json, toml or python.
    """

    key: str
    title: str
    language: str
    text: str


@dataclass(frozen=True)
class Way:
    """One way in.

    Args:
        needs_environment: whether its snippets take address and token from MEMORY_URL and MEMORY_TOKEN.
    """

    key: str
    title: str
    about: str
    snippets: tuple[Snippet, ...]
    needs_environment: bool = True


_WAYS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["ways"]


def ways(address: str, token: str) -> tuple[Way, ...]:
    """Return every way in.

    Args:
        address: of the installation, such as `https://memory.example`, without a slash at the end.
        token: the secret, or what stands for it.
    """
    given = {"address": address, "token": token}
    given |= {f"quoted {name}": shlex.quote(value) for name, value in given.items()}

    def filled(text: str) -> str:
        for name, value in given.items():
            text = text.replace(f"<{name}>", value)
        return text.removesuffix("\n")

    return tuple(
        Way(**way | {"snippets": tuple(Snippet(**each | {"text": filled(each["text"])}) for each in way["snippets"])})
        for way in _WAYS
    )
