"""The feed: what waits for a person at an address that only they know."""

from urllib.parse import urlsplit
from xml.etree import ElementTree

import pytest
from django.test import Client, override_settings
from django.urls import reverse

from approvals import services
from approvals.models import Proposal, RejectReason, Tutorship, User
from memory_app.reads import Block
from tests.approvals.notifications.conftest import KEY
from tests.conftest import early_in_a_minute
from tests.support.fixtures import Propose
from tests.support.pages import words

ATOM = "{http://www.w3.org/2005/Atom}"
ADDRESS = reverse("feed_address")


@pytest.fixture
def path(tim: User, as_tim: Client) -> str:
    """Where tim's feed is; he asked for it in his settings."""
    assert as_tim.post(ADDRESS, {"feed": "on"}).status_code == 302
    tim.refresh_from_db()
    assert tim.feed_url in as_tim.get(reverse("settings")).content.decode()
    return urlsplit(tim.feed_url).path


def entries(client: Client, path: str) -> list[ElementTree.Element]:
    answer = client.get(path)
    assert answer.status_code == 200
    assert answer.headers["Content-Type"].startswith("application/atom+xml")
    return ElementTree.fromstring(answer.content).findall(f"{ATOM}entry")


def test_it_has_what_waits_with_the_redline(goals: Block, path: str, propose: Propose, client: Client) -> None:
    assert entries(client, path) == []
    proposal = propose(goals, "math", "alge\u200bbra", reasoning="So <i>she</i> said.\x0b")
    (entry,) = entries(client, path)
    found = {child.tag.removeprefix(ATOM): child for child in entry}
    assert found["title"].text == "Alice Berg: Learning goals"
    assert found["link"].get("href") == f"http://127.0.0.1:8000/proposals/{proposal.pk}/"
    assert found["id"].text == f"tag:127.0.0.1,2026:proposal/{proposal.pk}"
    summary = found["summary"].text or ""
    assert found["summary"].get("type") == "html"
    assert ">math</del>" in summary
    assert "&lt;i&gt;she&lt;/i&gt;" in summary
    assert "\u200b" not in summary
    Tutorship.objects.all().delete()
    assert entries(client, path) == []  # it ends with the right to read


def test_neither_secrets_nor_removed_texts_are_in_it(
    goals: Block, tim: User, path: str, propose: Propose, client: Client
) -> None:
    propose(goals, "math", f"uses {KEY}")
    private = propose(goals, "B2", "C1", reasoning="very private")
    services.reject(actor=tim, proposal_id=private.pk, revision=1, reason=RejectReason.TOO_PRIVATE)
    said = client.get(path).content.decode()
    assert KEY not in said
    assert "very private" not in said
    assert "what looks like a key or password" in said


def test_nothing_changed_is_304(goals: Block, path: str, propose: Propose, client: Client) -> None:
    first = client.get(path)
    assert client.get(path, headers={"If-None-Match": first.headers["ETag"]}).status_code == 304
    propose(goals, "math", "algebra")
    second = client.get(path, headers={"If-None-Match": first.headers["ETag"]})
    assert second.status_code == 200
    again = client.get(path, headers={"If-None-Match": second.headers["ETag"]})
    assert (again.status_code, again.content) == (304, b"")
    for answer in (second, again):
        assert answer.headers["Cache-Control"] == "private, no-cache"
        assert answer.headers["Referrer-Policy"] == "no-referrer"


def test_other_addresses_are_not_found(tim: User, alice: User, path: str, algebra: Proposal, client: Client) -> None:
    secret = path.strip("/").partition("-")[2]
    hers = (f"{alice.pk}-", f"{alice.pk}-{secret}", f"{alice.pk}-no feed")
    for wrong in (*hers, f"{tim.pk}-wrong", f"{tim.pk}-", f"-{secret}", secret, "9" * 40, f"{tim.pk}-é"):
        answer = client.get(f"/feed/{wrong}/")
        assert answer.status_code == 404, wrong
        assert b"algebra" not in answer.content
    User.objects.filter(pk=tim.pk).update(is_active=False)
    assert client.get(path).status_code == 404


def test_a_new_address_ends_the_old_one_none_ends_both_and_only_its_person_makes_one(
    tim: User, path: str, client: Client, as_tim: Client
) -> None:
    assert client.post(ADDRESS, {"feed": "on"}).status_code == 401
    as_tim.post(ADDRESS, {"feed": "on"})
    tim.refresh_from_db()
    new = urlsplit(tim.feed_url).path
    assert new != path
    assert client.get(path).status_code == 404
    assert client.get(new).status_code == 200
    as_tim.post(ADDRESS, {"feed": "off"})
    assert client.get(new).status_code == 404
    assert "Create an address" in words(as_tim.get(reverse("settings")))


def test_it_is_asked_for_at_most_so_often(path: str, client: Client) -> None:
    early_in_a_minute()
    with override_settings(RATE_LIMIT=3):
        answers = [client.get(path) for _ in range(4)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[-1].headers["Retry-After"] == "60"
