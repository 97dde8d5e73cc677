"""The page of a proposal that changes a block of 10,000 words in many places, in each of its views: at the first look
and again."""

from approvals import services
from approvals.models import Agent, Kind, User
from approvals.review.diff_mode import forget_texts
from benchmarks import pages
from benchmarks.measure import Result
from benchmarks.population import AGENT
from benchmarks.worddiff import edited, long_text, moved
from memory_app.text.edits import Rewrite

TARGET = 300.0
MOST_QUERIES = 30
LABEL = "long"


def measure(owner: str, tutor: str) -> list[Result]:
    before = long_text()
    fields = services.BlockFields(title="", description="", body=before, limit=100_000, read_only=False)
    person = User.objects.get(username=owner)
    results = []
    changes = {"34 edits": edited(before, 34), "200 edits": edited(before, 200), "200 moves": moved(before, 200)}
    for number, (what, after) in enumerate(changes.items(), start=1):
        # A block each: proposals for the same one are compared with each other, which `siblings` measures.
        label = f"{LABEL}-{number}"
        services.create_block(actor=person, owner=owner, label=label, fields=fields)
        path = services.propose(
            agent=Agent.objects.get(name=AGENT),
            owner=owner,
            label=label,
            edits=[Rewrite(after)],
            kind=Kind.REWRITE,
            reasoning=f"Another text: {what}.",
        ).proposal.get_absolute_url()
        for view in ("inline", "side", "source", "result") if what == "200 edits" else ("inline",):
            case = f"proposal's page, 10,000 words, {what}, {view}"
            address = f"{path}?view={view}"
            for when, before_each in (("", forget_texts), (", again", None)):
                results.append(
                    pages.in_process(
                        f"{case}{when}",
                        address,
                        tutor,
                        target=TARGET,
                        most_queries=MOST_QUERIES,
                        before_each=before_each,
                    )
                )
    return results
