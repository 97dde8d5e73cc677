"""Signing in with a provider of OpenID Connect: a real one, with the claims of Keycloak and of Microsoft."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import oidc_provider_mock
import pytest
from django.test import Client
from django.utils import timezone

from approvals.models import AuditEvent, User
from memory_app.models import Change
from memory_app.reads import Block
from tests.approvals.accounts.conftest import PASSWORD
from tests.support.pages import words

PROVIDER = "login.school.example-realms-school"


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """A provider; its address."""
    with oidc_provider_mock.run_server_in_thread() as server:
        yield f"http://localhost:{server.server_port}"


@pytest.fixture(autouse=True)
def configured(settings: Any, provider: str) -> None:
    settings.OIDC_URL, settings.OIDC_NAME, settings.OIDC_PROVIDER = provider, "School", PROVIDER
    app: dict[str, Any] = {"provider_id": PROVIDER, "name": "School", "client_id": "assent", "secret": "s3cret"}
    app |= {"settings": {"server_url": provider}}
    settings.SOCIALACCOUNT_PROVIDERS = {"openid_connect": {"OAUTH_PKCE_ENABLED": True, "APPS": [app]}}
    settings.OIDC_DOMAINS = ["school.example"]


def keycloak(name: str = "alice", **more: Any) -> dict[str, Any]:
    """Return what Keycloak says of a person with the scopes `openid profile email`."""
    told = {
        "email": f"{name}@school.example",
        "email_verified": True,
        "preferred_username": name,
        "name": f"{name.title()} Example",
        "given_name": name.title(),
        "family_name": "Example",
        "groups": ["/students"],
        "acr": "1",
    }
    return told | more


def microsoft(name: str = "alice", **more: Any) -> dict[str, Any]:
    """Return what Entra ID says: addresses that nobody verified, a tenant, and a username that is an address."""
    told = {
        "email": f"{name}@school.example",
        "preferred_username": f"{name}@school.example",
        "name": f"{name.title()} Example",
        "tid": "72f988bf-86f1-41af-91ab-2d7cd011db47",
        "oid": "00000000-0000-0000-66f3-3332eca7ea81",
        "ver": "2.0",
    }
    return told | more


def signed_in(client: Client, provider: str, sub: str, claims: dict[str, Any], *, start: Any = None) -> Any:
    """Return the page a person comes to who signs in at the provider, which says this of them."""
    httpx.put(f"{provider}/users/{sub}", json=claims).raise_for_status()
    start = start or client.post("/sign-in/", {"provider": "1", "next": "/settings/"})
    assert start.status_code == 302
    back = httpx.post(start["Location"], data={"sub": sub})
    return client.get(back.headers["Location"])


def owner_of(client: Client) -> str:
    return str(User.objects.get(pk=client.session["_auth_user_id"]).username)


def test_the_first_sign_in_is_matched_by_a_verified_address_and_later_ones_by_issuer_and_subject(
    client: Client, provider: str, alice: User, ben: User
) -> None:
    User.objects.filter(pk=alice.pk).update(email="Alice@School.example")
    answer = signed_in(client, provider, "f:1", keycloak())
    assert (answer.status_code, answer["Location"], owner_of(client)) == (302, "/settings/", "alice")
    said = AuditEvent.objects.filter(owner="alice").order_by("pk").values_list("what", "detail")
    assert list(said) == [("provider_linked", f"{PROVIDER}: f:1"), ("signed_in", PROVIDER)]

    # Whatever the provider says of the same subject later: it is alice, and nobody else is.
    User.objects.filter(pk=ben.pk).update(email="ben@school.example")
    other = Client()
    signed_in(other, provider, "f:1", keycloak("ben", email_verified=False))
    assert owner_of(other) == "alice"
    third = Client()
    signed_in(third, provider, "f:2", keycloak("ben"))
    assert owner_of(third) == "ben"


def test_the_way_to_the_provider_has_pkce_and_the_page_may_lead_there(client: Client, provider: str) -> None:
    page = client.get("/sign-in/")
    assert "Sign in with School" in words(page)
    query = parse_qs(urlsplit(client.post("/sign-in/", {"provider": "1"})["Location"]).query)
    assert query["code_challenge_method"] == ["S256"]
    assert query["redirect_uri"] == [f"http://testserver/sign-in/with/oidc/{PROVIDER}/login/callback/"]
    assert set(query["scope"][0].split()) == {"openid", "profile", "email"}


@pytest.mark.parametrize("claims", [keycloak("nora"), microsoft("nora")])
def test_somebody_of_an_allowed_domain_becomes_a_person_named_as_at_the_provider(
    client: Client, provider: str, claims: dict[str, Any], settings: Any
) -> None:
    settings.OIDC_TRUST_MAIL = "tid" in claims
    signed_in(client, provider, "n-1", claims)
    nora = User.objects.get(pk=client.session["_auth_user_id"])
    assert (nora.username, nora.email, nora.has_usable_password()) == ("nora", "nora@school.example", False)
    assert not nora.is_staff


def test_a_username_of_the_history_is_nobody_elses(client: Client, provider: str, alice: User, goals: Block) -> None:
    Change.objects.update(owner="nora")
    assert "cannot be a username here" in words(signed_in(client, provider, "n-1", keycloak("nora")))


@pytest.mark.parametrize(
    ("claims", "said"),
    [
        (keycloak(email_verified=False), "did not say that your mail address is yours"),
        (keycloak(email=""), "did not say that your mail address is yours"),
        (microsoft(), "did not say that your mail address is yours"),
        (keycloak("tim"), "is not linked to this one yet. Sign in with your password once"),
        (keycloak("admin"), "is not linked to this one yet. Sign in with your password once"),
        (keycloak("twins"), "Several accounts here have your mail address"),
        (keycloak("gone"), "Your account here was deactivated"),
        (keycloak("mallory", email="mallory@evil.example"), "There is no account here with your mail address"),
        (keycloak("new", preferred_username="alice"), "cannot be a username here, or somebody has it"),
        (keycloak("new", preferred_username="ünsal"), "cannot be a username here, or somebody has it"),
    ],
)
def test_who_is_not_let_in_reads_why_and_what_to_do(
    client: Client, provider: str, claims: dict[str, Any], said: str, alice: User, ben: User, tim: User, admin: User
) -> None:
    for person in (alice, tim, admin):
        User.objects.filter(pk=person.pk).update(email=f"{person.username}@school.example")
    User.objects.filter(pk=tim.pk).update(last_login=timezone.now())  # and could have typed any address
    for username, is_active in (("twin-1", True), ("twin-2", True), ("gone", False)):
        User.objects.create(
            username=username, email=f"{username.partition('-')[0]}s@school.example", is_active=is_active
        )
    User.objects.filter(username="gone").update(email="gone@school.example")
    before = User.objects.count()
    answer = signed_in(client, provider, "x-1", claims)
    assert (answer.status_code, User.objects.count()) == (403, before)
    assert said in words(answer)
    assert "_auth_user_id" not in client.session
    assert AuditEvent.objects.get().what == AuditEvent.Act.SIGN_IN_FAILED


def test_an_address_that_a_person_has_proved_is_theirs_though_they_signed_in_before(
    client: Client, provider: str, tim: User
) -> None:
    mine = "tim@school.example"
    User.objects.filter(pk=tim.pk).update(email=mine, proved_email=mine, last_login=timezone.now())
    signed_in(client, provider, "t-1", keycloak("tim"))
    assert owner_of(client) == "tim"


def test_a_person_links_the_account_from_settings_and_one_of_another_is_not_taken(
    provider: str, alice_with_password: User, ben: User, admin: User
) -> None:
    client = Client()
    client.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    page = client.get("/sign-in/with/")
    assert "School" in words(page)
    at = f"/sign-in/with/oidc/{PROVIDER}/login/?process=connect"
    answer = signed_in(client, provider, "a-9", keycloak("whoever", email_verified=False), start=client.post(at))
    assert answer.status_code == 302
    other = Client()
    signed_in(other, provider, "a-9", {})
    assert owner_of(other) == "alice"
    taking = Client()
    taking.force_login(ben)
    signed_in(taking, provider, "a-9", {}, start=taking.post(at))
    third = Client()
    signed_in(third, provider, "a-9", {})
    assert owner_of(third) == "alice"


def test_somebody_linked_and_deactivated_since_is_told_so(client: Client, provider: str, alice: User) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@school.example")
    signed_in(Client(), provider, "d-1", keycloak())
    User.objects.filter(pk=alice.pk).update(is_active=False)
    answer = signed_in(client, provider, "d-1", keycloak())
    assert answer.status_code == 403
    assert "Your account here was deactivated" in words(answer)
    assert "_auth_user_id" not in client.session


def test_a_provider_that_is_away_or_refuses_is_a_page(client: Client, provider: str, settings: Any) -> None:
    start = client.post("/sign-in/", {"provider": "1"})
    state = parse_qs(urlsplit(start["Location"]).query)["state"][0]  # which this provider leaves out when it refuses
    back = httpx.post(start["Location"], data={"action": "deny"}).headers["Location"]
    denied = client.get(f"{back}&state={state}", follow=True)
    assert "You cancelled at the provider, or it refused" in words(denied)
    settings.SOCIALACCOUNT_PROVIDERS["openid_connect"]["APPS"][0]["settings"] = {"server_url": "http://127.0.0.1:9"}
    away = client.post("/sign-in/", {"provider": "1"})
    assert away.status_code == 401
    assert "School did not confirm who you are" in words(away)
    assert client.get(f"/sign-in/with/oidc/{PROVIDER}/login/callback/?code=x&state=forged").status_code == 401
    kinds = AuditEvent.objects.filter(what=AuditEvent.Act.SIGN_IN_FAILED).values_list("detail", flat=True)
    assert len(kinds) == 3
    assert all(detail.startswith(PROVIDER) for detail in kinds)


@pytest.mark.slow
def test_a_site_may_hide_the_passwords_of_all_but_admins(
    client: Client, alice_with_password: User, admin: User, settings: Any
) -> None:
    settings.LOCAL_SIGN_IN = False
    page = client.get("/sign-in/")
    assert 'name="password"' not in page.content.decode()
    assert 'name="password"' in client.get("/sign-in/?password").content.decode()
    answer = client.post("/sign-in/", {"username": "alice", "password": PASSWORD})
    assert answer.status_code == 422
    assert "Sign in with School." in words(answer)
    admin.set_password(PASSWORD)
    admin.save()
    assert client.post("/sign-in/", {"username": "admin", "password": PASSWORD}).status_code == 302


def test_what_was_typed_while_signed_out_survives_the_way_over_the_provider(
    client: Client, provider: str, alice: User
) -> None:
    User.objects.filter(pk=alice.pk).update(email="alice@school.example")
    asked = client.post("/settings/", {"first_name": "Typed"})
    kept = asked.context["kept"]
    start = client.post(
        "/sign-in/and-go-on/", {"provider": "1", "kept": kept, "next": "/settings/", "time_zone": "Europe/Berlin"}
    )
    answer = signed_in(client, provider, "k-1", keycloak(), start=start)
    assert answer["Location"] == "/settings/"
    assert 'value="Typed"' in client.get("/settings/").content.decode()
    alice.refresh_from_db()
    assert alice.time_zone == "Europe/Berlin"


@pytest.mark.parametrize(
    ("seen", "is_enough"), [({"amr": ["pwd", "mfa"]}, True), ({"amr": ["pwd"]}, False), ({}, False)]
)
def test_the_providers_second_factor_counts_where_the_site_says_so(
    client: Client, provider: str, admin: User, settings: Any, seen: dict[str, Any], is_enough: bool
) -> None:
    settings.SECOND_FACTOR_REQUIRED, settings.OIDC_SECOND_FACTOR = True, ["mfa"]
    User.objects.filter(pk=admin.pk).update(is_staff=False, email="admin@school.example")
    signed_in(Client(), provider, "s-1", keycloak("admin"))
    User.objects.filter(pk=admin.pk).update(is_staff=True)
    signed_in(client, provider, "s-1", keycloak("admin", **seen))
    assert (client.get("/admin/").status_code == 200) is is_enough
