"""A passkey, made and used in a real browser whose authenticator is a virtual one."""

import pytest
from allauth.mfa.models import Authenticator
from playwright.sync_api import Browser, Page, expect

from approvals.models import AuditEvent, User
from tests.conftest import CHROMIUM, find_chromium
from tests.end_to_end.conftest import PASSWORD, Server, give_password

pytestmark = [pytest.mark.slow, pytest.mark.one_leg]


@pytest.fixture(scope="module")
def chromium() -> str:
    return find_chromium(CHROMIUM)


@pytest.fixture
def window(browser: Browser, server: Server) -> Page:
    """A window of a browser with an authenticator that knows its person. Browsers give passkeys to names alone."""
    context = browser.new_context(base_url=server.url.replace("127.0.0.1", "localhost"))
    window = context.new_page()
    window.set_default_timeout(15_000)
    devtools = context.new_cdp_session(window)
    devtools.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True}
    options |= {"isUserVerified": True, "automaticPresenceSimulation": True}
    devtools.send("WebAuthn.addVirtualAuthenticator", {"options": options})
    return window


def _sign_in(window: Page, name: str) -> None:
    window.goto("/sign-in/")
    window.fill("[name=username]", name)
    window.fill("[name=password]", PASSWORD)
    window.press("[name=password]", "Enter")


def test_a_passkey_signs_in_alone_and_is_the_second_factor_of_a_password(window: Page, alice: User) -> None:
    complaints: list[str] = []
    window.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    give_password(alice)
    _sign_in(window, "alice")
    window.goto("/settings/second-factor/webauthn/add/")
    window.fill("[name=name]", "This laptop")
    window.check("[name=passwordless]")
    window.click("#mfa_webauthn_add")
    expect(window).to_have_url("/settings/second-factor/recovery-codes/")
    assert Authenticator.objects.filter(user=alice, type="webauthn").count() == 1

    window.context.clear_cookies()
    window.goto("/sign-in/?next=/settings/")
    window.click("#passkey_login")
    expect(window).to_have_url("/settings/")

    window.context.clear_cookies()
    _sign_in(window, "alice")
    expect(window).to_have_url("/settings/second-factor/authenticate/")
    window.click("#mfa_webauthn_authenticate")
    expect(window).to_have_url("/")
    ways = AuditEvent.objects.filter(what=AuditEvent.Act.SIGNED_IN).order_by("pk").values_list("detail", flat=True)
    assert list(ways) == ["password", "webauthn", "password, webauthn"]
    assert complaints == []
