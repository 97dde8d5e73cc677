"""Which addresses a webhook may have, and which a connection may go to."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tools.webhooks.addresses import AddressInvalid, check_url, may_connect

pytestmark = pytest.mark.pure

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
    assert REFUSED[url] in refused.value.reason


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
