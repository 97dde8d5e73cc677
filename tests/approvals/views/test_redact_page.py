"""What people see of a proposal whose texts were removed, and how an owner has them removed."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from approvals.models import Agent, Policy, Proposal, User
from approvals.services import imports, notes
from approvals.services.notes import ChangeContext
from memory_app.reads import Block
from tests.support.acts import address, look, reject, save, send
from tests.support.fixtures import Propose
from tests.support.pages import assert_says, html, htmx, words

SECRET = "zebrafinch"


def url(proposal: Proposal) -> str:
    return address("redact", proposal)


@pytest.fixture
def secret(goals: Block, propose: Propose) -> Proposal:
    evidence = [{"role": "user", "content": f"My {SECRET} sings."}]
    told = {"reasoning": f"She told me of her {SECRET}.", "session_id": SECRET, "evidence": evidence}
    return propose(goals, "likes math", f"likes math and her {SECRET}", **told)


TOO_PRIVATE = {"reason": "too_private", "comment": "Not about her birds."}


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["alice", "tim", "admin"])
def test_no_page_has_a_word_of_it(request: pytest.FixtureRequest, alice: User, secret: Proposal, reader: str) -> None:
    reject(alice, secret, **TOO_PRIVATE)
    client = request.getfixturevalue(f"as_{reader}")
    views = ("", "?view=side", "?view=result", "?view=source", "?revision=1")
    blocks = ("", "blocks/goals/", "blocks/goals/history/", f"search/?q={SECRET}", "conversations/")
    pages = ["/", "/?tab=decided", *(f"{secret.get_absolute_url()}{view}" for view in views)]
    pages += [f"/memory/alice/{path}" for path in blocks]
    if reader == "admin":
        revision = secret.current_revision.pk
        rows = ("proposal/", f"proposal/{secret.pk}/change/", "revision/", f"revision/{revision}/change/", "event/")
        pages += ["/admin/agent_tools/toolcall/", *(f"/admin/approvals/{row}" for row in rows)]
    for page in pages:
        answer = client.get(page)
        assert answer.status_code == 200, page
        drawn = html(answer)
        for asked in (f"q={SECRET}", f'value="{SECRET}"', f"“{SECRET}”"):  # what was searched for
            drawn = drawn.replace(asked, "")
        assert SECRET not in drawn, page


def test_rejecting_as_too_private_says_that_it_removes_the_texts_and_its_page_says_who_when_and_why(
    as_tim: Client, secret: Proposal
) -> None:
    warning = "“Too private” also removes what scribe wrote, for good: this can’t be undone."
    assert_says(look(as_tim, secret), warning)
    answer = send(as_tim, "reject", secret, htmx(), **TOO_PRIVATE)
    assert SECRET not in html(answer)
    for page in (answer, look(as_tim, secret)):
        assert_says(
            page,
            "Rejected by Tim Okafor",
            "Reason: Too private",
            "Not about her birds.",
            "scribe wanted to change this block",
            "The texts were removed",
            "Texts removed Tim Okafor",
        )
        for absent in ("The change", "No reason was given"):
            assert absent not in words(page)
    assert_says(as_tim.get("/?tab=decided"), "texts removed")
    # A page that was open is loaded anew.
    part = as_tim.get(f"{secret.get_absolute_url()}?view=side", headers=htmx("change"))
    assert (part.status_code, part["HX-Refresh"]) == (204, "true")


MEM = "mem-1-aaaa"


@pytest.mark.parametrize(
    ("ask", "given", "lead"),
    [
        (notes.save, {"content": f"Has a {SECRET}."}, "scribe wanted to save a new note"),
        (notes.update, {"note_id": MEM, "content": f"Has a {SECRET}."}, "scribe wanted to change a note"),
        (notes.delete, {"note_id": MEM}, "scribe wanted to delete a note"),
        (imports.import_file, {"data": f"### {MEM}\n> {SECRET}\n".encode()}, "scribe wanted to import notes"),
    ],
)
def test_of_a_note_it_says_what_was_wanted(
    as_alice: Client, alice: User, scribe: Agent, ask: Callable[..., Any], given: dict[str, Any], lead: str
) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    save(alice, note_id=MEM)
    ask(by=ChangeContext(actor=scribe), owner="alice", **given)
    proposal = Proposal.objects.get()
    reject(alice, proposal, **TOO_PRIVATE)
    page = look(as_alice, proposal)
    assert_says(page, lead)
    assert SECRET not in html(page)


def test_an_owner_has_the_texts_of_what_was_decided_removed_afterwards(
    as_alice: Client, as_tim: Client, tim: User, secret: Proposal
) -> None:
    page = secret.get_absolute_url()
    assert url(secret) not in html(as_alice.get(page))
    assert as_alice.get(url(secret)).status_code == 302
    assert_says(as_alice.post(url(secret), follow=True), "not decided yet")
    assert SECRET in Proposal.objects.get().reasoning
    reject(tim, secret, comment="Not about her birds.")
    assert url(secret) in html(as_alice.get(page))
    assert url(secret) not in html(as_tim.get(page))
    assert_says(as_alice.get(url(secret)), "removed for good", SECRET)
    answer = send(as_alice, "redact", secret)
    assert_says(answer, "The texts of the proposal are removed.", "Not about her birds.")
    for gone in (SECRET, url(secret)):
        assert gone not in html(answer)
    assert as_alice.get(url(secret), follow=True).redirect_chain == [(page, 302)]
