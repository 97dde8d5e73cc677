"""A block of 500 versions: where its sentences come from, read at once and from the cache, and the pages of its past.

`make bench ARGS='--part past'` runs it alone. Beside it stands what a page costs that says nothing.
"""

import random
from collections.abc import Callable

from django.core.cache import cache

from approvals import services
from approvals.models import Agent, Kind, User
from benchmarks import pages
from benchmarks.measure import Result, result, timed
from benchmarks.population import AGENT, TUTOR
from memory_app import reads
from memory_app.reads.blame import blame_of_block
from memory_app.text.edits import Replace

VERSIONS = 500
LABEL = "past"
SECTIONS, SENTENCES = 12, 10
COLD, CACHED = 1_000.0, 50.0
MOST_QUERIES = 20
ROUNDS = 8


def measure(owner: str) -> list[Result]:
    write = _versions(owner)
    before = reads.head(owner)

    def cold(_: int) -> None:
        cache.clear()
        blame_of_block(owner, LABEL)

    def cached(_: int) -> None:
        blame_of_block(owner, LABEL)

    results = [
        result(f"blame, {VERSIONS} versions, cold", timed(cold, range(ROUNDS)), target=COLD),
        result(f"blame, {VERSIONS} versions, cached", timed(cached, range(ROUNDS * 5), warm_up=2), target=CACHED),
    ]
    following = []
    for _ in range(ROUNDS):
        write()
        following += timed(cached, [0])
    results.append(result(f"blame, {VERSIONS} versions and a new one", following, target=CACHED))
    first = next(change.commit for change in reads.history(owner, "block", LABEL, limit=1))
    assert first != before, "no version was added"
    block = f"/memory/{owner}/blocks/{LABEL}/"
    addresses = {
        "page that says nothing": ("/healthz", None),
        "page of blame": (f"{block}blame/", CACHED),
        "page of blame, a sentence chosen": (f"{block}blame/?s=40", CACHED),
        "history with its timeline": (f"{block}history/", None),
        "a version of the timeline": (f"{block}history/?v={first}", None),
    }
    for case, (path, target) in addresses.items():
        results.append(_page(f"{case}, {VERSIONS} versions", path, target))
    return results


def _page(case: str, path: str, target: float | None) -> Result:
    return pages.in_process(case, path, TUTOR, target=target, most_queries=MOST_QUERIES)


def _versions(owner: str) -> Callable[[], None]:
    """Make the block: half of its changes are an agent's, approved, half a person's. Return what makes one more."""
    drawn = random.Random(10)
    person, agent = User.objects.get(username=owner), Agent.objects.get(name=AGENT)
    numbers = iter(range(10**6))
    texts = [[_sentence(drawn, next(numbers)) for _ in range(SENTENCES)] for _ in range(SECTIONS)]
    body = "\n\n".join(f"## Section {number}\n\n{' '.join(text)}" for number, text in enumerate(texts)) + "\n"
    fields = services.BlockFields(title="", description="", body=body, limit=30_000)
    services.create_block(actor=person, owner=owner, label=LABEL, fields=fields)

    def write() -> None:
        section = drawn.choice(texts)
        place = drawn.randrange(SENTENCES)
        old, section[place] = section[place], _sentence(drawn, next(numbers))
        block = reads.block(owner, LABEL)
        if drawn.random() < 0.5:
            made = services.propose(
                agent=agent,
                owner=owner,
                label=LABEL,
                edits=[Replace(old, section[place])],
                kind=Kind.EDIT,
                reasoning="She said so.",
            )
            services.approve(actor=person, proposal_id=made.proposal.pk, revision=1, seen_sha256=block.sha256)
            return
        changed = services.BlockFields(
            title="", description="", body=block.body.replace(old, section[place]), limit=block.limit
        )
        services.edit_block(
            actor=person, owner=owner, label=LABEL, fields=changed, loaded_sha256=block.sha256, comment=""
        )

    for _ in range(VERSIONS - 1):
        write()
    return write


_WORDS = "she reads maths every week before school and writes about music art history sheets exams sister".split()


def _sentence(drawn: random.Random, number: int) -> str:
    return f"{' '.join(drawn.choices(_WORDS, k=9)).capitalize()}, item {number} of it."
