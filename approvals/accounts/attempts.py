"""How often a person may try to sign in, and ask for mails that reset a password.

A window of a quarter of an hour begins with the first attempt. Over the limit the right password is refused too: an
answer that told it apart would go on answering guesses. The limit is for one name from one address, so that no stranger
locks a person out from elsewhere. Where attempts cannot be counted, none is answered: RedisError is passed on.
"""

from __future__ import annotations

import hashlib
import ipaddress
import unicodedata
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest

from memory_app.runtime import rate_limit

WINDOW = timedelta(minutes=15)

#: Times the limit of one name: the attempts of one address for all names. Room for a class behind one address; too few
#: to try one password on every person.
_NAMES = 10


class AttemptLimiter:
    """The attempts for one name from one address (`SIGN_IN_LIMIT`), and all attempts from this address."""

    def __init__(self, what: str, request: HttpRequest, name: str) -> None:
        # As Django reads a name when it signs in: `ａlice` is alice.
        same = unicodedata.normalize("NFKC", name).strip().lower()
        address = client_address(request)
        self._of_address = _key(what, address)
        self._of_name = _key(what, f"{same}\n{address}")

    def hit(self) -> bool:
        """Count an attempt; return whether it exceeds the limit."""
        limit: int = settings.SIGN_IN_LIMIT
        # The address first: one that is stopped cannot fill the cache with names.
        return rate_limit.hit(self._of_address, limit * _NAMES, WINDOW) or rate_limit.hit(self._of_name, limit, WINDOW)

    def forget(self) -> None:
        """Reset the count of the name, and take this attempt off that of the address."""
        rate_limit.reset(self._of_name)
        rate_limit.take_back(self._of_address)


def _key(what: str, who: str) -> str:
    # Hashed: a cache key may be neither long nor hold spaces, and a name may be both.
    return f"{what}:{hashlib.sha256(who.encode(errors='replace')).hexdigest()}"


def client_address(request: HttpRequest) -> str:
    """Return where the request comes from, as the outermost of the trusted proxies saw it.

    Of an IPv6 address the network, since one customer has all of its addresses.
    """
    address: str = request.META.get("REMOTE_ADDR", "")
    proxies: int = settings.TRUSTED_PROXIES
    forwarded = request.headers.get("X-Forwarded-For", "").split(",")
    if proxies and forwarded != [""]:
        address = forwarded[-min(proxies, len(forwarded))].strip()
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))


__all__ = ["WINDOW", "AttemptLimiter", "client_address"]
