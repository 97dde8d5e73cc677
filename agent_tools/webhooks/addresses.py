"""Which addresses a webhook may have, and which a connection may go to. No network here.

A name is checked twice: as it is typed (`check_url`), and once it is resolved, where the connection is made
(`may_connect`). Only the second decides: what a name resolves to is anybody's choice.
"""

from collections.abc import Iterable
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

Network = IPv4Network | IPv6Network

LONGEST = 500
#: Ports below this one are those of other services, 443 aside.
_FIRST_OPEN_PORT = 1024

#: What is not one host somewhere on the internet: IANA's special-purpose registries. Python's `is_global` differs
#: between its patch releases, so they are listed.
_REFUSED = tuple(
    ip_network(each)
    for each in """
    0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24
    192.31.196.0/24 192.52.193.0/24 192.88.99.0/24 192.168.0.0/16 192.175.48.0/24 198.18.0.0/15 198.51.100.0/24
    203.0.113.0/24 224.0.0.0/3 168.63.129.16/32
    2001::/23 2001:db8::/32 2002::/16 3fff::/20 2620:4f:8000::/48
    """.split()
)
#: Every other IPv6 address is reserved, local, or has an IPv4 address inside (mapped, NAT64).
_GLOBAL_IPV6 = IPv6Network("2000::/3")


class AddressInvalid(Exception):
    """The address cannot be used; its text says why, in a sentence for whoever typed it."""


def check_url(url: str, *, allowed: Iterable[Network] = ()) -> None:
    """Check the address of a webhook.

    Args:
        allowed: the installation's own networks; with any, http is taken too, and refused while connecting elsewhere.

    Raises:
        AddressInvalid: it is none that a webhook may have.
    """
    allowed = tuple(allowed)
    if len(url) > LONGEST:
        raise AddressInvalid(f"It is longer than {LONGEST} characters.")
    if not url.isascii() or any(each <= " " or each in '\\"<>^`{|}\x7f' for each in url):
        raise AddressInvalid(
            "Write it without spaces and with ASCII characters only: others as %-codes, hosts as xn--…."
        )
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").rstrip("."), parts.port
    except ValueError:
        raise AddressInvalid("Its host or port is malformed.") from None
    is_secure = parts.scheme == "https"
    if not is_secure and not (parts.scheme == "http" and allowed):
        raise AddressInvalid("It has to begin with https://.")
    if not host or port == 0:
        raise AddressInvalid("It has no host, or port 0.")
    if parts.username is not None or parts.password is not None:
        raise AddressInvalid("It must not contain a name or password. Messages are signed instead.")
    if "#" in url:
        raise AddressInvalid("It must not contain a # part.")
    if port is not None and port < _FIRST_OPEN_PORT and port != (443 if is_secure else 80):
        raise AddressInvalid("Its port has to be 443, or 1024 and above.")
    try:
        literal = ip_address(host)
    except ValueError:
        if host == "localhost" and not allowed:
            raise AddressInvalid("It has to be an address on the internet, not one of this machine.") from None
    else:
        if not may_connect(literal, secure=is_secure, allowed=allowed):
            raise AddressInvalid("It has to be an address on the internet, not one of a private network.")


def may_connect(address: IPv4Address | IPv6Address, *, secure: bool, allowed: Iterable[Network] = ()) -> bool:
    """Whether a message may be sent to this address.

    Args:
        secure: over TLS; without it only to one of the `allowed` networks.
        allowed: networks of the installation's own, whatever they are otherwise.
    """
    if any(address.version == network.version and address in network for network in allowed):
        return True
    if not secure:
        return False
    if isinstance(address, IPv6Address) and (address not in _GLOBAL_IPV6 or address.scope_id):
        return False
    return not any(address.version == network.version and address in network for network in _REFUSED)
