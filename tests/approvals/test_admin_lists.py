"""The lists of the Django admin answer their own filters and bounded searches; nothing asks for what they hide."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib import admin as django_admin
from django.contrib.admin.exceptions import DisallowedModelAdminLookup
from django.contrib.admin.options import IncorrectLookupParameters, ModelAdmin
from django.test import Client, RequestFactory
from django.urls import reverse

from agent_tools.models import AgentToken, WebhookEndpoint
from approvals.admin.through_services import PlainList
from approvals.models import Agent, Proposal, User

LOOKUPS = ("regex", "startswith", "iregex", "contains", "exact", "gt", "in", "isnull", "year__regex")


def all_admins() -> list[ModelAdmin[Any]]:
    return list(django_admin.site._registry.values())


def columns(model: Any) -> Iterator[str]:
    """Return every column of a table, those of the rows it refers to, and of those that refer to it."""
    for field in model._meta.get_fields(include_hidden=True):
        name = field.name.removesuffix("+")
        yield name
        if field.related_model:
            yield from (f"{name}__{other.name}" for other in field.related_model._meta.concrete_fields)


def parameters_of(listed: Any, model_admin: ModelAdmin[Any]) -> set[str]:
    own = {name for spec in listed.filter_specs for name in spec.expected_parameters()}
    # A filter that has nothing to choose from is not among them.
    own |= {f"{name}__{taken}" for name in model_admin.list_filter for taken in ("isnull", "id__exact")}
    return own | {f"{model_admin.date_hierarchy}__{part}" for part in ("year", "month", "day")}


def test_every_admin_has_the_one_base() -> None:
    assert [each for each in all_admins() if not isinstance(each, PlainList)] == []


def test_no_list_takes_a_look_up_that_is_not_of_its_filters(admin: User, rf: RequestFactory) -> None:
    tried = 0
    for model_admin in all_admins():

        def listed(asked: dict[str, str], of: ModelAdmin[Any] = model_admin) -> Any:
            request = rf.get("/", asked)
            request.user = admin
            return of.get_changelist_instance(request)

        own = parameters_of(listed({}), model_admin)
        for column in columns(model_admin.model):
            for asked in {f"{column}__{lookup}" for lookup in LOOKUPS[: 2 if "__" in column else None]} - own:
                tried += 1
                with pytest.raises((DisallowedModelAdminLookup, IncorrectLookupParameters)):
                    listed({asked: "1"})
                    raise AssertionError(f"{type(model_admin).__name__} took {asked}")
    assert tried > 1_500


def hidden() -> dict[str, tuple[str, str]]:
    """Return the list, the column and the value of what the admin shows nowhere."""
    alice, scribe = User.objects.get(username="alice"), Agent.objects.get(name="scribe")
    User.objects.filter(pk=alice.pk).update(feed_key="fk-very-secret")
    AgentToken.objects.create(agent=scribe, prefix="asn_zzzzzzzz", sha256="c0ffee", scopes=[])
    WebhookEndpoint.objects.create(agent=scribe, created_by=alice, url="https://x.example/h/s3cr3t", secret="whsec_1")
    return {
        "approvals_user": ("feed_key", "fk-very-secret"),
        "agent_tools_agenttoken": ("sha256", "c0ffee"),
        "agent_tools_webhookendpoint": ("secret", "whsec_1"),
    }


def test_what_a_list_hides_is_answered_alike_whatever_is_asked(
    as_admin: Client, alice: User, scribe: Agent, proposal: Proposal
) -> None:
    for name, (column, value) in hidden().items():
        address = reverse(f"admin:{name}_changelist")
        for lookup in ("", "__startswith", "__regex", "__gte", "__isnull", "__contains"):
            for asked in (value[:3], "nothing"):
                assert as_admin.get(address, {f"{column}{lookup}": asked}).status_code == 400, (name, column, lookup)
        found = [as_admin.get(address, {"q": text}).context["cl"].result_count for text in (value, value[2:7])]
        assert found == [0, 0], name
        assert as_admin.get(f"{address}?_to_field={column}").status_code == 400
    hooks = reverse("admin:agent_tools_webhookendpoint_changelist")
    assert as_admin.get(hooks, {"q": "s3cr3t"}).context["cl"].result_count == 0  # the path of its address


def test_a_regular_expression_in_a_link_is_refused(as_admin: Client, proposal: Proposal) -> None:
    Proposal.objects.update(reasoning="a" * 27 + "!")  # 15 s of Python inside SQLite, all threads waiting
    proposals = reverse("admin:approvals_proposal_changelist")
    assert as_admin.get(proposals, {"reasoning__regex": "(a+)+$"}).status_code == 400
    for own in (
        {"status__exact": "open"},
        {"agent__id__exact": proposal.agent_id},
        {"created_at__gte": "2020-01-01 00:00:00+00:00"},
    ):
        assert as_admin.get(proposals, own).context["cl"].result_count == 1, own


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"q": "a" * 500}, 200),
        ({"q": "a" * 10_000}, 400),
        ({"q": "a " * 200}, 400),
        ({"q": '"' * 499}, 200),
        ({"q": "\\" * 499}, 200),
        ({"q": "%_%" * 100}, 200),
        ({"o": ".".join(["1", "-2"] * 2_000)}, 200),
        ({"o": "9" * 300}, 200),
        ({"p": "9" * 300}, 200),
        ({"p": "-1"}, 200),
        ({"_facets": "True"}, 200),
        ({"_popup": "1"}, 200),
        ({"all": ""}, 200),
        ({"date_joined__year": "9999"}, 302),
        ({"date_joined__year": "2026", "date_joined__month": "13"}, 302),
        ({"date_joined__year": "9" * 400}, 302),
        ({"date_joined__month": "1"}, 400),
        ({"date_joined__year": "2026", "date_joined__month": "11"}, 200),
        ({"is_staff__exact": "x" * 10_000}, 302),
        ({"groups__id__exact": "9" * 30}, 200),
        ({"groups__id__exact": "1"}, 200),
        ({"no_such": "1"}, 400),
    ],
    ids=lambda each: str(each)[:40],
)
def test_absurd_addresses_of_lists_are_answered(as_admin: Client, asked: dict[str, str], status: int) -> None:
    assert as_admin.get(reverse("admin:approvals_user_changelist"), asked).status_code == status


def test_what_completes_a_name_takes_no_more_than_a_list(as_admin: Client, alice: User) -> None:
    asked = {"app_label": "approvals", "model_name": "tutorship", "field_name": "owner"}
    complete = reverse("admin:autocomplete")
    found = as_admin.get(complete, asked | {"term": "ali"}).json()["results"]
    assert [each["text"] for each in found] == ["alice"]
    assert as_admin.get(complete, asked | {"term": "a" * 10_000}).status_code == 400
    assert (
        as_admin.get(complete, asked | {"term": "ali", "owner__feed_key__startswith": "x"}).json()["results"] == found
    )
