"""Regular expressions and word lists that stand in a TOML file beside the module that needs them.

Belongs here: reading such a file. Not here: what is in one, and compiling it (`tests.hostile.test_patterns` looks for
compiled patterns in the modules that use them).
"""

import re
import tomllib
from pathlib import Path
from typing import Any

_LINE_THAT_GOES_ON = re.compile(r"\n {5,}")


def beside(module: str) -> dict[str, Any]:
    """Return what the TOML file has that is named like a module.

    A line that begins with five blanks or more goes on from the line before. In each string, `<name>` stands for the
    string of that name in the table `parts`, where a part may name those that come after it, or for any word of the
    list of that name in the table `words`.

    Args:
        module: the module's `__file__`.
    """
    path = Path(module).with_suffix(".toml")
    read = tomllib.loads(_LINE_THAT_GOES_ON.sub("", path.read_text(encoding="utf-8")))
    parts: dict[str, str] = read.get("parts", {})
    for name, words in read.get("words", {}).items():
        parts[name] = "|".join(sorted(" ".join(words).split(), key=len, reverse=True))
    filled: dict[str, Any] = _filled(read, parts)
    return filled


def _filled(value: Any, parts: dict[str, str]) -> Any:
    match value:
        case str():
            for name, part in parts.items():
                value = value.replace(f"<{name}>", part)
        case list():
            return [_filled(each, parts) for each in value]
        case dict():
            return {name: _filled(each, parts) for name, each in value.items()}
    return value
