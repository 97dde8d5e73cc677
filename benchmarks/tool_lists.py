"""How long the lists of tools are that a model reads with each request. `python -m benchmarks.tool_lists`.

Characters of compact JSON, as sent. Tokens are those of o200k where the package `bpe-openai` is installed, which brings
its vocabulary along (40 MB, so it is no dependency); else an estimate, for which the smallest measured ratio is kept.
"""

import importlib
import json
import os
from collections.abc import Callable, Iterable
from typing import Any

#: Characters of a token, at least: 4.46 to 4.62 were measured for the sets below.
RATIO = 4.4
FORMATS = ("openai", "anthropic", "mcp")


def _counter() -> Callable[[str], int]:
    try:
        encoding = importlib.import_module("bpe_openai").get_encoding("o200k_base")
    except ModuleNotFoundError:
        return lambda text: round(len(text) / RATIO)
    return lambda text: len(encoding.encode(text))


def rows() -> Iterable[tuple[str, int, dict[str, tuple[int, int]]]]:
    """Yield each set with its tools' number, and its characters and tokens by format."""
    from agent_tools import tools  # noqa: F401 - fills the registry
    from agent_tools.calls import registry, toolsets

    count = _counter()
    for name in toolsets.NAMES:
        chosen = [tool for tool in registry.TOOLS.values() if tool.name in toolsets.tools_of(name)]
        texts = {form: _text([registry.definition(tool, form) for tool in chosen]) for form in FORMATS}
        yield name, len(chosen), {form: (len(text), count(text)) for form, text in texts.items()}


def _text(definitions: list[dict[str, Any]]) -> str:
    return json.dumps(definitions, ensure_ascii=False, separators=(",", ":"))


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memory_app.settings")
    os.environ.setdefault("ASSENT_DEBUG", "1")
    import django

    django.setup()
    print(f"{'set':14} tools  " + "  ".join(f"{form + ' characters, tokens':>30}" for form in FORMATS))
    for name, number, sizes in rows():
        print(f"{name:14} {number:5}  " + "  ".join(f"{sizes[form][0]:>20,} {sizes[form][1]:>9,}" for form in FORMATS))


if __name__ == "__main__":
    main()
