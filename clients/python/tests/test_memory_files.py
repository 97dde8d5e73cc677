"""The memory tool's steps, driven by hand: what people decided is told, and paths mean one thing."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent_client.adapters import memory_files
from assent_client.adapters.memory_files import CommandRefused, Steps, refusal
from assent_client.answers import ToolAnswer
from assent_client.errors import APIStatusError, ConflictError, NotFoundError, UnprocessableEntityError
from assent_client.exchange import at_once
from assent_client.text import memory_paths

TOLD = "\n\nDecided since you were last told:\n- #7 was rejected: out\\u200bdated"


def told(**data: Any) -> ToolAnswer:
    return ToolAnswer(
        data=data | {"decisions": {"items": [{"text": "#7 was rejected: out\u200bdated", "cursor": "d-9"}]}}
    )


def done(steps: Steps, *answers: ToolAnswer | APIStatusError, before: set[str] | None = None) -> str:
    """Give these answers to the steps; what they return. `before` is what the tool told before."""
    coming = iter(answers)

    def call(step: memory_files.Step) -> ToolAnswer:
        answer = next(coming)
        if isinstance(answer, APIStatusError):
            raise answer
        return answer

    text = at_once(memory_files.done(steps, call, set() if before is None else before))
    assert not [*coming]
    return text


GOALS = "/memories/blocks/goals.md"


def test_reading_tells_what_was_decided_once() -> None:
    before: set[str] = set()
    shown = [done(memory_files.view(GOALS), told(content="a", proposal_id=None), before=before) for _ in range(2)]
    read = f"Here's the content of {GOALS} with line numbers:\n     1\ta"
    assert shown == [f"{read}{TOLD}", read]


def test_what_two_answers_tell_is_told_once() -> None:
    edit = memory_files.str_replace(GOALS, "a", "b", {})
    shown = done(edit, told(content="a", proposal_id=None), told(proposal_id=8, status="open"))
    assert shown.endswith(f"Until then the file reads as before.{TOLD}")
    assert shown.count("#7 was rejected") == 1


def test_a_refusal_tells_what_was_decided_too() -> None:
    read = told(content="a", proposal_id=None)
    none = UnprocessableEntityError("none", status_code=422, code="old_string_not_found", text="Error: none")
    with pytest.raises(CommandRefused) as refused:
        done(memory_files.str_replace(GOALS, "zzz", "b", {}), read, none)
    assert str(refused.value) == (
        f"No replacement was performed, old_str `zzz` did not appear verbatim in {GOALS}.{TOLD}"
    )
    text = (
        "Error: none\nThe nearest passage is line 1 (90% similar):\na\nYour old_string differs from it only in case.\n"
        "If you meant that passage, call again with:\n{}"
    )
    call = {"path": GOALS, "old_string": "a", "new_string": "b", "reasoning": "r"}
    none = UnprocessableEntityError(
        "none", status_code=422, code="old_string_not_found", text=text, details={"corrected_call": call}
    )
    with pytest.raises(CommandRefused) as refused:
        done(memory_files.str_replace(GOALS, "A", "b", {}), told(content="a", proposal_id=None), none)
    assert str(refused.value) == (
        f"No replacement was performed, old_str `A` did not appear verbatim in {GOALS}.\n"
        "The nearest passage is line 1 (90% similar):\na\nYour old_str differs from it only in case.\n"
        "If you meant that passage, call again with:\n"
        f'{{"command": "str_replace", "path": "{GOALS}", "old_str": "a", "new_str": "b"}}{TOLD}'
    )
    over = UnprocessableEntityError("too long", status_code=422, code="over_limit", text="Error: too long")
    with pytest.raises(CommandRefused) as refused:
        done(memory_files.str_replace(GOALS, "a", "b", {}), read, over)
    assert str(refused.value) == f"too long{TOLD}"


def test_without_decisions_nothing_is_added_and_refusals_pass() -> None:
    assert done(memory_files.view(GOALS), ToolAnswer(data={"content": "a", "proposal_id": None})).endswith("     1\ta")
    near = NotFoundError(
        "none", status_code=404, code="path_not_found", text=f"Error: none\nThe nearest is {GOALS}.\nX"
    )
    with pytest.raises(CommandRefused, match=rf"does not exist[^\n]*\nThe nearest is {GOALS}\.$"):
        done(memory_files.view("/memories/blocks/gaols.md"), near)
    missing = NotFoundError("none", status_code=404, code="not_found")
    with pytest.raises(NotFoundError):
        done(memory_files.view("/memories/blocks"), missing)


def test_what_was_rejected_before_is_told_without_an_argument_that_no_command_has() -> None:
    said = (
        "Error: The user rejected this before.\nNothing was made.\nIf it has, make the call with force=true, and so on."
    )
    error = ConflictError("rejected", status_code=409, code="rejected_before", text=said)
    assert refusal(error) == "The user rejected this before.\nNothing was made."
    with pytest.raises(CommandRefused) as refused:
        done(memory_files.str_replace(GOALS, "a", "b", {}), told(content="a", proposal_id=None), error)
    assert str(refused.value) == f"The user rejected this before.\nNothing was made.{TOLD}"


@pytest.mark.parametrize("repaired", [True, False])
def test_an_edit_that_was_made_elsewhere_than_quoted_is_shown(repaired: bool) -> None:
    made = {"edit": 0, "old_string": "said “hi”", "new_string": "says “hi”"}
    answer = ToolAnswer(data={"proposal_id": 8, "status": "open", "repaired": [made] if repaired else []})
    note = "/memories/notes/mem-1-aaaa.md"
    read, whole = (
        ToolAnswer(data={"content": "She said “hi”.", "proposal_id": None}),
        ToolAnswer(data={"result": "She greets."}),
    )
    steps = memory_files.str_replace(note, 'said "hi"', 'says "hi"', {})
    shown = done(steps, read, answer, *(() if repaired else (whole,)))
    assert ("     1\tShe says “hi”." if repaired else "     1\tShe greets.") in shown


def test_an_empty_line_is_inserted() -> None:
    steps = memory_files.insert(GOALS, 1, "", {})
    next(steps)
    assert steps.send(ToolAnswer(data={"content": "a\nb", "proposal_id": None})).arguments["content"] == "\n"


def test_a_rename_that_is_applied_at_once_says_so() -> None:
    missing = NotFoundError("none", status_code=404, code="not_found")
    applied = [ToolAnswer(data={"proposal_id": number, "status": "applied"}) for number in (8, 9)]
    rename = memory_files.rename(GOALS, "/memories/x.md", {})
    shown = done(rename, ToolAnswer(data={"content": "a", "proposal_id": None}), missing, *applied)
    assert "asked to approve" not in shown
    assert "Applied at once (#8)" in shown
    assert "Applied at once (#9)" in shown


@given(st.text(alphabet="./\\%25eEfFcC_memoriesblocks\uff0e\uff0f\u2025\x00 ", max_size=40))
def test_no_path_means_anything_but_a_block_a_note_or_a_folder(rest: str) -> None:
    for path in (rest, f"/memories{rest}", f"/memories/{rest}", f"/memories/blocks/{rest}"):
        try:
            found = memory_paths.parse(path)
        except memory_paths.PathRefused:
            continue
        assert found.canonical == "/memories" or found.canonical.startswith("/memories/")
        assert not {"..", ".", ""} & set(found.canonical.split("/")[1:])
        assert memory_paths.parse(found.canonical).canonical == found.canonical
