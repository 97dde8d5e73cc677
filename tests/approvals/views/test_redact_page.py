"""What people see of a proposal whose texts were removed, and how an owner has them removed."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from approvals import services
from approvals.models import Agent, Policy, Proposal, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app.reads import Block
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import form, words

SECRET = "zebrafinch"


def url(proposal: Proposal) -> str:
    return reverse("redact", args=[proposal.pk])


@pytest.fixture
def secret(goals: Block, propose: Propose) -> Proposal:
    evidence = [{"role": "user", "content": f"My {SECRET} sings."}]
    told = {"reasoning": f"She told me of her {SECRET}.", "session_id": SECRET, "evidence": evidence}
    return propose(goals, "likes math", f"likes math and her {SECRET}", **told)


def rejected(proposal: Proposal, actor: Any, reason: str = "wrong") -> None:
    services.reject(actor=actor, proposal_id=proposal.pk, revision=1, reason=reason, comment="Not about her birds.")


def test_rejecting_as_too_private_says_that_it_removes_the_texts_and_does(as_tim: Client, secret: Proposal) -> None:
    client, reject = as_tim, reverse("reject", args=[secret.pk])
    page = client.get(secret.get_absolute_url())
    assert "“Too private” also removes what scribe wrote, for good: this can’t be undone." in words(page)
    answer = client.post(reject, form(page, reject) | {"reason": "too_private"}, headers={"HX-Request": "true"})
    assert answer.status_code == 200
    assert "The texts were removed" in words(answer)
    assert SECRET not in answer.content.decode()


@pytest.mark.slow
@pytest.mark.parametrize("reader", ["alice", "tim", "admin"])
def test_no_page_has_a_word_of_it(
    client_of: ClientOf, alice: User, tim: User, admin: User, secret: Proposal, goals: Block, reader: str
) -> None:
    rejected(secret, alice, "too_private")
    client = client_of({"alice": alice, "tim": tim, "admin": admin}[reader])
    pages = [
        *(f"{secret.get_absolute_url()}{query}" for query in ("", "?view=side", "?view=result", "?view=source")),
        f"{secret.get_absolute_url()}?revision=1",
        "/?tab=decided",
        "/",
        "/memory/alice/",
        "/memory/alice/blocks/goals/",
        "/memory/alice/blocks/goals/history/",
        f"/memory/alice/search/?q={SECRET}",
        "/memory/alice/conversations/",
    ]
    if reader == "admin":
        pages += [
            f"/admin/approvals/{model}/{suffix}"
            for model, suffix in (
                ("proposal", ""),
                ("proposal", f"{secret.pk}/change/"),
                ("revision", ""),
                ("revision", f"{secret.current_revision.pk}/change/"),
                ("event", ""),
            )
        ]
        pages.append("/admin/agent_tools/toolcall/")
    for page in pages:
        answer = client.get(page)
        assert answer.status_code == 200, page
        assert SECRET not in answer.content.decode().replace(f"q={SECRET}", "").replace(
            f'value="{SECRET}"', ""
        ).replace(f"“{SECRET}”", ""), page


def test_its_page_says_who_when_and_why(as_tim: Client, tim: User, secret: Proposal) -> None:
    rejected(secret, tim, "too_private")
    said = words(as_tim.get(secret.get_absolute_url()))
    assert "Rejected by Tim Okafor" in said
    assert "Reason: Too private" in said
    assert "Not about her birds." in said
    assert "scribe wanted to change this block" in said
    assert "The texts were removed" in said
    assert "Texts removed Tim Okafor" in said
    assert "The change" not in said
    assert "No reason was given" not in said
    assert "texts removed" in words(as_tim.get("/?tab=decided"))


@pytest.mark.parametrize(
    ("kind", "lead"),
    [
        ("save", "scribe wanted to save a new note"),
        ("update", "scribe wanted to change a note"),
        ("delete", "scribe wanted to delete a note"),
        ("import", "scribe wanted to import notes"),
    ],
)
def test_of_a_note_it_says_what_was_wanted(as_alice: Client, alice: User, scribe: Agent, kind: str, lead: str) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    id_ = notes.save(by=ChangeContext(actor=alice), owner="alice", content="She rows.").note_id
    by = ChangeContext(actor=scribe)
    if kind == "save":
        notes.save(by=by, owner="alice", content=f"Has a {SECRET}.")
    elif kind == "update":
        notes.update(by=by, owner="alice", note_id=id_, content=f"Has a {SECRET}.")
    elif kind == "delete":
        notes.delete(by=by, owner="alice", note_id=id_)
    else:
        from approvals.services import imports

        imports.import_file(by=by, owner="alice", data=f"### mem-1-aaaa\n> {SECRET}\n".encode())
    proposal = Proposal.objects.get()
    rejected(proposal, alice, "too_private")
    page = as_alice.get(proposal.get_absolute_url())
    assert page.status_code == 200
    assert lead in words(page)
    assert SECRET not in page.content.decode()


def test_an_owner_has_the_texts_removed_afterwards(as_alice: Client, tim: User, secret: Proposal) -> None:
    rejected(secret, tim)
    assert url(secret) in as_alice.get(secret.get_absolute_url()).content.decode()
    page = as_alice.get(url(secret))
    assert "removed for good" in words(page)
    assert SECRET in words(page)
    answer = as_alice.post(url(secret), form(page, url(secret)), follow=True)
    said = words(answer)
    assert "The texts of the proposal are removed." in said
    assert "Not about her birds." in said
    assert SECRET not in answer.content.decode()
    assert url(secret) not in answer.content.decode()
    again = as_alice.get(url(secret), follow=True)
    assert again.redirect_chain == [(secret.get_absolute_url(), 302)]
    assert as_alice.post(url(secret), follow=True).status_code == 200


def test_what_waits_is_offered_nothing(as_alice: Client, secret: Proposal) -> None:
    assert url(secret) not in as_alice.get(secret.get_absolute_url()).content.decode()
    assert as_alice.get(url(secret)).status_code == 302
    assert "not decided yet" in words(as_alice.post(url(secret), follow=True))
    assert SECRET in Proposal.objects.get().reasoning


def test_a_page_that_was_open_is_loaded_anew(as_tim: Client, tim: User, secret: Proposal) -> None:
    rejected(secret, tim, "too_private")
    answer = as_tim.get(f"{secret.get_absolute_url()}?view=side", headers={"HX-Request": "true", "HX-Target": "change"})
    assert (answer.status_code, answer["HX-Refresh"]) == (204, "true")
