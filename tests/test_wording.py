"""One word for one thing: no text that people can read uses a word that docs/glossary.md retired."""

import re

import pytest

from tests.support.reading import Text, texts

pytestmark = pytest.mark.pure

#: What is looked for, and what to write in its place.
RETIRED = {
    r"\bsupersed\w*": "outdated, mark as outdated, replaced",
    r"\b(holds?|held)\b": "is true, has, contains",
    r"\b(stands?|stood)\b": "is, applies",
    r"\bspeak\w* (of|to)\b": "mention, match, instruct",
    r"\b(hand(s|ed|ing)?|gave|given?) (it |them |what was said )?in\b": "store, send",
    r"\bt(ake|akes|aken|aking|ook) (it |this |them |that )?back\b": "undo, revoke, withdraw",
    r"\bmend\w*": "fix",
    r"\bby now\b": "now, already",
    r"\bmeanwhile\b": "since, in the meantime",
    r"\bnot yours\b": "you don't have permission, you can't",
    r"\b(by|says) policy\b": "automatic",
    r"\bapplied by\b": "automatic",
    r"\binbox\b|\breview list\b|\b(back to|in|of) the list\b": "Review",
    r"\bproposals? waits?\b": "waiting proposals",
    r"\bmake the (first )?(block|token)\b": "create",
    r"\bas of then\b": "this version",
    r"\bthrow (mine|it) away\b": "discard",
    r"\btoo many tries\b": "too many attempts",
    r"\b(already there|(already )?in memory( already)?)\b": "already in the memory",
    r"\bwhoever\b": "anyone who",
}


def said(text: Text) -> list[str]:
    """What is wrong with a text, a line for each retired word in it."""
    found = ((re.search(word, text.words, re.IGNORECASE), instead) for word, instead in RETIRED.items())
    where = f"{text.path}:{text.line}"
    return [
        f"{where}: “{match[0]}” is retired, write: {instead} – in “{text.words}”" for match, instead in found if match
    ]


@pytest.mark.slow
def test_no_text_people_read_uses_a_retired_word() -> None:
    assert said(Text("templates/a.html", 3, "You can take it back.")), "the words are looked for"
    wrong = [line for text in texts() for line in said(text)]
    assert not wrong, "\n".join(["", *wrong])


@pytest.mark.slow
def test_every_kind_of_text_is_read() -> None:
    """A collector that finds nothing would let everything pass."""
    paths = [text.path for text in texts()]
    for beginning, fewest in (
        ("templates/memory/", 100),
        ("templates/registration/", 20),
        ("approvals/models/", 50),
        ("approvals/forms/memory.py", 10),
        ("clients/python/assent_client/cli/", 30),
        ("memory_app/management/commands/", 10),
        ("static/", 1),
        ("Makefile", 10),
    ):
        assert sum(path.startswith(beginning) for path in paths) >= fewest, beginning
