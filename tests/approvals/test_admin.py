"""Django admin: blocks saved there are commits, proposals are decided there, the rest is read."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin as django_admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Proposal, Status, Tutorship, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.models import Change, MemoryBlock, block_id
from memory_app.reads import Block
from tests.support.acts import assert_ledger, edit
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import words

BLOCKS = reverse("admin:memory_app_memoryblock_changelist")
ADD_BLOCK = reverse("admin:memory_app_memoryblock_add")
PROPOSALS = reverse("admin:approvals_proposal_changelist")


@pytest.fixture
def desk(admin: User, client_of: ClientOf) -> Any:
    """A browser in which admin is signed in."""
    return client_of(admin)


def change_url(owner: str = "alice", label: str = "goals") -> str:
    return reverse("admin:memory_app_memoryblock_change", args=[block_id(owner, label)])


def delete_url(owner: str = "alice", label: str = "goals") -> str:
    return reverse("admin:memory_app_memoryblock_delete", args=[block_id(owner, label)])


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


def test_every_model_can_be_listed_searched_and_opened(
    desk: Any, alice: User, tim: User, goals: Block, propose: Propose
) -> None:
    propose(goals, "math", "geometry")
    models = [model for model in django_admin.site._registry if model._meta.app_label in ("approvals", "memory_app")]
    assert len(models) > 15
    for model in models:
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}"
        listed = desk.get(reverse(f"{name}_changelist"))
        assert listed.status_code == 200, name
        assert desk.get(reverse(f"{name}_changelist"), {"q": "alice"}).status_code == 200, name
        for row in listed.context["cl"].result_list[:1]:
            assert desk.get(reverse(f"{name}_change", args=[row.pk])).status_code == 200, name


def test_all_our_models_are_in_the_admin() -> None:
    ours = {*apps.get_app_config("approvals").get_models(), *apps.get_app_config("memory_app").get_models()}
    assert ours <= set(django_admin.site._registry)


def test_people_without_the_staff_flag_find_no_admin(alice: User, client: Any, client_of: ClientOf) -> None:
    assert client_of(alice).get(BLOCKS, follow=True).status_code == 404
    anonymous = client.get(BLOCKS, follow=True)
    assert anonymous.redirect_chain[-1][0].startswith(reverse("sign_in"))


def test_the_admin_has_no_sign_in_form_of_its_own(admin: User, client: Any) -> None:
    """It would not be throttled."""
    admin.set_password("correct horse battery")
    admin.save()
    client.post(reverse("admin:login"), {"username": "admin", "password": "correct horse battery"})
    assert "_auth_user_id" not in client.session


def test_what_services_write_cannot_be_added_here(desk: Any) -> None:
    for name in ("approvals_proposal", "approvals_revision", "approvals_event", "memory_app_change"):
        assert desk.get(reverse(f"admin:{name}_add")).status_code == 403, name


# -- people and agents ------------------------------------------------------------------------------


def test_a_person_is_made_and_their_username_never_changes(desk: Any) -> None:
    password = "correct horse battery"
    added = desk.post(
        reverse("admin:approvals_user_add"),
        {"username": "carla", "usable_password": "true", "password1": password, "password2": password},
    )
    assert added.status_code == 302
    carla = User.objects.get(username="carla")
    url = reverse("admin:approvals_user_change", args=[carla.pk])
    form = desk.get(url).context["adminform"].form
    assert "username" not in form.fields
    values = {name: form[name].value() or "" for name in form.fields if name not in ("groups", "user_permissions")}
    saved = desk.post(url, {**values, "username": "carlotta", "last_name": "Diaz", "is_active": "on"})
    assert saved.status_code == 302
    carla.refresh_from_db()
    assert (carla.username, carla.last_name) == ("carla", "Diaz")


def test_staff_who_edit_people_cannot_give_themselves_rights(ben: User, client_of: ClientOf) -> None:
    ben.is_staff = True
    ben.save()
    ben.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    url = reverse("admin:approvals_user_change", args=[ben.pk])
    fields = {"time_zone": "UTC", "mail": "daily", "is_active": "on", "is_superuser": "on", "last_name": "Ok"}
    answer = client_of(ben).post(url, fields)
    assert answer.status_code == 302
    ben.refresh_from_db()
    assert ben.last_name == "Ok"
    assert not ben.is_superuser


def test_staff_who_edit_people_cannot_take_over_somebody_with_rights(
    ben: User, alice: User, client_of: ClientOf
) -> None:
    User.objects.filter(pk=ben.pk).update(is_staff=True)
    ben.user_permissions.set(Permission.objects.filter(codename__in=["change_user", "view_user"]))
    desk = client_of(ben)
    new = {"usable_password": "true", "password1": "correct horse battery", "password2": "correct horse battery"}
    password = reverse("admin:auth_user_password_change", args=[alice.pk])
    change = reverse("admin:approvals_user_change", args=[alice.pk])
    for is_staff, is_superuser in ((True, True), (False, True), (True, False)):
        User.objects.filter(pk=alice.pk).update(is_staff=is_staff, is_superuser=is_superuser)
        assert desk.post(password, new).status_code == 403
        assert desk.post(change, {"time_zone": "UTC", "email": "ben@example.org"}).status_code == 403
        assert desk.get(change).status_code == 200  # to read
    alice.refresh_from_db()
    assert not alice.has_usable_password()
    assert alice.email == ""
    User.objects.filter(pk=alice.pk).update(is_staff=False, is_superuser=False)
    assert desk.post(password, new).status_code == 302


def test_a_username_that_could_not_be_written_into_the_history_is_refused(desk: Any) -> None:
    password = "correct horse battery"
    for username in ("Carla", "carla diaz", "carla/../x", "a" * 65):
        fields = {"username": username, "usable_password": "true", "password1": password, "password2": password}
        assert desk.post(reverse("admin:approvals_user_add"), fields).status_code == 200
    assert User.objects.count() == 1


def test_nobody_is_deleted_not_even_in_bulk(desk: Any, alice: User, scribe: Agent) -> None:
    assert desk.post(reverse("admin:approvals_user_delete", args=[alice.pk]), {"post": "yes"}).status_code == 403
    assert desk.post(reverse("admin:approvals_agent_delete", args=[scribe.pk]), {"post": "yes"}).status_code == 403
    for name, row in (("user", alice), ("agent", scribe)):
        desk.post(
            reverse(f"admin:approvals_{name}_changelist"),
            {"action": "delete_selected", "_selected_action": row.pk, "post": "yes"},
        )
    assert User.objects.filter(pk=alice.pk).exists()
    assert Agent.objects.filter(pk=scribe.pk).exists()


def test_a_tutor_is_assigned(desk: Any, alice: User, ben: User) -> None:
    desk.post(reverse("admin:approvals_tutorship_add"), {"tutor": ben.pk, "owner": alice.pk})
    assert Tutorship.objects.get().tutor == ben


# -- blocks -----------------------------------------------------------------------------------------


def test_saving_a_block_is_a_commit_in_the_admins_name(desk: Any, goals: Block) -> None:
    response = desk.post(change_url(), form_of(goals, body="Alice likes art.\n", comment="She asked me to."))
    assert response.status_code == 302
    assert reads.block("alice", "goals").body == "Alice likes art.\n"
    newest = dolt().log("main", limit=1)[0]
    assert_ledger("goals", action="edited", actor="admin", comment="She asked me to.", commit=newest.hash)
    assert newest.author == "admin"
    assert dolt().dirty_tables() == ()
    logged = LogEntry.objects.get()
    assert logged.content_type.model == "memoryblock"
    assert logged.get_edited_object() == MemoryBlock.objects.get()


def test_a_block_that_changed_meanwhile_is_not_overwritten(desk: Any, alice: User, goals: Block) -> None:
    edit(alice, "goals", goals.body, "Her own words.\n")
    response = desk.post(change_url(), form_of(goals, body="The admin's words."))
    page = response.content.decode()
    assert response.status_code == 409
    assert "Her own words." in page
    assert "The admin&#x27;s words." in page
    assert reads.block("alice", "goals").body == "Her own words.\n"
    assert LogEntry.objects.count() == 0
    seen = response.context["adminform"].form["loaded_sha256"].value()
    again = desk.post(change_url(), form_of(goals, body="The admin's words.", loaded_sha256=seen))
    assert again.status_code == 302
    assert reads.block("alice", "goals").body == "The admin's words."


def test_a_block_deleted_meanwhile_can_be_made_again_with_what_was_typed(desk: Any, alice: User, goals: Block) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    response = desk.post(change_url(), form_of(goals, body="Typed for an hour."))
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
def test_what_cannot_be_saved_is_said_on_the_form(desk: Any, goals: Block, changed: dict[str, Any], said: str) -> None:
    head = dolt().head()
    response = desk.post(change_url(), form_of(goals, **changed))
    assert response.status_code == 422
    assert said in response.content.decode()
    assert dolt().head() == head


def test_a_block_is_made_for_people_there_are(desk: Any, alice: User) -> None:
    fields = {"owner": "alice", "label": "profile", "title": "", "description": "", "body": "Lyon.", "limit": 100}
    assert desk.post(ADD_BLOCK, {**fields, "owner": "nobody"}).status_code == 200
    assert desk.post(ADD_BLOCK, {**fields, "label": "No Label"}).status_code == 200
    assert Change.objects.count() == 0
    made = desk.post(ADD_BLOCK, fields)
    assert made.status_code == 302
    assert reads.block("alice", "profile").body == "Lyon."
    assert LogEntry.objects.get().object_id == str(block_id("alice", "profile"))
    assert desk.post(ADD_BLOCK, fields).status_code == 409


def test_deleting_a_block_is_a_commit_and_asks_with_what_was_seen(desk: Any, alice: User, goals: Block) -> None:
    page = desk.get(delete_url())
    assert "Alice likes math." in page.content.decode()
    assert goals.sha256 in page.content.decode()
    stale = desk.post(delete_url(), {"post": "yes", "loaded_sha256": "0" * 64, "comment": "as she asked"})
    assert stale.status_code == 409
    assert "It was not deleted." in stale.content.decode()
    assert goals.sha256 in stale.content.decode()
    assert "as she asked" in stale.content.decode()
    assert LogEntry.objects.count() == 0
    assert reads.find_block("alice", "goals") is not None
    desk.post(delete_url(), {"post": "yes", "loaded_sha256": goals.sha256})
    assert reads.find_block("alice", "goals") is None
    assert_ledger("goals", actor="admin")
    assert LogEntry.objects.count() == 1
    gone = desk.post(delete_url(), {"post": "yes", "loaded_sha256": goals.sha256}, follow=True)
    assert gone.status_code == 200
    assert LogEntry.objects.count() == 1


def test_blocks_are_not_deleted_in_bulk(desk: Any, goals: Block) -> None:
    desk.post(BLOCKS, {"action": "delete_selected", "_selected_action": str(block_id("alice", "goals")), "post": "yes"})
    assert reads.find_block("alice", "goals") is not None


# -- proposals --------------------------------------------------------------------------------------


def choose(desk: Any, action: str, *proposals: Proposal) -> Any:
    """Tick proposals in the list and choose the action: the page that shows them."""
    return desk.post(PROPOSALS, {"action": action, "_selected_action": [proposal.pk for proposal in proposals]})


def decide(desk: Any, page: Any, **said: str) -> Any:
    """Press the button of that page."""
    hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page.content.decode())
    fields: dict[str, Any] = dict(hidden) | said
    fields["_selected_action"] = [value for name, value in hidden if name == "_selected_action"]
    return desk.post(PROPOSALS, fields, follow=True)


def test_a_proposal_is_read_only_and_leads_to_its_review(desk: Any, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "math", "geometry")
    url = reverse("admin:approvals_proposal_change", args=[proposal.pk])
    assert proposal.get_absolute_url() in desk.get(url).content.decode()
    assert desk.post(url, {"status": "approved"}).status_code == 403
    assert desk.post(reverse("admin:approvals_proposal_delete", args=[proposal.pk])).status_code == 403


def test_chosen_proposals_are_shown_before_they_are_approved(
    desk: Any, goals: Block, propose: Propose, make_block: MakeBlock, alice: User
) -> None:
    profile = make_block(alice, "profile", "Born in Lyon.")
    first, second = propose(goals, "math", "geometry"), propose(profile, "Lyon", "Paris")
    page = choose(desk, "approve_selected", first, second)
    assert re.search(r"<ins>.*geometry.*</ins>", page.content.decode())
    assert Proposal.objects.open().count() == 2
    answer = words(decide(desk, page, comment="Seen."))
    assert f"#{first.pk} alice/goals: approved" in answer
    assert f"#{second.pk} alice/profile: approved" in answer
    assert {proposal.status for proposal in Proposal.objects.all()} == {Status.APPROVED}
    assert reads.block("alice", "profile").body == "Born in Paris."
    assert Change.objects.filter(action="approved", actor="admin").count() == 2


def test_what_is_not_plain_is_left_out_of_approving(
    desk: Any, goals: Block, propose: Propose, alice: User, scribe: Agent
) -> None:
    stale = propose(goals, "math", "geometry")
    tagged = notes.save(by=ChangeContext(actor=scribe), owner="alice", content="Sings.", tags=["art"]).proposal
    edit(alice, "goals", "# Goals", "# Her goals")
    page = choose(desk, "approve_selected", stale, tagged)
    assert page.context["deciding"] == set()
    assert words(page).count("Left out. Open it to decide.") == 2
    # Nor by sending what the page does not offer.
    forged = {"action": "approve_selected", "decide": "yes", "_selected_action": stale.pk}
    for seen in (f"{stale.pk}:1:{goals.sha256}", f"{stale.pk}:{'9' * 5_000}:", "x"):
        desk.post(PROPOSALS, forged | {f"item-{stale.pk}": seen})
    assert set(Proposal.objects.values_list("status", flat=True)) == {Status.OPEN}


def test_of_several_decisions_one_refusal_does_not_stop_the_others(
    desk: Any, goals: Block, propose: Propose, make_block: MakeBlock, alice: User, tim: User
) -> None:
    profile = make_block(alice, "profile", "Born in Lyon.")
    first, second = propose(goals, "math", "geometry"), propose(profile, "Lyon", "Paris")
    page = choose(desk, "approve_selected", first, second)
    services.reject(actor=tim, proposal_id=first.pk, revision=1, reason="wrong")
    answer = words(decide(desk, page))
    first.refresh_from_db()
    second.refresh_from_db()
    assert (first.status, second.status) == (Status.REJECTED, Status.APPROVED)
    assert re.search(rf"#{first.pk} alice/goals: (?!approved)", answer)


def test_chosen_proposals_are_rejected_with_a_reason(desk: Any, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "math", "geometry")
    page = choose(desk, "reject_selected", proposal)
    assert "“Too private” also permanently removes what the agent wrote." in words(page)
    for missing in ({}, {"reason": "because"}, {"reason": "other"}):
        assert decide(desk, page, **missing).status_code == 422
    decide(desk, page, reason="too_private", comment="Not ours to keep.")
    proposal.refresh_from_db()
    assert (proposal.status, proposal.decision_reason) == (Status.REJECTED, "too_private")
    assert proposal.is_redacted
    assert proposal.decided_by.username == "admin"
    assert choose(desk, "reject_selected", proposal).context["deciding"] == set()


def test_a_proposals_evidence_and_warnings_are_read_and_not_decoded(
    admin: User, client_of: ClientOf, goals: Block, propose: Propose
) -> None:
    evidence = [{"role": "user", "content": "It is in <July>."}]
    proposal = propose(goals, "in June", "in July, see https://example.org/plan", evidence=evidence)
    assert proposal.risks == ["links_added"]
    client = client_of(admin)
    said = words(client.get(reverse("admin:approvals_proposal_change", args=[proposal.pk])))
    assert "user It is in <July>." in said
    assert "Links added" in said
    assert "links_added" not in said
    assert '"role"' not in said


def test_dates_are_written_as_on_the_pages(admin: User, client_of: ClientOf, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "in June", "in July")
    listed = words(client_of(admin).get(reverse("admin:approvals_proposal_changelist")))
    assert f"{timezone.localtime(proposal.created_at):%-d %b %Y, %H:%M}" in listed


def test_what_the_machinery_keeps_is_listed_apart(admin: User, client_of: ClientOf) -> None:
    index = client_of(admin).get(reverse("admin:index")).context["app_list"]
    assert [str(app["name"]) for app in index][-1] == "Internals"
    internals = {model["object_name"] for model in index[-1]["models"]}
    assert {"Chunk", "SearchIndex", "ProposedNote", "IdempotencyKey"} <= internals
    others = {model["object_name"] for app in index[:-1] for model in app["models"]}
    assert {"User", "Proposal", "MemoryBlock", "MemoryNote", "AgentToken"} <= others
    assert not internals & others
