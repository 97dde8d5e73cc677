"""Where the sentences of a block come from, read from its versions and cached."""

from typing import Any

import pytest
from django.core.cache import cache
from django.db import connections
from django.test.utils import CaptureQueriesContext
from redis.exceptions import ConnectionError as RedisAway

from approvals import services
from approvals.models import User
from approvals.recovery.ledger import commit_stray_rows
from memory_app import reads
from memory_app.dolt.types import FIRST
from memory_app.models import Change, MemoryBlock
from memory_app.reads import Block
from memory_app.reads.blame import blame_of_block
from tests.support.acts import approve, edit
from tests.support.fixtures import MakeBlock, Propose


def said(owner: str = "alice", label: str = "goals") -> dict[str, str]:
    """Each sentence and what was done by the change it comes from."""
    found = blame_of_block(owner, label)
    sentences = {}
    for each in found.origins:
        change = found.change(each.said.version)
        sentences[found.text[each.start : each.end].strip()] = change.action if change else "unknown"
    return sentences


def test_each_sentence_comes_from_the_change_that_made_it_say_so(
    alice: User, ben: User, tim: User, goals: Block, propose: Propose, make_block: MakeBlock
) -> None:
    approve(tim, propose(goals, "in June", "in July"))
    edit(alice, "goals", "one book", "two books")
    assert said() == {
        "# Goals": "created",
        "Alice likes math.": "created",
        "She wants to pass the B2 exam in July.": "approved",
        "She reads two books a month.": "edited",
    }
    found = blame_of_block("alice", "goals")
    assert [(each.added, each.removed) for each in found.counts][1:] == [(1, 1), (2, 2)]
    assert found.said_in(found.origins[2].earlier[0]).strip() == "She wants to pass the B2 exam in June."
    make_block(ben, "goals", "Ben likes music.")
    assert list(said("ben")) == ["Ben likes music."]


def test_a_deleted_block_has_no_sentences_and_its_versions(alice: User, goals: Block) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    found = blame_of_block("alice", "goals")
    assert (found.text, found.origins, len(found.changes)) == ("", (), 2)
    assert blame_of_block("alice", "nothing").changes == ()


def versions_read() -> list[str]:
    """The commits at which the text is read while the blame is asked for."""
    commits = [change.commit for change in reads.history("alice", "block", "goals")]
    with CaptureQueriesContext(connections["memory"]) as captured:
        blame_of_block("alice", "goals")
    asked = " ".join(query["sql"] for query in captured)
    return [commit for commit in commits if commit in asked]


def test_a_new_version_is_added_to_what_is_cached(alice: User, goals: Block) -> None:
    edit(alice, "goals", "math", "art")
    assert len(versions_read()) == 2
    assert versions_read() == []
    edit(alice, "goals", "one", "two")
    assert len(versions_read()) == 2  # the last one that is cached, and the new one
    assert said()["She reads two book a month."] == "edited"


def test_a_text_that_the_ledger_does_not_account_for_is_of_nobody(alice: User, goals: Block) -> None:
    edit(alice, "goals", "math", "art")
    assert said()["Alice likes art."] == "edited"
    edited = Change.objects.filter(action="edited")
    edited.update(commit="f" * 40)  # made again, with a commit that cannot be read
    assert (said()["Alice likes art."], said()["# Goals"]) == ("unknown", "created")
    edited.delete()
    assert (said()["Alice likes art."], said()["# Goals"]) == ("unknown", "created")


def test_rows_found_uncommitted_are_of_nobody(alice: User, goals: Block) -> None:
    with connections["memory"].cursor() as cursor:
        cursor.execute(f"UPDATE {MemoryBlock._meta.db_table} SET body = %s", ["# Goals\n\nA stray line.\n"])
    commit_stray_rows(FIRST)
    assert said() == {"# Goals": "created", "A stray line.": "recovered"}


def test_without_its_cache_it_reads_everything(alice: User, goals: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    def away(*_: Any, **__: Any) -> None:
        raise RedisAway("no answer")

    for verb in ("get", "set"):
        monkeypatch.setattr(type(cache._connections[cache._alias]), verb, away)  # type: ignore[attr-defined]
    assert said()["Alice likes math."] == "created"
