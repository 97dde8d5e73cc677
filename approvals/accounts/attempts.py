"""How often somebody may try: signing in, and asking for mails that reset a password.

Counted in the cache, in windows of a quarter of an hour that begin with the first try. The right password is
refused too once there were too many: an answer that still told it apart would go on answering guesses. That
holds for one name from one address, so nobody locks a person out from elsewhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import ipaddress
import unicodedata
from datetime import timedelta

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest

WINDOW = timedelta(minutes=15)

#: Times the limit of one name: the tries of one address for all names. Room for a class behind one address;
#: too little for trying one password on everybody.
_NAMES = 10


class AttemptLimiter:
    """The tries for one name from one address (`SIGN_IN_LIMIT`), and all those from this address."""

    def __init__(self, what: str, request: HttpRequest, name: str) -> None:
        # As Django reads a name when it signs in: `ａlice` is alice.
        same = unicodedata.normalize("NFKC", name).strip().lower()
        address = _address(request)
        self._of_address = _key(what, address)
        self._of_name = _key(what, f"{same}\n{address}")

    def hit(self) -> bool:
        """Count an attempt; return whether it exceeds the limit."""
        limit: int = settings.SIGN_IN_LIMIT
        # The address first: one that is stopped cannot fill the cache with names.
        return _count(self._of_address) > limit * _NAMES or _count(self._of_name) > limit

    def forget(self) -> None:
        """The last try was right: the name starts anew, the address loses this one try."""
        cache.delete(self._of_name)
        with contextlib.suppress(ValueError):  # it ran out meanwhile
            cache.decr(self._of_address)


def _key(what: str, who: str) -> str:
    # Hashed: a cache key may be neither long nor hold spaces, and a name may be both.
    return f"{what}:{hashlib.sha256(who.encode(errors='replace')).hexdigest()}"


def _count(key: str) -> int:
    cache.add(key, 0, timeout=int(WINDOW.total_seconds()))
    try:
        return cache.incr(key)
    except ValueError:  # it ran out between the two calls
        return 1


def _address(request: HttpRequest) -> str:
    """Where the request comes from: what the outermost of the trusted proxies saw. Of IPv6 the network, since
    one customer has all of its addresses."""
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


__all__ = ["WINDOW", "AttemptLimiter"]
