"""What the Python client adds to a call: the same request by httpx2 alone, read as JSON, beside it.

`python -m benchmarks.client`. Both speak to one small server of the standard library, in a process of its own on
loopback, over a connection that is kept, by turns, so that what slows the machine slows both. The server answers as it
does to `read_memory_block` with a block of 4,000 characters, and to `list_proposals` with 50.
"""

import asyncio
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx2

ROOT = Path(__file__).resolve().parent.parent
sys.path[0] = str(ROOT)

from assent_client import Assent, AsyncAssent  # noqa: E402

#: What is promised, in milliseconds.
PROMISED = 1.0
ROUNDS = 400

_BLOCK = {
    "label": "goals",
    "title": "Learning goals",
    "description": "",
    "length": 4_000,
    "limit": 20_000,
    "read_only": False,
    "sha256": "0" * 64,
    "created_at": "2026-01-05T09:30:00+00:00",
    "updated_at": "2026-01-05T09:30:00+00:00",
    "body": "She wants to pass the B2 exam in June.\n" * 100,
    "lines": 100,
    "view_range": None,
    "next_range": None,
    "commit": "c0ffee",
    "as_of": None,
    "open_proposals": [],
    "open_proposals_left_out": 0,
}
_PROPOSAL = {
    "proposal_id": 7,
    "user_id": "alice",
    "target_kind": "block",
    "block_label": "goals",
    "note_id": None,
    "title": "Learning goals",
    "kind": "edit",
    "status": "approved",
    "mergeability": None,
    "revision": 1,
    "reasoning": "She passed.",
    "confidence": "medium",
    "session_id": "",
    "created_at": "2026-01-05T09:30:00+00:00",
    "expires_at": None,
    "redacted": False,
    "decision": {"by": "alice", "at": "2026-01-05T09:30:00+00:00", "reason": None, "comment": ""},
    "reverted": False,
    "approval": "as_proposed",
    "changes_requested": None,
    "answers": None,
    "review_url": "http://127.0.0.1/proposals/7/",
    "comment_count": 0,
    "asks_you": False,
}
ANSWERS: dict[str, dict[str, Any]] = {
    "read_memory_block": _BLOCK,
    "list_proposals": {"items": [_PROPOSAL] * 50, "next": None},
}


class CannedAnswers(BaseHTTPRequestHandler):
    """Answers each tool with the same bytes."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        data = ANSWERS[self.path.split("/")[-2]]
        body = json.dumps({"ok": True, "text": "as it is", "data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def main() -> int:
    server = ThreadingHTTPServer(("127.0.0.1", 0), CannedAnswers)
    # Not a thread: it would take turns with what is measured.
    serving = multiprocessing.get_context("fork").Process(target=server.serve_forever, daemon=True)
    serving.start()
    url = f"http://127.0.0.1:{server.server_port}"
    print("| call | httpx2 alone p50 | client p50 | more | promised |\n|---|---|---|---|---|")
    over = False
    for name, (bare, ours) in {**synchronous(url), **asyncio.run(asynchronous(url))}.items():
        more = ours - bare
        over = over or more > PROMISED
        print(f"| {name} | {bare:.2f} ms | {ours:.2f} ms | {more:.2f} ms | ≤ {PROMISED:.0f} ms |")
    serving.terminate()
    return int(over)


def synchronous(url: str) -> dict[str, tuple[float, float]]:
    with httpx2.Client(headers={"Authorization": "Bearer t"}) as http, Assent(url, "t", "alice") as memory:

        def bare(tool: str) -> None:
            arguments = {"block_label": "goals", "user_id": "alice"}
            http.post(f"{url}/api/v1/tools/{tool}/", json=arguments).json()

        return {
            "a block": by_turns(lambda: bare("read_memory_block"), lambda: memory.blocks.get("goals")),
            "50 proposals": by_turns(lambda: bare("list_proposals"), lambda: memory.proposals.list()),
        }


async def asynchronous(url: str) -> dict[str, tuple[float, float]]:
    async with (
        httpx2.AsyncClient(headers={"Authorization": "Bearer t"}) as http,
        AsyncAssent(url, "t", "alice") as memory,
    ):
        address = f"{url}/api/v1/tools/read_memory_block/"
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(ROUNDS):
            began = time.perf_counter()
            (await http.post(address, json={"block_label": "goals", "user_id": "alice"})).json()
            between = time.perf_counter()
            await memory.blocks.get("goals")
            times[0].append(between - began)
            times[1].append(time.perf_counter() - between)
        return {"a block, asyncio": (_median(times[0]), _median(times[1]))}


def by_turns(bare: Callable[[], object], ours: Callable[[], object]) -> tuple[float, float]:
    """Return the medians of both, in milliseconds, after some calls that warm them up."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        for call, taken in zip((bare, ours), times, strict=True):
            began = time.perf_counter()
            call()
            taken.append(time.perf_counter() - began)
    return _median(times[0]), _median(times[1])


def _median(seconds: list[float]) -> float:
    return statistics.median(seconds[ROUNDS // 10 :]) * 1_000


if __name__ == "__main__":
    sys.exit(main())
