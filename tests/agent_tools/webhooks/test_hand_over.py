"""Handing one message over: its signature, the addresses it may go to, and receivers that do what they should not."""

import base64
import os
import runpy
import socket
import subprocess
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tools.webhooks import signing, transport
from agent_tools.webhooks.addresses import AddressInvalid, check_url, may_connect
from tests.docs.documents import ROOT, documents
from tests.support.receiver import Answer, Receiver, at_work, drip, flood, hang, hang_up, receiver

pytestmark = pytest.mark.pure


# -- its signature --------------------------------------------------------------------------------


def test_a_signature_is_that_of_the_specification() -> None:
    """Its example, whose signature every library of the specification's own tests."""
    signature = signing.sign(
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        message_id="msg_p5jXN8AQM9LWM0D4loKWxJek",
        timestamp=1614265330,
        body='{"test": 2432232314}',
    )
    assert signature == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_secrets_are_random_and_as_long_as_the_specification_asks() -> None:
    made = {signing.make_secret() for _ in range(50)}
    assert len(made) == 50
    for secret in made:
        assert secret.startswith("whsec_")
        assert 24 <= len(base64.b64decode(secret.removeprefix("whsec_"), validate=True)) <= 64


def test_each_secret_that_is_good_signs_the_newest_first() -> None:
    old, new = signing.make_secret(), signing.make_secret()
    at = datetime(2026, 3, 1, tzinfo=UTC)
    found = signing.headers([new, old], message_id="msg_1", at=at, body="{}")
    stamp = int(at.timestamp())
    assert found == {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(stamp),
        "webhook-signature": " ".join(
            signing.sign(each, message_id="msg_1", timestamp=stamp, body="{}") for each in (new, old)
        ),
    }


def test_the_shell_commands_of_the_documents_sign_as_we_do(tmp_path: Path) -> None:
    (document,) = (each for each in documents() if each.name == "docs/webhooks.md")
    command = next(fence for fence in document.fences("sh") if "openssl" in fence)
    secret, body = signing.make_secret(), '{"type":"proposal.approved","data":{"agent":"scribe"}}'
    ours = signing.sign(secret, message_id="msg_1", timestamp=1_795_463_773, body=body)
    variables = {"SECRET": secret, "ID": "msg_1", "TIMESTAMP": "1795463773", "BODY": body}
    done = subprocess.run(
        ["sh", "-c", command], env=os.environ | variables, check=True, capture_output=True, text=True, cwd=tmp_path
    )
    assert f"v1,{done.stdout.strip()}" == ours


def test_the_receiver_of_the_documents_takes_each_message_once_and_refuses_a_forged_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    defined = runpy.run_path(str(ROOT / "examples" / "webhook_receiver.py"))
    secret, body = (
        signing.make_secret(),
        ('{"type":"webhook.test","timestamp":"2026-11-23T19:56:11.021Z","data":{"agent":"scribe"}}'),
    )
    monkeypatch.setenv("WEBHOOK_SECRET", secret)
    good = signing.headers([secret], message_id="msg_1", at=datetime.now(UTC), body=body)
    forged = signing.headers([signing.make_secret()], message_id="msg_2", at=datetime.now(UTC), body=body)
    with HTTPServer(("127.0.0.1", 0), defined["Receiver"]) as server, at_work(server):
        url = f"http://127.0.0.1:{server.server_port}/"
        answers = [httpx2.post(url, content=body, headers=headers).status_code for headers in (good, good, forged)]
    assert answers == [204, 204, 400]
    assert capsys.readouterr().out == "webhook.test {'agent': 'scribe'}\n"


# -- the addresses it may go to -------------------------------------------------------------------

PRIVATE = """
0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 100.100.100.200 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1
172.31.255.255 192.0.0.192 192.0.2.1 192.168.1.1 192.88.99.1 198.18.0.1 198.19.255.255 198.51.100.7 203.0.113.9
224.0.0.1 239.255.255.255 240.0.0.1 255.255.255.255 168.63.129.16
:: ::1 ::127.0.0.1 ::ffff:127.0.0.1 ::ffff:8.8.8.8 ::ffff:0:127.0.0.1 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::1
100::1 2001::1 2001:0:7f00:1:: 2001:db8::1 2002:7f00:1:: 2002:808:808::1 3fff::1 fc00::1 fd00:ec2::254 fe80::1
fe80::1%1 fec0::1 ff02::1 5f00::1 4000::1
""".split()

PUBLIC = "1.1.1.1 8.8.8.8 9.255.255.255 11.0.0.1 100.63.0.1 100.128.0.1 126.0.0.1 128.0.0.1 169.253.1.1".split()
PUBLIC += (
    "172.15.0.1 172.32.0.1 192.167.0.1 198.17.0.1 223.255.255.255 2606:4700::1111 2a00:1450::1 2001:4860::8".split()
)


@pytest.mark.parametrize("address", PRIVATE)
def test_a_connection_to_what_is_no_public_host_is_refused(address: str) -> None:
    assert not may_connect(ip_address(address), secure=True)


@pytest.mark.parametrize("address", PUBLIC)
def test_a_connection_to_a_public_host_is_let_through_with_tls_only(address: str) -> None:
    assert may_connect(ip_address(address), secure=True)
    assert not may_connect(ip_address(address), secure=False)


@given(st.ip_addresses())
def test_nothing_goes_where_python_too_says_that_it_is_not_global(address: IPv4Address | IPv6Address) -> None:
    if may_connect(address, secure=True):
        assert address.is_global
        assert not address.is_multicast


def test_an_installation_may_let_its_own_network_be_reached_and_no_other() -> None:
    own = [ip_network("10.1.0.0/16"), ip_network("fd00::/8")]
    assert may_connect(ip_address("10.1.2.3"), secure=False, allowed=own)
    assert may_connect(ip_address("fd00::1"), secure=True, allowed=own)
    assert not may_connect(ip_address("10.2.0.1"), secure=True, allowed=own)
    assert not may_connect(ip_address("::ffff:10.1.2.3"), secure=True, allowed=own)


REFUSED = {
    "http://example.org/": "https",
    "ftp://example.org/": "https",
    "example.org/hook": "https",
    "//example.org/": "https",
    "javascript:alert(1)": "https",
    "https://": "no host",
    "https:///hook": "no host",
    "https://example.org:0/": "port 0",
    "https://user:pass@example.org/": "password",
    "https://user@example.org/": "password",
    "https://@example.org/": "password",
    "https://example.org:22/": "port",
    "https://example.org:80/": "port",
    "https://example.org:99999/": "malformed",
    "https://example.org:https/": "malformed",
    "https://[::1/": "malformed",
    "https://example.org/#x": "#",
    "https://example.org/a b": "spaces",
    "https://example.org/\r\nHost: x": "spaces",
    "https://example.org\\@127.0.0.1/": "spaces",
    "https://exämple.org/": "ASCII",
    "https://localhost/": "internet",
    "https://127.0.0.1/": "private",
    "https://[::1]:8443/": "private",
    "https://169.254.169.254/latest/": "private",
    "https://[::ffff:10.0.0.1]/": "private",
    "https://example.org/" + "x" * 500: "longer",
}


@pytest.mark.parametrize("url", REFUSED, ids=lambda url: url[:40])
def test_an_address_that_cannot_be_used_is_refused_with_the_reason(url: str) -> None:
    with pytest.raises(AddressInvalid) as refused:
        check_url(url)
    assert REFUSED[url] in str(refused.value)


@pytest.mark.parametrize(
    "url",
    [
        "https://example.org",
        "https://EXAMPLE.org./hook?a=b%20c",
        "https://example.org:8443/",
        "https://xn--exmple-cua.org:1024/",
        "https://8.8.8.8/",
        "https://[2606:4700::1111]/",
    ],
)
def test_an_address_on_the_internet_is_taken(url: str) -> None:
    check_url(url)


def test_http_is_taken_where_the_installation_names_networks_of_its_own() -> None:
    own = [ip_network("127.0.0.0/8")]
    check_url("http://127.0.0.1:8000/", allowed=own)
    check_url("http://localhost/", allowed=own)
    with pytest.raises(AddressInvalid, match="private"):
        check_url("http://10.0.0.1/", allowed=own)


# -- receivers ------------------------------------------------------------------------------------

LOOPBACK = [ip_network("127.0.0.0/8")]


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver() as server:
        yield server


def post(url: str, **more: object) -> transport.AttemptOutcome:
    return transport.post(url, {"webhook-id": "msg_1"}, '{"a":1}', **{"allowed": LOOPBACK} | more)


def test_what_was_accepted_was_sent_once_as_json(there: Receiver) -> None:
    outcome = post(f"{there.url}?key=a%20b")
    assert (outcome.status, outcome.error) == (204, "")
    (one,) = there.received
    assert (one.path, one.body, one.id) == ("/hook?key=a%20b", '{"a":1}', "msg_1")
    assert one.headers["content-type"] == "application/json"
    assert one.headers["host"] == f"127.0.0.1:{there.port}"


@pytest.mark.parametrize(
    ("status", "error", "seconds"),
    [
        (200, "", None),
        (299, "", None),
        (400, "refused", None),
        (410, "refused", None),
        (429, "refused", 120),
        (500, "refused", None),
        (503, "refused", 120),
    ],
)
def test_any_2xx_is_acceptance_and_any_other_answer_a_failure_which_may_ask_for_time(
    there: Receiver, status: int, error: str, seconds: int | None
) -> None:
    there.status, there.headers = status, {"Retry-After": "120"}
    outcome = post(there.url)
    assert (outcome.status, outcome.error) == (status, error)
    assert outcome.retry_after == (timedelta(seconds=seconds) if seconds else None)


def test_a_redirect_is_not_followed(there: Receiver) -> None:
    with receiver() as elsewhere:
        for status in (301, 302, 303, 307, 308):
            there.status, there.headers = status, {"Location": elsewhere.url}
            assert post(there.url).error == "redirected"
        assert elsewhere.received == []
    assert len(there.received) == 5


def test_a_proxy_of_the_environment_is_not_used(there: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert post(there.url).is_accepted


def speak_smtp(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"220 mail.example.org ESMTP\r\n" * 10)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("misbehave", "error"),
    [(hang, "timed_out"), (drip, "timed_out"), (hang_up, "broken_off"), (speak_smtp, "broken_off")],
)
def test_what_is_no_answer_in_time_is_a_failure(
    there: Receiver, misbehave: Answer, error: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "TOTAL", 1.0)
    there.answer = misbehave
    began = time.monotonic()
    assert post(there.url).error == error
    assert time.monotonic() - began < 2


def test_an_answer_without_end_is_not_read_to_it(there: Receiver) -> None:
    there.answer = flood
    outcome = post(there.url)
    assert (outcome.status, outcome.error) == (200, "")
    assert outcome.milliseconds < 5_000


def test_a_port_nobody_listens_at_is_a_failure() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    assert post(f"http://127.0.0.1:{port}/").error == "cannot_connect"


# -- where the connection goes --------------------------------------------------------------------


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1", "2130706433", "0x7f.1", "localhost", "0"])
def test_this_machine_is_not_reached_however_it_is_written(there: Receiver, host: str) -> None:
    for scheme in ("http", "https"):
        assert post(f"{scheme}://{host}:{there.port}/", allowed=[]).error == "address_refused"
    assert there.received == []


@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1", "169.254.169.254", "10.0.0.1", "fe80::1%1"])
def test_a_name_that_resolves_to_a_private_address_is_refused(there: Receiver, address: str) -> None:
    outcome = post(f"https://hooks.example:{there.port}/", allowed=[], resolve=lambda host, port: [address])
    assert outcome.error == "address_refused"
    assert there.received == []


def test_a_name_that_resolves_to_loopback_on_the_second_look_is_asked_once(there: Receiver) -> None:
    """A name that a checker would find public, and a client that resolves it again would find to be this machine."""
    asked: list[str] = []

    def changing(host: str, port: int) -> list[str]:
        asked.append(host)
        return ["127.0.0.7"] if len(asked) == 1 else ["127.0.0.1"]

    allowed = [ip_network("127.0.0.7/32")]
    outcome = post(f"http://hooks.example:{there.port}/", allowed=allowed, resolve=changing)
    # Nobody listens at the first address, which was checked; what the name has become is not looked at.
    assert (asked, outcome.error) == (["hooks.example"], "cannot_connect")
    assert there.received == []
    assert post(f"http://hooks.example:{there.port}/", allowed=allowed, resolve=changing).error == "address_refused"


def test_of_several_addresses_only_those_that_may_be_reached_are_tried(there: Receiver) -> None:
    names = ["10.255.255.1", "127.0.0.9", "127.0.0.1"]
    outcome = post(f"http://hooks.example:{there.port}/", resolve=lambda host, port: names)
    assert outcome.is_accepted
    assert there.received[0].headers["host"] == f"hooks.example:{there.port}"


def test_a_name_without_an_address_is_said_so(there: Receiver) -> None:
    def unknown(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "unknown")

    def empty(host: str, port: int) -> list[str]:
        return []

    for names in (unknown, empty):
        assert post(f"http://hooks.example:{there.port}/", resolve=names).error == "name_not_found"
    assert post(f"http://{'x' * 70}.example:{there.port}/").error == "name_not_found"


# -- TLS ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Key and certificate of hooks.example, in one file."""
    folder = tmp_path_factory.mktemp("tls")
    key, issued = folder / "key.pem", folder / "certificate.pem"
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=hooks.example"
    )
    extra = ["-addext", "subjectAltName=DNS:hooks.example", "-keyout", str(key), "-out", str(issued)]
    subprocess.run([*command.split(), *extra], check=True, capture_output=True)
    both = folder / "both.pem"
    both.write_text(key.read_text() + issued.read_text())
    return both


def test_over_tls_it_is_the_name_that_is_checked_not_the_address(
    certificate: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = lambda host, port: ["127.0.0.1"]  # noqa: E731
    transport._trust.cache_clear()
    try:
        with receiver(str(certificate)) as server:
            url = f"https://hooks.example:{server.port}/hook"
            assert post(url, resolve=here).error == "tls_failed"  # nobody vouches for it
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            transport._trust.cache_clear()
            assert post(url, resolve=here).is_accepted
            assert server.received[0].headers["host"] == f"hooks.example:{server.port}"
            assert post(url.replace("hooks", "other"), resolve=here).error == "tls_failed"
    finally:
        transport._trust.cache_clear()
