"""The documents of this repository, and what they name: links, paths, tests, commands, settings."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_FENCE = re.compile(r"^(```+)(\w*)[^\n]*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_LINK = re.compile(r"!?\[[^\[\]]*\]\(([^()\s]+)\)")
_HEADING = re.compile(r"^#{1,6} +(.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Document:
    """One Markdown file. `name` is its path from the root."""

    name: str
    text: str

    def __str__(self) -> str:
        return self.name

    @property
    def prose(self) -> str:
        return _FENCE.sub("", self.text)

    def fences(self, language: str) -> Iterator[str]:
        return (body for _, said, body in _FENCE.findall(self.text) if said == language)

    def code(self) -> list[str]:
        """What stands in backticks, without line breaks, and the lines of shell examples."""
        inline = [" ".join(found.split()) for _, found in _CODE.findall(self.prose)]
        return inline + [line for body in self.fences("sh") for line in body.splitlines()]

    def links(self) -> list[str]:
        return _LINK.findall(_CODE.sub("", self.prose))

    def anchors(self) -> set[str]:
        """The fragments GitHub gives the headings."""
        said = (re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in _HEADING.findall(self.prose))
        return set(said)

    def target(self, link: str) -> Path:
        """Where a link to a file leads."""
        path = link.partition("#")[0]
        return ((ROOT / self.name).parent / path).resolve() if path else ROOT / self.name


@cache
def documents() -> tuple[Document, ...]:
    paths = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("clients/*/*.md"),
        *ROOT.glob(".github/**/*.md"),
    ]
    names = sorted(path.relative_to(ROOT).as_posix() for path in paths)
    return tuple(Document(name, (ROOT / name).read_text(encoding="utf-8")) for name in names)


def document(name: str) -> Document:
    return next(each for each in documents() if each.name == name)


def folders(of: Path) -> set[str]:
    """Names of the folders in `of` that belong to the repository."""
    ignored = {line.strip("/") for line in (ROOT / ".gitignore").read_text().splitlines()}
    # What an earlier commit had leaves its compiled modules behind.
    named = {each.name for each in of.iterdir() if each.is_dir() and {file.name for file in each.iterdir()} - ignored}
    return {name for name in named - ignored - {".git"} if not name.endswith(".egg-info")}
