"""What is done to a site while its clients work. Each fault ends healed: everything runs, nothing is held."""

import contextlib
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from urllib.parse import urlparse

from tests.torture.site import Site

#: Seconds that a service hangs, a disk is full and slow clients hold on.
HANGS = 15.0
FULL = 12.0
SLOW = 15.0

_HALF_A_BODY = (
    b"POST /sign-in/ HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\na="
)


@dataclass(frozen=True)
class Fault:
    """A name for the table, and what to do; the site is healed when it returns."""

    kind: str
    name: str
    do: Callable[[Site, random.Random], None]


def faults_of(site: Site, wanted: list[str]) -> list[Fault]:
    """Every fault of these kinds, or of these names, that this edition can have, each once."""
    found = [Fault("kill", f"kill -9 {name}", partial(_kill, name)) for name in site.names]
    found += [
        Fault("kill", "kill -9 web's worker", lambda site, rng: site.kill_children("web")),
        Fault("kill", "kill -9 web at start", _kill_at_start),
    ]
    hanging = [name for name in site.names if name != "beat"]
    found += [Fault("hang", f"{name} hangs {HANGS:.0f} s", partial(_hang, name)) for name in hanging]
    if site.is_full_disk_possible:
        found.append(Fault("disk", f"disk full {FULL:.0f} s", _fill_disk))
    found += [Fault("slow", f"{count} slow clients", partial(_slow_clients, count)) for count in (8, 200)]
    chosen = [fault for fault in found if {fault.kind, fault.name} & set(wanted)]
    if unknown := set(wanted) - {name for fault in found for name in (fault.kind, fault.name)} - {"disk"}:
        raise SystemExit(f"There are no faults called {', '.join(sorted(unknown))}.")
    return chosen


def in_turns(some: list[Fault], rng: random.Random) -> list[Fault]:
    """In an order of chance, one of each kind before a second one of any: short runs see all kinds."""
    turn: Counter[str] = Counter()
    keyed = []
    for fault in rng.sample(some, len(some)):
        turn[fault.kind] += 1
        keyed.append((turn[fault.kind], fault))
    return [fault for _, fault in sorted(keyed, key=lambda pair: pair[0])]


def _kill(name: str, site: Site, rng: random.Random) -> None:
    site.kill(name)
    time.sleep(rng.uniform(0, 1))
    site.restart(name)


def _kill_at_start(site: Site, rng: random.Random) -> None:
    """Twice in a row, at any moment of starting: recovery itself is interrupted, and begins again."""
    for _ in range(2):
        site.kill("web")
        site.services.begin("web")
        time.sleep(rng.uniform(0.3, 4))
    site.kill("web")
    site.restart("web")


def _hang(name: str, site: Site, rng: random.Random) -> None:
    with site.stopped(name):
        time.sleep(HANGS)


def _fill_disk(site: Site, rng: random.Random) -> None:
    with site.full_disk():
        time.sleep(FULL)


def _slow_clients(count: int, site: Site, rng: random.Random) -> None:
    at = urlparse(site.addresses[0])
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            with contextlib.suppress(OSError):
                client = socket.create_connection((str(at.hostname), int(at.port or 80)), timeout=2)
                stack.enter_context(client)
                client.sendall(_HALF_A_BODY)
        time.sleep(SLOW)


@contextlib.contextmanager
def watched(site: Site) -> Iterator[Callable[[], float]]:
    """Ask `/healthz` twice a second meanwhile; afterwards, the longest time in seconds without an answer."""
    longest, since = 0.0, time.monotonic()
    ended = threading.Event()

    def watch() -> None:
        nonlocal longest, since
        while not ended.wait(0.5):
            if site.answers("/healthz", timeout=2):
                longest, since = max(longest, time.monotonic() - since), time.monotonic()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield lambda: longest
    finally:
        ended.set()
        thread.join()
        longest = max(longest, time.monotonic() - since)
