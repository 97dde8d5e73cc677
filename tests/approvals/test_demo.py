"""`manage.py demo`: what it makes, and that making it again or after an interruption does no harm."""

import json
import re
import shlex
import stat
from collections import Counter
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Q
from django.test import Client
from django.utils import timezone

from agent_tools.auth import revoke
from agent_tools.management.commands.demo import curl
from agent_tools.models import AgentToken, ToolCall
from approvals import services
from approvals.demo import story
from approvals.demo.load import load
from approvals.demo.story import STORY, block_fields
from approvals.models import DECIDABLE, DECIDED, Event, Mergeability, Proposal, Status, User
from approvals.permissions import readable_owners
from approvals.services import erasing
from memory_app import conversations, reads
from memory_app.models import Change
from memory_app.text import edits as text_edits
from tests import environment
from tests.support.acts import approve
from tests.support.crashing import crash_at

pytestmark = pytest.mark.slow

#: Tests that only read what the demo made.
told_the_same = pytest.mark.skipif(not environment.is_embedded(), reason="the story is the same on each engine")


def at_night(value: int) -> list[Any]:
    return [pytest.param(value, marks=pytest.mark.nightly)]


@pytest.fixture
def debug(settings: Any) -> None:
    settings.DEBUG = True


def demo(**options: Any) -> str:
    out = StringIO()
    call_command("demo", stdout=out, **options)
    return out.getvalue()


def printed_call(output: str) -> list[str]:
    """The words of the curl command, as a shell would read them (`shlex` alone keeps continued lines apart)."""
    return shlex.split(output[output.index("curl ") :].replace("\\\n", ""))


def send(words: list[str]) -> Any:
    """Do what the printed curl does, without the network."""
    headers = dict(words[at + 1].split(": ", 1) for at, word in enumerate(words) if word == "-H")
    path = "/" + words[1].split("/", 3)[3]
    return Client(headers={"authorization": headers["Authorization"]}).post(
        path, words[words.index("-d") + 1], content_type=headers["Content-Type"]
    )


@pytest.mark.pure
def test_the_story_is_told_in_order_its_texts_fit_and_each_proposal_is_decided_after_it_was_made() -> None:
    ages = [step.age for step in STORY]
    assert ages == sorted(ages, reverse=True)
    for step in STORY:
        if step.verb == "create":
            fields = block_fields(step.owner, step.target)
            assert fields.title
            assert fields.description
            assert len(fields.body) < fields.limit
    made = [step.key for step in STORY if step.by == story.AGENT and step.verb not in story.DECISIONS]
    assert len(made) == len(set(made))
    for number, step in enumerate(STORY):
        if step.verb in story.DECISIONS:
            assert step.key in {earlier.key for earlier in STORY[:number]}


@pytest.mark.pure
def test_the_study_log_written_week_by_week_is_the_whole_file() -> None:
    whole = block_fields("alice", "study_log").body
    assert len(whole.split()) > 3_000
    (created,) = [step for step in STORY if (step.verb, step.owner, step.target) == ("create", "alice", "study_log")]
    body = block_fields("alice", "study_log", until=created.data["until"]).body
    for step in STORY:
        if "log" in step.data:
            body = text_edits.apply(body, step.edits).text
    assert body == whole


@pytest.mark.pure
def test_a_shell_reads_the_printed_call_as_it_was_meant() -> None:
    arguments = story.call_arguments(block_fields(*story.CALL_TARGET).body)
    assert arguments is not None
    words = printed_call(curl("http://127.0.0.1:8000", "asn_secret", arguments))
    assert words[2:4] == ["-H", "Authorization: Bearer asn_secret"]
    assert words[:2] == ["curl", "http://127.0.0.1:8000/api/v1/tools/propose_memory_edit/"]
    assert json.loads(words[-1]) == arguments


def test_the_demo_is_refused_outside_debug() -> None:
    with pytest.raises(CommandError, match="ASSENT_DEBUG"):
        demo()
    assert not User.objects.exists()


def there_is_a_proposal_of_every_kind() -> None:
    assert set(Proposal.objects.values_list("status", flat=True)) == {*DECIDABLE, *DECIDED}
    waiting = Counter(Proposal.objects.open().values_list("mergeability", flat=True))
    assert waiting.pop(Mergeability.CLEAN) >= 6
    assert waiting == {Mergeability.REBASABLE: 1, Mergeability.CONFLICT: 1, Mergeability.ALREADY_APPLIED: 1}
    assert Proposal.objects.open().exclude(risks=[]).exists()
    assert Proposal.objects.open().exclude(evidence=[]).exists()
    kinds = Counter(Proposal.objects.open().of_owner("alice").values_list("kind", flat=True))
    assert set(kinds) == {"edit", "rewrite", "save", "update", "delete", "forget"}
    assert all(kinds[kind] == 1 for kind in ("save", "update", "delete", "forget"))
    assert set(Proposal.objects.open().values_list("confidence", flat=True)) == {"low", "medium", "high"}
    assert {block.label for block in reads.blocks("alice")} >= {"profile", "goals", "study_log", "lerntagebuch"}
    assert reads.block("alice", "accommodations").read_only


def people_sign_in_and_see_what_is_theirs() -> None:
    for username in ("alice", "ben", "tim", "admin"):
        assert Client().login(username=username, password="demo")
    owners = {name: readable_owners(User.objects.get(username=name)) for name in ("alice", "ben", "tim", "admin")}
    everyone = None
    assert owners == {"alice": ["alice"], "ben": ["ben"], "tim": ["tim", "alice"], "admin": everyone}


def it_happened_over_the_last_weeks() -> None:
    for proposal in Proposal.objects.exclude(decided_at=None):
        if proposal.status == Status.APPLIED:
            assert [event.at for event in proposal.events.all()] == [proposal.decided_at] == [proposal.created_at]
            continue
        assert proposal.created_at < proposal.decided_at < proposal.created_at + (STORY[0].age)
        removed = [proposal.decided_at] if proposal.is_redacted else []  # with the decision that it is too private
        assert [event.at for event in proposal.events.all()] == [proposal.created_at, proposal.decided_at, *removed]
    changes = list(Change.objects.order_by("id").values_list("at", flat=True))
    assert changes == sorted(changes)
    assert (changes[-1] - changes[0]).days > 50


def there_are_notes_of_many_kinds_some_of_them_applied_by_policy() -> None:
    notes = reads.notes("alice")
    assert len(notes) >= 12
    assert len({note.type for note in notes}) >= 10
    (outdated,) = [note for note in notes if note.is_superseded]
    assert reads.note("alice", outdated.superseded_by).content.endswith("12 February 2027.")
    assert {note.source for note in notes} == {"agent", "user"}
    assert [note.created_at for note in notes] == sorted((note.created_at for note in notes), reverse=True)
    assert (notes[0].created_at - notes[-1].created_at).days > 50
    assert Proposal.objects.of_owner("alice").filter(status=Status.APPLIED).count() >= 10
    assert Change.objects.filter(
        owner="alice", target_kind="note", action=Change.Action.DELETED, actor="alice"
    ).exists()
    assert {note.source for note in reads.notes("ben")} == {"agent", "user"}
    why = Proposal.objects.open().exclude(review_reason="").values_list("owner", "review_reason").distinct()
    assert set(why) == {("alice", "scope"), ("ben", "policy")}


def there_is_room_to_try_every_way_in() -> None:
    (cap,) = re.findall(r"ASSENT_PENDING_CAP:-(\d+)\}", Path("Makefile").read_text())
    waiting = Proposal.objects.pending().filter(agent__name="scribe", owner="alice").count()
    assert int(cap) - waiting > 20


@pytest.mark.usefixtures("debug")
def test_the_demo_shows_everything_a_visitor_looks_for() -> None:
    demo()  # once for all of these, which only read
    there_is_a_proposal_of_every_kind()
    people_sign_in_and_see_what_is_theirs()
    it_happened_over_the_last_weeks()
    there_are_notes_of_many_kinds_some_of_them_applied_by_policy()
    there_is_room_to_try_every_way_in()
    assert not any(erasing.may_be_plain(owner) for owner in ("alice", "ben"))  # nothing is from before sealing


@told_the_same
def test_the_task_by_the_clock_may_run_while_the_demo_is_made(debug: None) -> None:
    def expire(done: int, total: int) -> None:
        assert services.expire() == 0, "what is decided in a later step"

    load(expire)
    assert Proposal.objects.filter(status=Status.EXPIRED).count() == sum(step.verb == "expired" for step in STORY)


def everything_made() -> list[Any]:
    rows = [list(model.objects.order_by("pk").values()) for model in (Proposal, Event, Change)]
    return [*rows, reads.snapshot("alice", "goals")[0]]


@pytest.mark.usefixtures("debug")
def test_a_later_run_changes_nothing_says_the_same_and_leaves_alone_what_people_did_since() -> None:
    first = demo()
    before = everything_made()
    second = demo()
    assert first.endswith(second)
    assert re.search(r"^export MEMORY_URL=http\S+ MEMORY_TOKEN=\$\(cat \S*demo_token\)$", second, re.MULTILINE)
    assert everything_made() == before

    alice = User.objects.get(username="alice")
    vocabulary = reads.block("alice", "vocabulary")
    services.delete_block(actor=alice, owner="alice", label="vocabulary", loaded_sha256=vocabulary.sha256)
    kanji = Proposal.objects.open().get(target="profile", owner="alice")
    services.reject(actor=alice, proposal_id=kanji.pk, revision=1, reason="wrong", comment="It is 204.")
    sessions = conversations.sessions("alice", limit=50)
    assert len(sessions) >= 3
    assert {agent for session in sessions for agent in session.agents} == {"scribe"}
    assert conversations.delete("alice", sessions[0].id) == (sessions[0].count, 0)
    demo()
    assert [each.id for each in conversations.sessions("alice", limit=50)] == [each.id for each in sessions[1:]]
    assert reads.find_block("alice", "vocabulary") is None
    kanji.refresh_from_db()
    assert kanji.status == Status.REJECTED


def play() -> int:
    return load(lambda done, total: None)


@told_the_same
@pytest.mark.parametrize("write", [1, *at_night(30), 125, *at_night(210)])
def test_a_run_that_was_killed_within_a_step_is_finished_and_dated_by_the_next(write: int) -> None:
    assert crash_at(write, play)

    assert 0 < play() <= len(STORY)
    assert play() == 0
    made = [step for step in STORY if step.by == story.AGENT and step.verb not in story.DECISIONS]
    assert not Proposal.objects.filter(status__in=[Status.PREPARING, Status.MERGING]).exists()
    applied = Proposal.objects.filter(status=Status.APPLIED)
    later = story.DECISIONS | story.TURNS
    by_people = [step for step in STORY if step.by != story.AGENT and step.verb not in later]
    approved = [step for step in STORY if step.verb == "approved"]
    assert Proposal.objects.count() == len(made)
    assert Change.objects.count() == len(by_people) + len(approved) + applied.count()
    a_moment_ago = timezone.now() - STORY[-1].age
    assert not Change.objects.filter(at__gt=a_moment_ago).exists()
    assert not Event.objects.filter(at__gt=a_moment_ago).exists()
    assert not Proposal.objects.filter(Q(created_at__gt=a_moment_ago) | Q(decided_at__gt=a_moment_ago)).exists()


@pytest.mark.usefixtures("debug")
def test_the_printed_call_proposes_an_edit_may_be_repeated_and_applies_whatever_became_of_the_one_before() -> None:
    for _ in range(2):
        words = printed_call(demo(address="http://127.0.0.1:8123"))
        assert words[1].startswith("http://127.0.0.1:8123/")
        answer, again = send(words), send(words)
        assert answer.status_code < 300, answer.content
        proposal = Proposal.objects.get(pk=answer.json()["data"]["proposal_id"])
        assert (proposal.owner, proposal.target, proposal.status) == ("alice", "goals", Status.OPEN)
        assert again.json()["data"]["proposal_id"] == proposal.pk
        alice = User.objects.get(username="alice")
        approve(alice, proposal)
    goals = reads.block("alice", "goals")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    printed = demo()
    assert "curl" not in printed
    assert "/api/docs/" in printed


@pytest.mark.usefixtures("debug")
def test_the_token_is_kept_for_its_user_only_and_made_again_when_it_no_longer_works(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    first = printed_call(demo())
    kept = Path(settings.DATA_DIR) / "demo_token"
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert kept.read_text().strip() in first[3]

    revoke(AgentToken.objects.get())
    second = printed_call(demo())
    assert second[3] != first[3]
    # Looking whether it works leaves no trace of a call.
    assert not ToolCall.objects.exists()
    assert "Unauthorized" not in caplog.text
    assert set(AgentToken.objects.values_list("last_used_at", flat=True)) == {None}
    assert send(second).status_code < 300

    kept.unlink()
    third = printed_call(demo())
    assert third[3] not in (first[3], second[3])
