"""What a call costs each process of the server edition: `python -m benchmarks.capacity [--clients 8] [--seconds 60]`.

Clients call the agent API in the mix of a tutored class (`MIX`), and the processor time of web server, worker, Dolt,
PostgreSQL and Redis is read from /proc before and after. The constants of "How much one machine carries" in
docs/several-machines.md come from it. On a busy machine walls are long and processor times are some tenths too high.
"""

import argparse
import os
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.torture.load import ANCHOR, LABELS, WITH_BLOCKS, others_of
from tests.torture.site import Site, descendants

#: Of a hundred calls; each `propose` is followed by a `withdraw`, so that no more wait with time.
MIX = {
    "memory_search": 35,
    "read_memory_block": 25,
    "memory_save": 15,
    "propose": 10,
    "prime_memories": 10,
    "recall": 5,
}
OWNERS, NOTES = 40, 100
WARM_UP = 15.0
_TICK = os.sysconf("SC_CLK_TCK")
_WORDS = "algebra exam piano tired swims homework essay quiet mornings chess violin maths fractions friend walk".split()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clients", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="assent-capacity-", dir="/tmp", ignore_cleanup_errors=True) as kept:
        Path(kept).chmod(0o711)  # PostgreSQL runs as another user when we are root
        folder = Path(kept) / "site"
        folder.mkdir()
        site = Site("server", folder, is_full_disk_possible=False)
        try:
            site.start()
            tokens = [*site.inside("prepare", "1", str(min(OWNERS, WITH_BLOCKS) + 1)).values()]
            _measure(site, tokens, options.clients, options.seconds)
        finally:
            site.services.stop()


def _measure(site: Site, tokens: list[str], clients: int, seconds: float) -> None:
    owners = others_of(OWNERS + 1)
    for owner in owners:
        _fill(site, tokens[0], owner)
    calls: Counter[str] = Counter()
    ended = threading.Event()
    threads = [
        threading.Thread(target=_client, args=(site, tokens[number % len(tokens)], random.Random(number), calls, ended))
        for number in range(clients)
    ]
    for each in threads:
        each.start()
    time.sleep(WARM_UP)
    calls.clear()
    before, began = _processor(site), time.monotonic()
    time.sleep(seconds)
    spent, took = _processor(site), time.monotonic() - began
    done = Counter(calls)
    ended.set()
    for each in threads:
        each.join()
    total = sum(count for name, count in done.items() if not name.startswith("!"))
    print(f"{clients} clients, {took:.0f} s: {total} calls, {total / took:.1f} a second, {dict(done)}")
    for name in site.names:
        print(f"  {name:<10}{(spent[name] - before[name]) * 1000 / total:6.1f} ms of the processor a call")
    everything = sum(spent.values()) - sum(before.values())
    print(f"  {'all':<10}{everything * 1000 / total:6.1f} ms; {everything / took:.2f} cores")


def _fill(site: Site, token: str, owner: str) -> None:
    rng = random.Random(owner)
    file = "# Memories\n\n## Notes\n\n" + "\n".join(
        f"### mem-{rng.randrange(10**12):012d}-{number:04d}\n> She {' '.join(rng.sample(_WORDS, 6))} on day {number}.\n"
        "<!-- tags: | created: 2025-01-20 -->\n"
        for number in range(NOTES)
    )
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "text/markdown"}
    address = f"{site.addresses[0]}/api/v1/users/{owner}/memories.md"
    httpx.post(address, content=file, headers=headers, timeout=120).raise_for_status()


def _client(site: Site, token: str, rng: random.Random, calls: Counter[str], ended: threading.Event) -> None:
    names, weights = list(MIX), list(MIX.values())
    with httpx.Client(base_url=site.addresses[0], headers={"Authorization": f"Bearer {token}"}, timeout=60) as http:

        def call(path: str, body: dict[str, object]) -> httpx.Response:
            answer = http.post(path, json=body)
            name = path.rstrip("/").rpartition("/")[2]
            calls[name if answer.status_code == 200 else f"! {answer.status_code} {name}"] += 1
            return answer

        while not ended.is_set():
            owner = f"student{rng.randrange(OWNERS) + 1}"
            _ONE[rng.choices(names, weights)[0]](call, owner, rng)


Call = Callable[[str, dict[str, object]], httpx.Response]


def _propose(call: Call, owner: str, rng: random.Random) -> None:
    said = f"She said {rng.random()}.\n{ANCHOR}"
    body = {"user_id": owner, "block_label": LABELS[0], "old_string": ANCHOR, "new_string": said, "reasoning": "So."}
    answer = call("/api/v1/tools/propose_memory_edit/", dict(body))
    if answer.status_code == 200:
        call(f"/api/v1/proposals/{answer.json()['data']['proposal_id']}/withdraw/", {})


def _tool(name: str, **arguments: object) -> Callable[[Call, str, random.Random], object]:
    def one(call: Call, owner: str, rng: random.Random) -> None:
        given = {"query": " ".join(rng.sample(_WORDS, 2)), "content": f"She {rng.choice(_WORDS)} {rng.random()}."}
        of_tool = {key: value if value is not ... else given[key] for key, value in arguments.items()}
        call(f"/api/v1/tools/{name}/", {"user_id": owner, **of_tool})

    return one


_ONE: dict[str, Callable[[Call, str, random.Random], object]] = {
    "memory_search": _tool("memory_search", query=...),
    "read_memory_block": _tool("read_memory_block", block_label=LABELS[0]),
    "memory_save": _tool("memory_save", content=...),
    "propose": _propose,
    "prime_memories": _tool("prime_memories", budget=2_000),
    "recall": _tool("recall"),
}


def _processor(site: Site) -> dict[str, float]:
    """Return the seconds of processor that each service and its children have had."""
    return {
        name: sum(map(_seconds, [process.pid, *descendants(process.pid)]))
        for name, process in site.services.running.items()
    }


def _seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except FileNotFoundError:
        return 0.0
    return sum(map(int, fields[11:15])) / _TICK  # with children that have ended


if __name__ == "__main__":
    main()
