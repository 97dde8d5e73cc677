"""Settings → Policies: rules of trust in words, with what people decided beside each."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from agent_tools.models import AgentToken
from approvals import services
from approvals.models import Agent, TrustRule, User
from memory_app import reads
from memory_app.reads import Block
from tests.support.acts import approve, sign_in_again
from tests.support.fixtures import Propose
from tests.support.pages import form, has_form, words

pytestmark = pytest.mark.usefixtures("goals", "token")

HERE, CREATE = "/settings/policies/", reverse("rule_create")
RULE = {"agent": "scribe", "block": "goals", "kind": "", "needs": "small"}


def decide(alice: User, propose: Propose, approved: int, rejected: int) -> None:
    """`approved` changes of goals by scribe approved unchanged, `rejected` rejected."""
    for number in range(approved + rejected):
        proposal = propose(reads.block("alice", "goals"), "reads", f"surely ({number}) reads")
        if number < approved:
            approve(alice, proposal)
        else:
            services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="wrong")


def test_a_rule_is_made_changed_and_deleted(alice: User, as_alice: Client) -> None:
    fields = form(as_alice.get(HERE), CREATE) | RULE
    made = as_alice.post(CREATE, fields, follow=True)
    said = words(made)
    assert "Rule created: scribe · block goals · apply immediately if small." in said
    assert "scribe: no decisions in the last 12 weeks" in said
    rule = TrustRule.objects.get()
    assert (rule.owner, rule.made_by, rule.needs) == ("alice", alice, "small")
    changed = as_alice.post(reverse("rule_change", args=[rule.pk]), {"needs": "ask"}, follow=True)
    assert "Rule changed: scribe · block goals · always ask." in words(changed)
    deleted = as_alice.post(reverse("rule_delete", args=[rule.pk]), follow=True)
    assert "Rule deleted: scribe · block goals · always ask." in words(deleted)
    again = as_alice.post(reverse("rule_delete", args=[rule.pk]), follow=True)
    assert "This rule was deleted already." in words(again)


def test_the_same_rule_twice_names_the_first(as_alice: Client) -> None:
    as_alice.post(CREATE, RULE)
    answer = as_alice.post(CREATE, RULE | {"needs": "apply"})
    assert answer.status_code == 409
    first = "scribe · block goals · apply immediately if small"
    assert f"There is a rule about this already: {first}. Change that one." in words(answer)
    kept = form(answer, CREATE)
    assert (kept["agent"], kept["block"], kept["needs"]) == ("scribe", "goals", "apply")
    assert TrustRule.objects.count() == 1


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"agent": "ghost"}, "ghost has no token for this memory"),
        ({"block": "nowhere"}, "There is no block “nowhere”."),
        ({"block": "goals", "kind": "save"}, "A block that exists is edited or rewritten"),
        ({"kind": "delete", "block": ""}, "Deletions always ask"),
        ({"needs": ""}, "Choose what happens."),
    ],
)
def test_a_bad_rule_is_refused_with_what_was_chosen(as_alice: Client, fields: dict[str, str], said: str) -> None:
    answer = as_alice.post(CREATE, RULE | fields)
    assert answer.status_code == 422
    assert said in words(answer)
    if "agent" not in fields:
        assert form(answer, CREATE)["agent"] == "scribe"
    assert not TrustRule.objects.exists()


@pytest.mark.parametrize("how", ["deactivated", "token revoked"])
def test_a_rule_for_an_agent_that_is_gone_is_without_effect(as_alice: Client, how: str) -> None:
    as_alice.post(CREATE, RULE)
    if how == "deactivated":
        Agent.objects.update(is_active=False)
    else:
        AgentToken.objects.all().delete()
    said = "Without effect: scribe has no token for your memory any more, or was deactivated."
    assert said in words(as_alice.get(HERE))
    assert "scribe has no token for this memory" in words(as_alice.post(CREATE, RULE | {"block": ""}))


def test_an_agent_that_earned_it_is_suggested_and_the_rule_is_one_press(
    alice: User, propose: Propose, as_alice: Client
) -> None:
    decide(alice, propose, approved=10, rejected=1)
    page = as_alice.get(HERE)
    assert "scribe · block goals: 10 of 11 approved unchanged, 1 rejected. Apply small ones immediately?" in words(page)
    offered = page.content.decode().partition('class="panel"')[2].partition("</form>")[0]
    hidden = dict(re.findall(r'name="(agent|block|kind|needs)" value="([^"]*)"', offered))
    assert hidden == RULE
    as_alice.post(CREATE, hidden)
    rule = TrustRule.objects.get()
    assert (rule.agent_id, rule.block, rule.needs) == (Agent.objects.get().pk, "goals", "small")
    after = words(as_alice.get(HERE))
    assert "Apply small ones immediately?" not in after
    assert "scribe: 10 of 11 approved unchanged, 1 rejected" in after


def test_an_agent_that_did_not_earn_it_gets_a_warning(alice: User, propose: Propose, as_alice: Client) -> None:
    decide(alice, propose, approved=3, rejected=3)
    assert "Apply small ones immediately?" not in words(as_alice.get(HERE))
    as_alice.post(CREATE, RULE)
    assert "Consider asking first." in words(as_alice.get(HERE))


def test_a_tutor_reads_the_rules_of_students_and_changes_none(as_alice: Client, as_tim: Client) -> None:
    as_alice.post(CREATE, RULE)
    rule = TrustRule.objects.get()
    page = as_tim.get(HERE)
    assert "Alice Berg are applied immediately. scribe · block goals · apply immediately if small" in words(page)
    assert not has_form(page, reverse("rule_delete", args=[rule.pk]))
    as_tim.post(reverse("rule_delete", args=[rule.pk]))
    as_tim.post(reverse("rule_change", args=[rule.pk]), {"needs": "apply"})
    rule.refresh_from_db()
    assert rule.needs == "small"


def test_what_was_chosen_comes_back_after_signing_in_again(alice: User) -> None:
    client = Client()
    page = sign_in_again(client, alice, client.post(CREATE, RULE))
    assert "Nothing was saved while you were signed out." in words(page)
    chosen = form(page, CREATE)
    assert (chosen["agent"], chosen["block"], chosen["needs"]) == ("scribe", "goals", "small")
    assert not TrustRule.objects.exists()


def test_what_a_rule_applied_is_listed_labelled_and_undone(
    alice: User, goals: Block, propose: Propose, as_alice: Client
) -> None:
    services.create_rule(actor=alice, owner="alice", block="goals", needs="apply")
    proposal = propose(goals, "math", "maths", may_apply=True)
    memory = reverse("memory", args=["alice"])
    assert "rule: every agent · block goals · apply immediately" in words(as_alice.get(memory))
    shown = words(as_alice.get(proposal.get_absolute_url()))
    assert "A rule of the owner let it through: every agent · block goals · apply immediately." in shown
    services.undo(actor=alice, proposal_id=proposal.pk)
    assert "undone" in words(as_alice.get(memory))
