"""Each method of the client against the real server: it is answered, and with the fields and types it promises."""

import asyncio

import httpx2
import pytest

from approvals.models import Proposal, User
from assent_client import (
    Assent,
    AssentError,
    AsyncAssent,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    DecisionPending,
    NotFoundError,
    PermissionDeniedError,
    UnprocessableEntityError,
)
from memory_app.reads import Block
from tests.agent_tools.conftest import Issue
from tests.clients.conftest import URL, as_described, transport
from tests.support.acts import approve
from tests.support.fixtures import MakeBlock

C1 = {"old_string": "B2", "new_string": "C1", "reasoning": "She passed."}


def proposed(memory: Assent) -> int:
    evidence = [{"role": "user", "content": "C1!"}]
    made = memory.blocks.propose_edit("goals", **C1, evidence=evidence)
    return int(as_described(made).proposal_id)


# -- blocks ---------------------------------------------------------------------------------------


def test_blocks_are_listed_read_and_have_a_history(
    memory: Assent, alice: User, goals: Block, make_block: MakeBlock
) -> None:
    page = memory.blocks.list()
    assert [block.label for block in page] == ["goals"]
    as_described(page.answer)
    number = proposed(memory)
    block = as_described(memory.blocks.get("goals"))
    assert block.body == goals.body
    assert block.text.startswith("# Learning goals")
    assert block.open_proposals[0].proposal_id == number
    history = memory.blocks.history("goals")
    assert [change.action for change in history] == ["created"]
    as_described(history.answer)
    longer_than_models_read = "A line of her diary.\n" * 4_000
    make_block(alice, "diary", longer_than_models_read, limit=200_000)
    assert memory.blocks.get("diary").body == longer_than_models_read


def test_an_edit_is_proposed_decided_and_its_decision_read(memory: Assent, goals: Block, alice: User) -> None:
    number = proposed(memory)
    with pytest.raises(DecisionPending) as pending:
        memory.proposals.wait(number, timeout=0)
    assert pending.value.proposal.status == "open"
    approve(alice, Proposal.objects.get(pk=number))
    decided = as_described(memory.proposals.wait(number, timeout=5))
    assert (decided.status, decided.decision["by"]) == ("approved", "alice")
    assert "C1" in memory.blocks.get("goals").body


def test_whole_texts_and_several_edits_are_proposed_by_address(memory: Assent, goals: Block) -> None:
    made = memory.blocks.propose("goals", body="# Goals\n\nTo sail.\n", reasoning="All is new.")
    assert as_described(made).status == "open"
    made = memory.blocks.propose("goals", edits=[{"old_string": "B2", "new_string": "C1"}], reasoning="She passed.")
    assert as_described(made).occurrences_replaced == 1


def test_each_refusal_has_its_class_and_says_what_would_do(memory: Assent, goals: Block, ben: User) -> None:
    with pytest.raises(UnprocessableEntityError) as caught:
        memory.blocks.propose_edit("goals", **C1 | {"old_string": "B 2 exam"})
    assert caught.value.code == "old_string_not_found"
    assert caught.value.text.startswith("Error: old_string not found in block 'goals'.")
    assert "B2 exam" in str(caught.value.details["nearest"])
    assert caught.value.request_id
    with pytest.raises(NotFoundError, match="block_not_found"):
        memory.blocks.get("nothing")
    with pytest.raises(NotFoundError, match="unknown_tool"):
        memory.tools.call("memory_sing")
    with pytest.raises(PermissionDeniedError, match="owner_not_granted"):
        memory.for_user("ben").blocks.get("goals")
    with pytest.raises(AuthenticationError, match="invalid_token"):
        memory.with_options(token="asn_unknown").blocks.get("goals")
    with pytest.raises(BadRequestError, match="invalid_arguments"):
        memory.tools.call("read_memory_block", block_label=3)
    with pytest.raises(ConflictError, match="precondition_failed"):
        memory.blocks.propose_edit("goals", **C1, expected_sha256="0" * 64)


# -- notes ----------------------------------------------------------------------------------------


def test_the_life_of_a_note(memory: Assent) -> None:
    note_id = as_described(memory.notes.save("She sails.", tags=["hobby"], category="leisure")).note_id
    as_described(memory.notes.update(note_id, content="She sails on Sundays."))
    note = as_described(memory.notes.get(note_id))
    found = (note.content, note.tags, note.category, note.confidence)
    assert found == ("She sails on Sundays.", ["hobby"], "leisure", 0.8)
    as_described(memory.notes.search("sails"))
    as_described(memory.notes.delete(note_id))
    with pytest.raises(NotFoundError, match="note_not_found"):
        memory.notes.get(note_id)


def test_remembered_recalled_forgotten(memory: Assent) -> None:
    kept = as_described(memory.notes.remember("Likes worked examples.", type="pattern", rationale="She said so."))
    other = memory.notes.remember("Likes drawings.")
    found = as_described(memory.notes.recall(type="pattern", match="text", query="examples"))
    assert [(each.id, each.confidence) for each in found.memories] == [(kept.memory_id, 0.8)]
    as_described(memory.notes.forget(kept.memory_id, reason="outdated", replacement_id=other.memory_id))
    listed = memory.notes.list(include_superseded=True, limit=1)
    assert {note.id: note.superseded_by for note in listed} == {kept.memory_id: other.memory_id, other.memory_id: None}
    as_described(listed.answer)
    primed = as_described(memory.notes.prime(budget=0))
    assert "Likes drawings." in primed.text


def test_all_notes_are_exported_and_imported(memory: Assent) -> None:
    memory.notes.save("She sails.")
    file = memory.notes.export_file()
    assert b"> She sails." in file
    came = as_described(memory.notes.import_file(file.replace(b"sails", b"rows")))
    assert (came.status, came.updated) == ("applied", 1)
    assert b"mem-" in memory.notes.export_file(portable=True)


# -- proposals ------------------------------------------------------------------------------------


def test_proposals_are_listed_commented_on_and_withdrawn(memory: Assent, goals: Block) -> None:
    number = proposed(memory)
    listed = memory.proposals.list(status="open")
    assert [each.proposal_id for each in listed] == [number]
    as_described(listed.answer)
    posted = as_described(memory.proposals.comment(number, comment="May I?"))
    assert posted.data["text"] == "May I?"
    found = as_described(memory.proposals.get(number))
    assert [comment.by for comment in found.comments] == ["scribe"]
    assert as_described(memory.proposals.withdraw(number)).status == "withdrawn"
    with pytest.raises(ConflictError, match="already_decided"):
        memory.proposals.withdraw(number)


# -- context, conversations, tools ----------------------------------------------------------------


def test_the_context_is_a_text_with_its_parts(memory: Assent, goals: Block) -> None:
    context = as_described(memory.context.get(budget=500))
    assert "She wants to pass the B2 exam in June." in context.text
    assert [block.label for block in context.blocks] == ["goals"]


def test_a_conversation_is_kept_read_and_deleted(memory: Assent) -> None:
    turns = [{"id": "m1", "role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    kept = memory.conversations.keep("lesson-1", messages=turns)
    assert as_described(kept).new[0] == "m1"
    listed = memory.conversations.list()
    assert [each.session_id for each in listed] == ["lesson-1"]
    as_described(listed.answer)
    said = memory.conversations.messages("lesson-1", limit=1)
    assert [message.content for message in said] == ["Hi", "Hello"]
    as_described(said.answer)
    assert as_described(memory.conversations.delete_message("lesson-1", message_id="m1")).deleted == 1
    assert as_described(memory.conversations.delete("lesson-1")).deleted == 1


@pytest.mark.parametrize("format", ["native", "openai", "anthropic", "mcp"])
def test_tools_are_described_for_each_kind_of_model_and_run_by_name(memory: Assent, goals: Block, format: str) -> None:
    assert len(as_described(memory.tools.list(format=format, toolset="all")).tools) > 30
    assert memory.tools.call("list_memory_blocks", user_id="alice").text.endswith("- goals: Learning goals")


def test_the_token_says_whom_it_serves(memory: Assent) -> None:
    token = as_described(memory.token.get())
    assert (token.agent, token.owners, token.all_owners) == ("scribe", ["alice"], False)


def test_a_token_for_several_people_is_told_whom(issue: Issue, alice: User, ben: User, goals: Block) -> None:
    memory = Assent(URL, issue(alice, ben), http_client=httpx2.Client(transport=transport()))
    with pytest.raises(AssentError, match="This token serves several owners"):
        memory.notes.list()
    assert memory.for_user("alice").blocks.get("goals").label == "goals"
    assert list(memory.for_user("ben").blocks.list()) == []
    assert list(memory.notes.list(user_id="ben")) == []
    number = proposed(memory.for_user("alice"))
    assert memory.for_user("alice").proposals.get(number).user_id == "alice"
    with pytest.raises(DecisionPending):
        memory.for_user("alice").proposals.wait(number, timeout=0)


# -- the asynchronous client ----------------------------------------------------------------------


def test_the_asynchronous_client_does_the_same(async_memory: AsyncAssent, goals: Block) -> None:
    async def work() -> None:
        assert [block.label async for block in async_memory.blocks.list()] == ["goals"]
        made = as_described(await async_memory.blocks.propose_edit("goals", **C1))
        with pytest.raises(DecisionPending):
            await async_memory.proposals.wait(made.proposal_id, timeout=0)
        as_described(await async_memory.proposals.withdraw(made.proposal_id))
        note = as_described(await async_memory.notes.save("She sails."))
        assert [each.id async for each in async_memory.notes.list()] == [note.note_id]
        assert b"sails" in await async_memory.notes.export_file()
        as_described(await async_memory.notes.import_file(await async_memory.notes.export_file(portable=True)))
        assert "sails" in (await async_memory.context.get()).text
        assert "math" in (await async_memory.tools.call("read_memory_block", block_label="goals")).text
        assert (await async_memory.token.get()).agent == "scribe"
        assert len((await async_memory.tools.list(tools=["recall", "remember"])).tools) == 2
        with pytest.raises(NotFoundError):
            await async_memory.for_user("alice").blocks.get("nothing")

    asyncio.run(work())
