"""Everything about a person as one zip: theirs, all of theirs, and nothing of others' memories."""

import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.db.models import ForeignKey, ManyToManyField
from django.test import Client
from django.urls import reverse

from agent_tools import auth
from agent_tools.models import Scope
from approvals import services
from approvals.accounts import own_data
from approvals.models import Agent, AuditEvent, Proposal, RejectReason, User
from memory_app.models import Message
from memory_app.runtime import turns
from tests.support.pages import words

PAGE = reverse("own_data")

#: Models about a person of which nothing is in the download, and why.
LEFT_OUT = {
    "admin.LogEntry": "the admin's own log of an admin",
    "agent_tools.BlockRead": "hashes of texts that are there",
    "agent_tools.ToldUntil": "how far an agent was told",
    "approvals.OwnerCounts": "numbers counted from the rest",
    "approvals.WeekCount": "numbers counted from the rest",
    "approvals.RejectedFingerprint": "hashes",
    "memory_app.Chunk": "the search index of texts that are there",
    "memory_app.PackedChunks": "the search index of texts that are there",
    "memory_app.SearchIndex": "the search index of texts that are there",
    "memory_app.MemoryOwner": "which database has the memory",
    "memory_app.TextKey": "keys, wrapped",
    "memory_app.MemoryBlock": "written from reads",
    "memory_app.MemoryNote": "written from reads",
    "memory_app.DirectWrite": "in the history",
    "allauth_idp_oidc.Client": "programs, not people: what one may is a token",
    "allauth_idp_oidc.Token": "secrets of connections, which are tokens too",
    "account.EmailConfirmation": "of addresses that are there",
}


def downloaded(browser: Client) -> zipfile.ZipFile:
    answer = browser.post(PAGE)
    assert answer.status_code == 200
    return zipfile.ZipFile(io.BytesIO(b"".join(answer.streaming_content)))  # type: ignore[attr-defined]


def rows(archive: zipfile.ZipFile, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in archive.read(f"data/{name}.jsonl").decode().splitlines()]


def test_it_has_memory_history_decisions_conversations_looks_and_no_secret(
    proposal: Proposal, alice: User, tim: User, as_alice: Client, as_tim: Client, scribe: Agent
) -> None:
    issued = auth.issue(agent=scribe, scopes=Scope.usual(), owners=[alice], created_by=alice)
    said = {"session_id": "s1", "message_id": "m1", "role": "user", "content": "<script>I said so</script>"}
    Message.objects.create(owner="alice", at=proposal.created_at, **said)
    services.reject(
        actor=tim, proposal_id=proposal.pk, revision=1, reason=RejectReason.WRONG, comment="It stays in June."
    )
    as_tim.get(reverse("memory", args=["alice"]))
    archive = downloaded(as_alice)
    assert "in June" in archive.read("memory/blocks/goals.md").decode()
    assert {row["label"] for row in rows(archive, "blocks")} == {"goals"}
    assert rows(archive, "history")[0]["actor"] == "alice"
    assert rows(archive, "proposals")[0]["decision_comment"] == "It stays in June."
    assert "in July" in rows(archive, "revisions")[0]["result_text"]
    assert rows(archive, "conversations")[0]["content"] == said["content"]
    assert ("opened", "tim") in {(row["what"], row["actor"]) for row in rows(archive, "looked")}
    assert rows(archive, "tokens")[0]["prefix"] == issued.token.prefix
    index = archive.read("index.html").decode()
    assert "Proposals about your memory, and the decisions</a> (1)" in index
    for name in archive.namelist():
        text = archive.read(name).decode()
        assert issued.secret not in text, name
        assert issued.token.sha256 not in text, name
        assert name.startswith("data/") or "<script" not in text, name
    assert AuditEvent.objects.filter(what="downloaded", owner="alice", actor="alice").count() == 1


def test_a_tutor_has_their_decisions_and_nothing_of_the_students_texts(
    proposal: Proposal, tim: User, as_tim: Client
) -> None:
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason=RejectReason.WRONG, comment="Not so.")
    archive = downloaded(as_tim)
    (decision,) = rows(archive, "decisions")
    assert (decision["id"], decision["owner"], decision["decision_comment"]) == (proposal.pk, "alice", "Not so.")
    assert rows(archive, "said")[0]["text"] == "Not so."
    for name in archive.namelist():
        text = archive.read(name).decode()
        assert "in June" not in text, name
        assert "in July" not in text, name


def test_one_at_a_time_and_only_by_its_button(as_alice: Client, alice: User, client: Client) -> None:
    assert client.post(PAGE).status_code == 401
    assert as_alice.get(PAGE).status_code == 405
    assert "Download everything about me" in words(as_alice.get(reverse("settings")))
    with turns.taken(f"data of {alice.pk}"):
        refused = as_alice.post(PAGE)
    assert refused.status_code == 429
    assert "Try again in a minute" in words(refused)
    assert downloaded(as_alice).namelist()


def _about_people() -> Iterator[str]:
    for model in apps.get_models():
        fields = model._meta.get_fields()
        to_people = [each for each in fields if isinstance(each, ForeignKey | ManyToManyField)]
        if any(each.related_model is User for each in to_people) or "owner" in {each.name for each in fields}:
            yield model._meta.label


@pytest.mark.pure
def test_every_table_about_people_is_in_it_or_left_out_for_a_reason() -> None:
    there = {part["model"] for part in own_data.PARTS.values()}
    through = {label for label in _about_people() if apps.get_model(label)._meta.auto_created}
    assert {*_about_people()} - through <= there | {*LEFT_OUT}
