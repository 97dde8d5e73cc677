"""The clients: agents that propose and withdraw, people who decide on the pages, savers of notes, an importer.

Each is a thread with an HTTP client of its own and its own random numbers. They write down what they send and what
they were told, and care for nothing else: a server that is away is waited for.
"""

import collections
import itertools
import json
import random
import re
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx

from tests.support.pages import form, has_form
from tests.torture.journal import Journal

OWNER = "alice"
REVIEWERS = ("alice", "tim")
AGENTS = ("scribe", "walt")
LABELS = tuple(f"log{number}" for number in range(4))
PASSWORD = "a long enough passphrase"

#: How many of the other owners have a block, about which agents propose; all have notes.
WITH_BLOCKS = 60

#: Stands at the end of each block; what is proposed comes before it, so that most still fits when the block changed.
ANCHOR = "(the end)"

#: Seconds a client waits for an answer: less than a hang lasts, so that some answers are never seen.
PATIENCE = 10.0
#: Proposals that wait for a decision before agents pause: reviewers are slower than agents.
MOST_WAITING = 30
#: Notes in one import.
IMPORTED = 12
#: Of ten things a reviewer does, how many are approvals.
APPROVED_OF_TEN = 8


def others_of(owners: int) -> list[str]:
    """The names of so many owners, but the first one's."""
    return [f"student{number}" for number in range(1, owners)]


class Load:
    """All clients of a site. They work between `resume` and `pause`."""

    def __init__(
        self, addresses: list[str], tokens: dict[str, str], journal: Journal, seed: int, *, owners: int = 1
    ) -> None:
        self.addresses, self.tokens, self.journal, self.seed = addresses, tokens, journal, seed
        self.others = others_of(owners)
        self.waiting: collections.deque[int] = collections.deque()
        self._marks = itertools.count(1)
        self._go, self._end = threading.Event(), threading.Event()
        self._busy = 0
        self._idle = threading.Condition()
        self._threads: list[threading.Thread] = []
        self._broken: list[Exception] = []

    def start(self) -> None:
        work: list[Callable[[random.Random], Callable[[], float]]] = [
            *(lambda rng, name=name: _Agent(self, rng, name).propose for name in AGENTS),
            lambda rng: _Agent(self, rng, AGENTS[0]).withdraw,
            *(lambda rng: _Agent(self, rng, AGENTS[1]).save_note for _ in range(2)),
            lambda rng: _Agent(self, rng, AGENTS[0]).import_notes,
            *(lambda rng, name=name: Reviewer(self, rng, name).decide for name in REVIEWERS),
        ]
        for number, make in enumerate(work):
            rng = random.Random(f"{self.seed}/{number}")
            self._threads.append(threading.Thread(target=self._work, args=(make(rng),), daemon=True))
        for thread in self._threads:
            thread.start()
        self.resume()

    def resume(self) -> None:
        self._go.set()

    def pause(self) -> None:
        """Let everybody finish what they are at, and wait until they have.

        Raises:
            RuntimeError: a client is broken, or does not come to an end; what it did is then unknown.
        """
        self._go.clear()
        with self._idle:
            if not self._idle.wait_for(lambda: self._busy == 0, timeout=6 * PATIENCE):
                raise RuntimeError(f"{self._busy} clients do not come to an end")
        if self._broken:
            raise RuntimeError(f"a client broke: {self._broken[0]!r}") from self._broken[0]

    def stop(self) -> None:
        self._end.set()
        self._go.set()
        for thread in self._threads:
            thread.join(2 * PATIENCE)

    def next_mark(self) -> str:
        return f"m{next(self._marks)}"

    def _work(self, step: Callable[[], float]) -> None:
        while True:
            self._go.wait()
            if self._end.is_set():
                return
            with self._idle:
                self._busy += 1
            try:
                pause = step()
            except httpx.HTTPError as error:
                self.journal.answered("any", f"none: {type(error).__name__}")
                pause = 0.5
            except Exception as error:  # told where the run can end for it
                self._broken.append(error)
                return
            finally:
                with self._idle:
                    self._busy -= 1
                    self._idle.notify_all()
            time.sleep(pause)


class _Client:
    """What all clients have; each step returns the seconds until the next."""

    def __init__(self, load: Load, rng: random.Random, **options: Any) -> None:
        self.load, self.journal, self.rng = load, load.journal, rng
        self.http = httpx.Client(base_url=load.addresses[0], timeout=PATIENCE, **options)

    def idle(self) -> float:
        """Go to any of the web servers, as behind a proxy."""
        self.http.base_url = httpx.URL(self.rng.choice(self.load.addresses))
        return self.rng.uniform(0.02, 0.2)


class _Agent(_Client):
    def __init__(self, load: Load, rng: random.Random, name: str) -> None:
        super().__init__(load, rng, headers={"Authorization": f"Bearer {load.tokens[name]}"})
        self.name = name

    def propose(self) -> float:
        if len(self.load.waiting) > MOST_WAITING:
            return 0.2
        id_ = self.proposed()
        if id_ is not None:
            self.load.waiting.append(id_)
        return self.idle()

    def withdraw(self) -> float:
        """Propose something and think better of it."""
        id_ = self.proposed()
        if id_ is not None:
            time.sleep(self.idle())
            self.noted("withdraw", f"/api/v1/proposals/{id_}/withdraw/", {}, key=f"withdraw-{id_}", id=id_)
        return self.rng.uniform(0.5, 1.5)

    def whom(self, others: list[str]) -> str:
        """Return whom the next call is about: every other time one of these, if there are any."""
        return self.rng.choice(others) if others and self.rng.randrange(2) else OWNER

    def proposed(self) -> int | None:
        mark = self.load.next_mark()
        owner = self.whom(self.load.others[:WITH_BLOCKS])
        arguments = {
            "user_id": owner,
            "block_label": self.rng.choice(LABELS) if owner == OWNER else LABELS[0],
            "old_string": ANCHOR,
            "new_string": f"She said so. [{mark}]\n{ANCHOR}",
            "reasoning": f"It was said in session {self.rng.randrange(100)}. [{mark}]",
        }
        self.journal.sent("propose", mark=mark)
        data = self.call("propose", "/api/v1/tools/propose_memory_edit/", arguments, key=mark)
        if data is None:
            return None
        id_: int = data["proposal_id"]
        self.journal.acknowledged("propose", mark=mark, id=id_)
        return id_

    def save_note(self) -> float:
        mark = self.load.next_mark()
        arguments = {"user_id": self.whom(self.load.others), "content": f"Note [{mark}] {self.rng.random()}"}
        self.noted("note", "/api/v1/tools/memory_save/", arguments, key=mark, mark=mark, count=1)
        return self.idle()

    def import_notes(self) -> float:
        mark = self.load.next_mark()
        heading = [f"### mem-{self.rng.randrange(10**12)}-{number:04d}" for number in range(IMPORTED)]
        file = "# Memories\n\n## Notes\n\n" + "\n".join(
            f"{id_}\n> Imported [{mark}] as {number}\n<!-- tags: | created: 2025-01-20 -->\n"
            for number, id_ in enumerate(heading)
        )
        self.noted("import", f"/api/v1/users/{OWNER}/memories.md", file, key=mark, mark=mark, count=IMPORTED)
        return self.rng.uniform(0.5, 1.5)

    def noted(self, what: str, path: str, body: dict[str, Any] | str, *, key: str, **values: Any) -> None:
        """Call, with what is asked in the journal before, and its acknowledgement after."""
        self.journal.sent(what, **values)
        if self.call(what, path, body, key=key):
            self.journal.acknowledged(what, **values)

    def call(self, what: str, path: str, body: dict[str, Any] | str, *, key: str) -> dict[str, Any] | None:
        """Post, once more with the same key when no answer came; the data of a success.

        What a first attempt began, a second one with its key finishes or finds: nothing may be there twice.
        """
        kind = "text/markdown" if isinstance(body, str) else "application/json"
        content = body if isinstance(body, str) else json.dumps(body)
        for attempt in range(2):
            try:
                answer = self.http.post(path, content=content, headers={"Content-Type": kind, "Idempotency-Key": key})
            except httpx.HTTPError as error:
                self.journal.answered(what, f"none: {type(error).__name__}")
                time.sleep(self.rng.uniform(0.5, 3))
                continue
            payload = _json(answer)
            code = "" if answer.status_code == 200 else (payload or {}).get("error", {}).get("code", "?")
            self.journal.answered(what, f"{answer.status_code} {code}".strip())
            if answer.status_code >= 500 and code in ("?", "internal_error"):
                self.journal.answered_strangely(f"{answer.status_code} {code} to {what}")
            if answer.status_code == 200 and payload:
                data: dict[str, Any] = payload["data"]
                return data
            if answer.status_code < 500 or attempt:
                return None
            time.sleep(self.rng.uniform(0.5, 2))
        return None


#: What the page of its own says, and the panel above a decision that was not taken.
_AWAY = re.compile("(?:does|did) not answer")


class Reviewer(_Client):
    """A person in a browser: signs in, looks at the inbox, opens a proposal, presses a button of its page."""

    def __init__(self, load: Load, rng: random.Random, name: str) -> None:
        super().__init__(load, rng)
        self.name = name
        self.is_signed_in = False

    def decide(self) -> float:
        if not self.is_signed_in:
            self.sign_in()
            return 0.2
        self.see(self.http.get("/"))
        try:
            id_ = self.load.waiting.popleft()
        except IndexError:
            return 0.3
        page = self.see(self.http.get(f"/proposals/{id_}/"))
        what = "approve" if self.rng.randrange(10) < APPROVED_OF_TEN else "reject"
        path = f"/proposals/{id_}/{what}/"
        if page.status_code >= 500:
            self.load.waiting.append(id_)
            return 0.5
        if page.status_code != 200 or not has_form(page, path):
            return self.idle()  # decided by another, or withdrawn
        fields = form(page, path)
        if what == "reject":
            fields |= {"reason": "wrong"}
        self.journal.sent(what, id=id_)
        answer = self.see(self.http.post(path, data=fields, headers={"Referer": str(page.url)}), what)
        if answer.status_code in (302, 303):
            self.journal.acknowledged(what, id=id_)
        elif answer.status_code in (409, 503):
            self.load.waiting.append(id_)  # the block changed this moment, or the memory is away: look again
        return self.idle()

    def sign_in(self) -> None:
        page = self.see(self.http.get("/sign-in/"))
        if page.status_code != 200:
            return
        fields = form(page, "/sign-in/") | {"username": self.name, "password": PASSWORD}
        answer = self.see(self.http.post("/sign-in/", data=fields, headers={"Referer": str(page.url)}), "sign in")
        self.is_signed_in = answer.status_code in (302, 303)

    def see(self, answer: httpx.Response, what: str = "page") -> httpx.Response:
        self.journal.answered(what, str(answer.status_code))
        if answer.status_code == 302 and "/sign-in/" in answer.headers["Location"] and what == "page":
            self.is_signed_in = False
        if answer.status_code >= 500 and not (answer.status_code == 503 and _AWAY.search(answer.text)):
            self.journal.answered_strangely(f"{answer.status_code} to {what} {answer.url.path}")
        return answer


def _json(answer: httpx.Response) -> dict[str, Any] | None:
    try:
        payload: dict[str, Any] = answer.json()
    except ValueError:
        return None
    return payload
