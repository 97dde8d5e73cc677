"""Changes written into a text: `[-removed-]{+added+}`. It says at once what was before, what is after, and the diff."""

import re
from collections.abc import Iterable, Sequence

from memory_app.text.worddiff import Segment

_SHAPES = {"same": "{}", "gap": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
_REMOVED, _ADDED = r"\[-((?s:.*?))-\]", r"\{\+((?s:.*?))\+\}"


def marked(segments: Iterable[Segment | Sequence[str]]) -> str:
    """Return segments, or the parts of an excerpt, as one text."""
    parts = [(each.kind, each.text) if isinstance(each, Segment) else each for each in segments]
    return "".join(_SHAPES[kind].format(text) for kind, text in parts)


def versions(text: str) -> tuple[str, str]:
    """Return the texts before and after the changes that are marked."""
    return re.sub(_REMOVED, r"\1", re.sub(_ADDED, "", text)), re.sub(_ADDED, r"\1", re.sub(_REMOVED, "", text))


def changes(text: str) -> list[tuple[str, str]]:
    """Return what each marked change, a removal with what is added directly behind it, was and became."""
    found = re.findall(f"{_REMOVED}(?:{_ADDED})?|{_ADDED}", text)
    return [(removed, added or alone) for removed, added, alone in found]


def texts_of(segments: Iterable[Segment]) -> tuple[str, str]:
    """Return the texts that a diff is of."""
    parts = list(segments)
    before = "".join(each.text for each in parts if each.kind != "added")
    return before, "".join(each.text for each in parts if each.kind != "removed")
