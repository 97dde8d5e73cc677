"""What holds for every page and form: who may not read or send it, and what a form is answered with that comes again,
comes after a change, or after its session ended.

That no answer has anything of another's in it is `tests/end_to_end/test_isolation.py`, which asks all addresses.
"""

from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals.models import Agent, Event, Proposal, User
from approvals.services import notes
from memory_app import conversations, reads
from memory_app.conversations import Turn
from memory_app.models import Change, Message
from memory_app.reads import Block
from tests.support.acts import approve, change, edit, save, sign_in_again
from tests.support.fixtures import Propose
from tests.support.pages import assert_says, form, html, words

READ = ("memory", "notes", "conversations", "memory_search", "export_markdown", "export_json")
READ_OF_ONE = ("block", "block_history", "block_blame", "note", "conversation")
#: What only the owner does, and staff neither here nor as tutors.
WRITE = (
    *("block_new", "note_new", "note_import", "notes_change", "block_edit", "block_delete"),
    *("note_edit", "note_delete", "note_supersede", "note_reinstate"),
)
#: What staff may do too, where an owner asks for it.
WITH_STAFF = ("block_restore", "conversation_delete", "message_delete")
OF_A_PROPOSAL = ("proposal", "edit", "resolve", "undo", "redact", "together")
VERBS = ("approve", "reject", "request_changes", "ticks", "edit", "resolve", "undo", "redact", "comment", "assign")

TYPED = {"comment": "Typed for an hour."}
#: Of each form what is typed into it.
FORMS: dict[str, dict[str, str]] = {
    "block_edit": TYPED | {"body": "# Mine\n", "title": "My own"},
    "block_new": TYPED | {"label": "study_log", "title": "Log", "body": "Day one."},
    "block_delete": TYPED,
    "block_restore": TYPED,
    "note_edit": TYPED | {"content": "Mine."},
    "note_delete": TYPED,
    "note_supersede": {"reason": "Typed for an hour."},
    "note_reinstate": TYPED,
    "notes_change": TYPED | {"add_tags": "exams"},
    "approve": TYPED,
    "reject": TYPED | {"reason": "wrong"},
    "request_changes": TYPED | {"reason": "wrong"},
    "edit": TYPED
    | {"text": "# Goals\n\nAlice likes math.\nShe wants to pass the B2 exam in autumn.\nShe reads. Mine.\n"},
    "resolve": TYPED | {"choice_1": "own", "own_1": "She wants to pass it in May or July."},
    "undo": TYPED,
    "comment": {"said": "Typed for an hour."},
    "filter_save": {"filter_name": "My tea"},
}


@dataclass(frozen=True)
class Desk:
    """alice's memory with something for every form, and alice's browser.

    Attributes:
        about: the arguments of addresses by name, where they are others than alice's name.
    """

    client: Client
    about: dict[str, tuple[Any, ...]]

    def address(self, name: str) -> str:
        return reverse(name, args=self.about.get(name, ("alice",)))

    def page(self, name: str) -> str:
        """Where the form is."""
        if name == "filter_save":
            return "/?q=tea"
        if name == "notes_change":
            return f"{self.address(name)}?do=retag&note={self.about['note'][1]}"
        if name in ("approve", "reject", "request_changes", "comment"):
            return self.address("proposal")
        return self.address(name)

    def filled(self, name: str) -> dict[str, Any]:
        return form(self.client.get(self.page(name)), self.address(name)) | FORMS[name]


@pytest.fixture
def desk(as_alice: Client, alice: User, tim: User, goals: Block, scribe: Agent, propose: Propose) -> Desk:
    first = Change.objects.get().commit
    approved = approve(tim, propose(goals, "one book", "two books"))
    conflict = propose(goals, "in June", "in July")
    edit(alice, "goals", "in June", "in May")
    proposal = change(scribe, ("Alice likes", "Alice loves"), ("a month", "a week"))
    note, outdated = save(alice), save(alice, "It was moved.")
    notes.supersede(by=notes.ChangeContext(actor=alice), owner="alice", note_id=outdated)
    conversations.keep("alice", "monday", [Turn("user", "I moved to Kiel.")], agent="scribe")
    of_block, of_note = ("alice", "goals"), ("alice", note)
    about: dict[str, tuple[Any, ...]] = dict.fromkeys((*OF_A_PROPOSAL, *VERBS), (proposal.pk,)) | {
        **dict.fromkeys(("block", "block_history", "block_blame", "block_edit", "block_delete"), of_block),
        **dict.fromkeys(("note", "note_edit", "note_delete", "note_supersede"), of_note),
        **dict.fromkeys(("conversation", "conversation_delete"), ("alice", "monday")),
        "block_restore": (*of_block, first),
        "note_reinstate": ("alice", outdated),
        "message_delete": ("alice", "monday", Message.objects.get().pk),
        "resolve": (conflict.pk,),
        "undo": (approved.pk,),
        "filter_save": (),
    }
    return Desk(as_alice, about)


def written() -> list[Any]:
    """Everything of alice's that a form could have changed."""
    counts = [kind.objects.count() for kind in (Change, Event, Message)]
    decided = Proposal.objects.order_by("pk").values_list("status", "assigned_to", "redacted_at")
    return [*reads.blocks("alice"), *reads.notes("alice"), *counts, *decided]


# -- who may not ----------------------------------------------------------------------------------


def _sent(name: str) -> dict[str, str]:
    """What a valid form says, as far as a stranger can know it."""
    decision = {"revision": "1", "seen_sha256": "", "loaded_sha256": "0" * 64, "nonce": "a" * 32, "to": "mallory"}
    return decision | {"limit": "50", "tick": "none", "action": "delete", "seen": "x y"} | FORMS.get(name, {})


@pytest.mark.parametrize("who", ["mallory", "ben"])
def test_to_strangers_nothing_is_there(who: str, desk: Desk, request: pytest.FixtureRequest) -> None:
    client, before = request.getfixturevalue(f"as_{who}"), written()
    for name in (*READ, *READ_OF_ONE, *WRITE, *WITH_STAFF, *OF_A_PROPOSAL):
        answer = client.get(desk.address(name))
        assert answer.status_code == 404, name
        assert "Kiel" not in html(answer)
        assert client.post(desk.address(name), _sent(name)).status_code in (404, 405), name
    for name in VERBS:
        for more in ({}, {"back": "1"}, {"preview": "1"}, {"accepted": "0" * 12, "rest": "agent"}):
            assert client.post(desk.address(name), _sent(name) | more).status_code == 404, (name, more)
    assert client.get(reverse("memory", args=["nobody"])).status_code == 404
    assert written() == before


@pytest.mark.parametrize(("who", "names"), [("tim", (*WRITE, "redact", *WITH_STAFF[1:])), ("admin", WRITE)])
def test_who_may_only_read_a_memory_is_offered_no_form_and_writes_nothing(
    who: str, names: tuple[str, ...], desk: Desk, request: pytest.FixtureRequest
) -> None:
    client, before = request.getfixturevalue(f"as_{who}"), written()
    offered = "".join(html(client.get(desk.address(name))) for name in (*READ_OF_ONE, "notes", "memory", "proposal"))
    for name in names:
        assert desk.address(name) not in offered, name
        assert client.get(desk.address(name)).status_code == 404, name
        assert client.post(desk.address(name), _sent(name)).status_code == 404, name
    assert written() == before


def test_who_is_not_signed_in_is_asked_to(client: Client, desk: Desk) -> None:
    before = written()
    for name in (*READ, *READ_OF_ONE, *WRITE, *WITH_STAFF, *OF_A_PROPOSAL):
        assert client.get(desk.address(name)).headers["Location"].startswith(reverse("sign_in")), name
    for name in (*WRITE, *WITH_STAFF, *VERBS):
        assert client.post(desk.address(name), _sent(name)).status_code == 401, name
    assert written() == before


# -- a form that comes again, late, or after the session ------------------------------------------


@pytest.mark.parametrize(
    "name", sorted(FORMS.keys() - {"notes_change"} | {"redact", "conversation_delete", "message_delete"})
)
def test_the_same_form_sent_twice_is_done_once(desk: Desk, name: str, alice: User) -> None:
    if name == "redact":
        desk.client.post(desk.address("reject"), desk.filled("reject"))
    sent = form(desk.client.get(desk.page(name)), desk.address(name)) | FORMS.get(name, {})
    before = written()
    assert desk.client.post(desk.address(name), sent).status_code == 302
    done = written()
    assert done != before or name == "filter_save"
    assert desk.client.post(desk.address(name), sent).status_code == 302
    assert written() == done
    assert alice.saved_filters.count() == (name == "filter_save")


NOTE_CHANGED = "It is in room A 101."


@pytest.mark.parametrize(
    ("name", "said"),
    {
        "block_edit": "The block changed while you were editing",
        "block_delete": "# My goals",
        "block_restore": "Nothing was restored.",
        "note_edit": NOTE_CHANGED,
        "note_delete": NOTE_CHANGED,
        "note_supersede": NOTE_CHANGED,
        "note_reinstate": "It was moved again.",
        "notes_change": NOTE_CHANGED,
        "approve": "You changed this block a moment ago; the proposal still fits.",
        "edit": "Your text is still in the form.",
        "resolve": "You changed this block a moment ago; the proposal no longer fits.",
        "undo": "Not undone.",
        "reject": "There is a newer revision.",
        "request_changes": "There is a newer revision.",
    }.items(),
)
def test_what_changed_since_is_shown_first_with_what_was_typed(desk: Desk, name: str, said: str, alice: User) -> None:
    sent, mine = desk.filled(name), notes.ChangeContext(actor=alice)
    edit(alice, "goals", "# Goals", "# My goals")
    for note_id, content in (
        (desk.about["note"][1], NOTE_CHANGED),
        (desk.about["note_reinstate"][1], "It was moved again."),
    ):
        notes.update(by=mine, owner="alice", note_id=note_id, content=content)
    if "newer revision" in said:
        proposal = Proposal.objects.get(pk=desk.about["proposal"][0])
        change(proposal.agent, ("Alice likes", "Alice adores"), proposal_id=proposal.pk)
    before = written()
    refused = desk.client.post(desk.address(name), sent)
    assert_says(refused, said, status=409)
    assert written() == before
    again = form(refused, desk.address(name))
    assert {key: again[key] for key in FORMS[name]} == FORMS[name]
    assert desk.client.post(desk.address(name), again).status_code == 302
    assert written() != before


@pytest.mark.parametrize("name", FORMS)
def test_what_was_typed_outlives_an_expired_session(desk: Desk, name: str, alice: User) -> None:
    sent, before = desk.filled(name), written()
    desk.client.logout()
    page = sign_in_again(desk.client, alice, desk.client.post(desk.address(name), sent))
    assert "while you were signed out" in words(page)
    again = form(page, desk.address(name))
    assert {key: again[key] for key in FORMS[name]} == FORMS[name]
    assert written() == before
