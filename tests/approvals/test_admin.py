"""Django admin: blocks saved there are commits, proposals are decided there, the rest is read."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import Permission
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Agent, BrowserSession, Proposal, Status, Tutorship, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.models import Change, MemoryBlock, block_id
from memory_app.reads import Block
from tests.support.acts import assert_ledger, edit
from tests.support.first import dolt
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import words

BLOCKS = reverse("admin:memory_app_memoryblock_changelist")
ADD_BLOCK = reverse("admin:memory_app_memoryblock_add")
PROPOSALS = reverse("admin:approvals_proposal_changelist")
GOALS = block_id("alice", "goals")
CHANGE_GOALS = reverse("admin:memory_app_memoryblock_change", args=[GOALS])
DELETE_GOALS = reverse("admin:memory_app_memoryblock_delete", args=[GOALS])
ADD_PERSON = reverse("admin:approvals_user_add")
#: What the forms that set one ask for.
PASSWORD = {"usable_password": "true", "password1": "correct horse battery", "password2": "correct horse battery"}


@pytest.fixture
def desk(as_admin: Client) -> Client:
    return as_admin


def form_of(block: Any, **changed: Any) -> dict[str, Any]:
    fields = {
        "target": f"{block.owner}/{block.label}",
        "title": block.title,
        "description": block.description,
        "body": block.body.replace("\n", "\r\n"),
        "limit": block.limit,
        "comment": "",
        "loaded_sha256": block.sha256,
    }
    return fields | changed


# -- everything -------------------------------------------------------------------------------------


def test_every_model_can_be_listed_searched_and_opened(desk: Client, proposal: Proposal) -> None:
    ours = {*apps.get_app_config("approvals").get_models(), *apps.get_app_config("memory_app").get_models()}
    ours.remove(BrowserSession)  # its key signs in
    assert len(ours) > 15
    assert ours <= set(django_admin.site._registry)
    for model in ours:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        listed = desk.get(reverse(f"{name}_changelist"))
        assert listed.status_code == 200, name
        assert desk.get(reverse(f"{name}_changelist"), {"q": "alice"}).status_code == 200, name
        for row in listed.context["cl"].result_list[:1]:
            assert desk.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200, name


def test_what_the_machinery_keeps_is_listed_apart(desk: Client) -> None:
    index = desk.get(reverse("admin:index")).context["app_list"]
    assert [str(app["name"]) for app in index][-1] == "Internals"
    internals = {model["object_name"] for model in index[-1]["models"]}
    assert {"Chunk", "SearchIndex", "ProposedNote", "IdempotencyKey"} <= internals
    others = {model["object_name"] for app in index[:-1] for model in app["models"]}
    assert {"User", "Proposal", "MemoryBlock", "MemoryNote", "AgentToken"} <= others
    assert not internals & others


def test_people_without_the_staff_flag_find_no_admin_and_no_sign_in_form_that_is_not_throttled(
    as_alice: Client, alice: User, client: Client
) -> None:
    assert as_alice.get(BLOCKS, follow=True).status_code == 404
    anonymous = client.get(BLOCKS, follow=True)
    assert anonymous.redirect_chain[-1][0].startswith(reverse("sign_in"))
    User.objects.filter(pk=alice.pk).update(is_staff=True, password=make_password("correct horse battery"))
    client.post(reverse("admin:login"), {"username": "alice", "password": "correct horse battery"})
    assert "_auth_user_id" not in client.session


def test_what_services_write_cannot_be_added_here(desk: Client) -> None:
    for name in ("approvals_proposal", "approvals_revision", "approvals_event", "memory_app_change"):
        assert desk.get(reverse(f"admin:{name}_add")).status_code == 403, name


# -- people and agents ------------------------------------------------------------------------------


def test_a_person_is_made_and_their_username_never_changes(desk: Client) -> None:
    # One that could not be written into the history is refused.
    for username in ("Carla", "carla diaz", "carla/../x", "a" * 65):
        assert desk.post(ADD_PERSON, PASSWORD | {"username": username}).status_code == 200
    assert User.objects.count() == 1
    assert desk.post(ADD_PERSON, PASSWORD | {"username": "carla"}).status_code == 302
    carla = User.objects.get(username="carla")
    url = reverse("admin:approvals_user_change", args=[carla.pk])
    form = desk.get(url).context["adminform"].form
    assert "username" not in form.fields
    values = {name: form[name].value() or "" for name in form.fields if name not in ("groups", "user_permissions")}
    saved = desk.post(url, {**values, "username": "carlotta", "last_name": "Diaz", "is_active": "on"})
    assert saved.status_code == 302
    carla.refresh_from_db()
    assert (carla.username, carla.last_name) == ("carla", "Diaz")


@pytest.fixture
def as_clerk(ben: User, as_ben: Client) -> Client:
    """ben may edit people and has no other rights."""
    User.objects.filter(pk=ben.pk).update(is_staff=True)
    ben.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    return as_ben


def test_staff_who_edit_people_cannot_give_themselves_rights(ben: User, as_clerk: Client) -> None:
    fields = {"time_zone": "UTC", "mail": "daily", "is_active": "on", "is_superuser": "on", "last_name": "Ok"}
    answer = as_clerk.post(reverse("admin:approvals_user_change", args=[ben.pk]), fields)
    assert answer.status_code == 302
    ben.refresh_from_db()
    assert (ben.last_name, ben.is_superuser) == ("Ok", False)


def test_no_superuser_takes_their_own_rights_so_that_one_is_left(admin: User, ben: User, desk: Client) -> None:
    User.objects.filter(pk__in=(admin.pk, ben.pk)).update(is_superuser=True, is_staff=True)
    for person in (admin, ben):
        fields = {"time_zone": "UTC", "mail": "daily", "last_name": "Ok"}
        assert desk.post(reverse("admin:approvals_user_change", args=[person.pk]), fields).status_code == 302
    kept = User.objects.order_by("pk").filter(last_name="Ok").values_list("username", "is_active", "is_superuser")
    assert set(kept) == {("admin", True, True), ("ben", False, False)}


def test_staff_who_edit_people_cannot_take_over_somebody_with_rights(alice: User, as_clerk: Client) -> None:
    password = reverse("admin:auth_user_password_change", args=[alice.pk])
    change = reverse("admin:approvals_user_change", args=[alice.pk])
    for is_staff, is_superuser in ((True, True), (False, True), (True, False)):
        User.objects.filter(pk=alice.pk).update(is_staff=is_staff, is_superuser=is_superuser)
        assert as_clerk.post(password, PASSWORD).status_code == 403
        assert as_clerk.post(change, {"time_zone": "UTC", "email": "ben@example.org"}).status_code == 403
        assert as_clerk.get(change).status_code == 200  # to read
    alice.refresh_from_db()
    assert not alice.has_usable_password()
    assert alice.email == ""
    User.objects.filter(pk=alice.pk).update(is_staff=False, is_superuser=False)
    assert as_clerk.post(password, PASSWORD).status_code == 302


def test_nobody_is_deleted_and_nothing_in_bulk(desk: Client, alice: User, scribe: Agent, goals: Block) -> None:
    rows = {"approvals_user": alice.pk, "approvals_agent": scribe.pk, "memory_app_memoryblock": GOALS}
    for name, row in rows.items():
        if name != "memory_app_memoryblock":
            assert desk.post(reverse(f"admin:{name}_delete", args=[row]), {"post": "yes"}).status_code == 403
        fields = {"action": "delete_selected", "_selected_action": row, "post": "yes"}
        desk.post(reverse(f"admin:{name}_changelist"), fields)
    assert User.objects.filter(pk=alice.pk).exists()
    assert Agent.objects.filter(pk=scribe.pk).exists()
    assert reads.find_block("alice", "goals") is not None


def test_a_tutor_is_assigned(desk: Client, alice: User, ben: User) -> None:
    desk.post(reverse("admin:approvals_tutorship_add"), {"tutor": ben.pk, "owner": alice.pk})
    assert Tutorship.objects.get().tutor == ben


# -- blocks -----------------------------------------------------------------------------------------


def test_saving_a_block_is_a_commit_in_the_admins_name(desk: Client, goals: Block) -> None:
    response = desk.post(CHANGE_GOALS, form_of(goals, body="Alice likes art.\n", comment="She asked me to."))
    assert response.status_code == 302
    assert reads.block("alice", "goals").body == "Alice likes art.\n"
    newest = dolt().log("main", limit=1)[0]
    assert_ledger("goals", action="edited", actor="admin", comment="She asked me to.", commit=newest.hash)
    assert newest.author == "admin"
    assert dolt().dirty_tables() == ()
    logged = LogEntry.objects.get()
    assert logged.content_type.model == "memoryblock"
    assert logged.get_edited_object() == MemoryBlock.objects.get()


def test_a_block_that_changed_meanwhile_is_not_overwritten(desk: Client, alice: User, goals: Block) -> None:
    edit(alice, "goals", goals.body, "Her own words.\n")
    response = desk.post(CHANGE_GOALS, form_of(goals, body="The admin's words."))
    page = response.content.decode()
    assert response.status_code == 409
    assert "Her own words." in page
    assert "The admin&#x27;s words." in page
    assert reads.block("alice", "goals").body == "Her own words.\n"
    assert LogEntry.objects.count() == 0
    seen = response.context["adminform"].form["loaded_sha256"].value()
    again = desk.post(CHANGE_GOALS, form_of(goals, body="The admin's words.", loaded_sha256=seen))
    assert again.status_code == 302
    assert reads.block("alice", "goals").body == "The admin's words."


def test_a_block_deleted_meanwhile_can_be_made_again_with_what_was_typed(
    desk: Client, alice: User, goals: Block
) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    response = desk.post(CHANGE_GOALS, form_of(goals, body="Typed for an hour."))
    page = response.content.decode()
    assert response.status_code == 409
    assert "Typed for an hour." in page
    form = response.context["adminform"].form
    made = desk.post(ADD_BLOCK, {name: form[name].value() or "" for name in form.fields})
    assert made.status_code == 302
    assert reads.block("alice", "goals").body == "Typed for an hour."


@pytest.mark.parametrize(
    ("changed", "said"),
    [({"body": "x" * 60, "limit": 50}, "10 over the limit of 50"), ({}, "Nothing was changed.")],
)
def test_what_cannot_be_saved_is_said_on_the_form(
    desk: Client, goals: Block, changed: dict[str, Any], said: str
) -> None:
    head = dolt().head()
    response = desk.post(CHANGE_GOALS, form_of(goals, **changed))
    assert response.status_code == 422
    assert said in response.content.decode()
    assert dolt().head() == head


def test_a_block_is_made_for_people_there_are(desk: Client, alice: User) -> None:
    fields = {"owner": "alice", "label": "profile", "title": "", "description": "", "body": "Lyon.", "limit": 100}
    assert desk.post(ADD_BLOCK, {**fields, "owner": "nobody"}).status_code == 200
    assert desk.post(ADD_BLOCK, {**fields, "label": "No Label"}).status_code == 200
    assert Change.objects.count() == 0
    made = desk.post(ADD_BLOCK, fields)
    assert made.status_code == 302
    assert reads.block("alice", "profile").body == "Lyon."
    assert LogEntry.objects.get().object_id == str(block_id("alice", "profile"))
    assert desk.post(ADD_BLOCK, fields).status_code == 409


def test_deleting_a_block_is_a_commit_and_asks_with_what_was_seen(desk: Client, alice: User, goals: Block) -> None:
    page = desk.get(DELETE_GOALS)
    assert "Alice likes math." in page.content.decode()
    assert goals.sha256 in page.content.decode()
    stale = desk.post(DELETE_GOALS, {"post": "yes", "loaded_sha256": "0" * 64, "comment": "as she asked"})
    assert stale.status_code == 409
    assert "It was not deleted." in stale.content.decode()
    assert goals.sha256 in stale.content.decode()
    assert "as she asked" in stale.content.decode()
    assert LogEntry.objects.count() == 0
    assert reads.find_block("alice", "goals") is not None
    desk.post(DELETE_GOALS, {"post": "yes", "loaded_sha256": goals.sha256})
    assert reads.find_block("alice", "goals") is None
    assert_ledger("goals", actor="admin")
    assert LogEntry.objects.count() == 1
    gone = desk.post(DELETE_GOALS, {"post": "yes", "loaded_sha256": goals.sha256}, follow=True)
    assert gone.status_code == 200
    assert LogEntry.objects.count() == 1


# -- proposals --------------------------------------------------------------------------------------


def choose(desk: Client, action: str, *proposals: Proposal) -> Any:
    """Tick proposals in the list and choose the action: the page that shows them."""
    return desk.post(PROPOSALS, {"action": action, "_selected_action": [proposal.pk for proposal in proposals]})


def decide(desk: Client, page: Any, **said: str) -> Any:
    """Press the button of that page."""
    hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.content.decode())
    fields: dict[str, Any] = dict(hidden) | said
    fields["_selected_action"] = [value for name, value in hidden if name == "_selected_action"]
    return desk.post(PROPOSALS, fields, follow=True)


@pytest.fixture
def geometry(goals: Block, propose: Propose) -> Proposal:
    return propose(goals, "math", "geometry")


@pytest.fixture
def paris(alice: User, make_block: MakeBlock, propose: Propose) -> Proposal:
    return propose(make_block(alice, "profile", "Born in Lyon."), "Lyon", "Paris")


def test_a_proposal_is_read_in_words_changed_by_nobody_and_leads_to_its_review(
    desk: Client, goals: Block, propose: Propose
) -> None:
    evidence = [{"role": "user", "content": "It is in <July>."}]
    proposal = propose(goals, "in June", "in July, see https://example.org/plan", evidence=evidence)
    assert proposal.risks == ["links_added"]
    url = reverse("admin:approvals_proposal_change", args=[proposal.pk])
    page = desk.get(url)
    assert proposal.get_absolute_url() in page.content.decode()
    said = words(page)
    assert "user It is in <July>." in said
    assert "Links added" in said
    for undecoded in ("links_added", '"role"'):
        assert undecoded not in said
    assert desk.post(url, {"status": "approved"}).status_code == 403
    assert desk.post(reverse("admin:approvals_proposal_delete", args=[proposal.pk])).status_code == 403
    assert f"{timezone.localtime(proposal.created_at):%-d %b %Y, %H:%M}" in words(desk.get(PROPOSALS))


def test_chosen_proposals_are_shown_before_they_are_approved(desk: Client, geometry: Proposal, paris: Proposal) -> None:
    page = choose(desk, "approve_selected", geometry, paris)
    assert re.search(r"<ins>.*geometry.*</ins>", page.content.decode())
    assert Proposal.objects.open().count() == 2
    answer = words(decide(desk, page, comment="Seen."))
    assert f"#{geometry.pk} alice/goals: approved" in answer
    assert f"#{paris.pk} alice/profile: approved" in answer
    assert {proposal.status for proposal in Proposal.objects.all()} == {Status.APPROVED}
    assert reads.block("alice", "profile").body == "Born in Paris."
    assert Change.objects.filter(action="approved", actor="admin").count() == 2


def test_what_is_not_plain_is_left_out_of_approving(
    desk: Client, goals: Block, geometry: Proposal, alice: User, scribe: Agent
) -> None:
    tagged = notes.save(by=ChangeContext(actor=scribe), owner="alice", content="Sings.", tags=["art"]).proposal
    edit(alice, "goals", "# Goals", "# Her goals")
    page = choose(desk, "approve_selected", geometry, tagged)
    assert page.context["deciding"] == set()
    assert words(page).count("Left out. Open it to decide.") == 2
    # Nor by sending what the page does not offer.
    forged = {"action": "approve_selected", "decide": "yes", "_selected_action": geometry.pk}
    for seen in (f"{geometry.pk}:1:{goals.sha256}", f"{geometry.pk}:{'9' * 5_000}:", "x"):
        desk.post(PROPOSALS, forged | {f"item-{geometry.pk}": seen})
    assert set(Proposal.objects.values_list("status", flat=True)) == {Status.OPEN}


def test_of_several_decisions_one_refusal_does_not_stop_the_others(
    desk: Client, geometry: Proposal, paris: Proposal, tim: User
) -> None:
    page = choose(desk, "approve_selected", geometry, paris)
    services.reject(actor=tim, proposal_id=geometry.pk, revision=1, reason="wrong")
    answer = words(decide(desk, page))
    geometry.refresh_from_db()
    paris.refresh_from_db()
    assert (geometry.status, paris.status) == (Status.REJECTED, Status.APPROVED)
    assert re.search(rf"#{geometry.pk} alice/goals: (?!approved)", answer)


def test_chosen_proposals_are_rejected_with_a_reason(desk: Client, geometry: Proposal) -> None:
    page = choose(desk, "reject_selected", geometry)
    assert "“Too private” also permanently removes what the agent wrote." in words(page)
    for missing in ({}, {"reason": "because"}, {"reason": "other"}):
        assert decide(desk, page, **missing).status_code == 422
    decide(desk, page, reason="too_private", comment="Not ours to keep.")
    geometry.refresh_from_db()
    assert (geometry.status, geometry.decision_reason) == (Status.REJECTED, "too_private")
    assert (geometry.is_redacted, geometry.decided_by.username) == (True, "admin")
    assert choose(desk, "reject_selected", geometry).context["deciding"] == set()
