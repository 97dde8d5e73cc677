"""Handing one message over: real sockets, receivers that do what they should not, and names that change."""

import socket
import subprocess
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_network
from pathlib import Path

import pytest

from agent_tools.webhooks import transport
from tests.support.receiver import Answer, Receiver, drip, flood, hang, hang_up, receiver

pytestmark = pytest.mark.pure

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


@pytest.mark.parametrize("status", [200, 299, 400, 410, 500, 503])
def test_any_2xx_is_acceptance_and_any_other_answer_a_failure_with_its_status(there: Receiver, status: int) -> None:
    there.status = status
    outcome = post(there.url)
    error = "" if status < 300 else "refused"
    assert (outcome.status, outcome.error, outcome.retry_after) == (status, error, None)


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


def test_it_says_how_long_it_is_asked_to_wait(there: Receiver) -> None:
    for status, seconds in ((429, 120), (503, 120), (500, None)):
        there.status, there.headers = status, {"Retry-After": "120"}
        wait = post(there.url).retry_after
        assert (wait and wait.total_seconds()) == seconds


@pytest.mark.slow
@pytest.mark.parametrize("misbehave", [hang, drip])
def test_one_that_hangs_or_drips_is_cut(there: Receiver, misbehave: Answer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "TOTAL", 1.0)
    there.answer = misbehave
    began = time.monotonic()
    outcome = post(there.url)
    assert outcome.error == "timed_out"
    assert time.monotonic() - began < 2


def test_an_answer_without_end_is_not_read_to_it(there: Receiver) -> None:
    there.answer = flood
    outcome = post(there.url)
    assert (outcome.status, outcome.error) == (200, "")
    assert outcome.milliseconds < 5_000


def test_a_connection_that_ends_without_an_answer_is_a_failure(there: Receiver) -> None:
    there.answer = hang_up
    assert post(there.url).error == "broken_off"


def speak_smtp(handler: BaseHTTPRequestHandler) -> None:
    handler.wfile.write(b"220 mail.example.org ESMTP\r\n" * 10)


def test_what_does_not_speak_http_is_a_failure(there: Receiver) -> None:
    there.answer = speak_smtp
    assert post(there.url).error == "broken_off"


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
