"""`/metrics`: the figures of the whole site, for Prometheus (docs/monitoring.md says what each means).

They come from rows that are written anyway, not from counters in each process: so every process, of whatever machine,
says the same, workers of Celery and restarts included, and a call pays nothing. What happened since the last scrape is
added to counts that are kept (`records.COUNTED`). No label names a person, an agent or a text.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from itertools import accumulate, takewhile
from secrets import compare_digest
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Min
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder, make_wsgi_app
from prometheus_client.registry import Collector

from agent_tools.calls import registry
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import messages
from agent_tools.models import Scope, ToolCall
from approvals.models import DECIDED, PENDING, Event, Proposal
from approvals.recovery import figures
from memory_app.databases import row_order
from memory_app.models import MemoryDatabase
from memory_app.runtime import health, records
from memory_app.search import index_state

#: Seconds within which a scrape is answered, with what is known by then.
_SECONDS = 2.0
#: A row may become visible so much later than one with a higher id.
_SETTLES = timedelta(seconds=30)
#: Rows that one scrape counts, of each kind; what is left over is the next one's.
_AT_ONCE = 10_000
#: For how long counts of decided proposals are believed: a million take SQLite a third of a second.
_BELIEVED = timedelta(minutes=10)
#: Upper bounds of the buckets of a histogram, in seconds.
_BOUNDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_OPERATIONS = ("propose", "approve", "search")
_SEARCHES = frozenset(("search", "memory_search", "recall"))
_NO_PROPOSALS = frozenset(("withdraw_proposal", "comment_on_proposal"))
#: What became of a proposal.
_DECISIONS = ("approved", "rejected", "withdrawn", "expired", "applied", "reverted", "changes_requested", "reopened")


@dataclass(frozen=True)
class _Figures:
    """What `default` knows.

    Args:
        counts: see `_count`.
        proposals: by state.
        checked_at: of the database that was checked longest ago; None where one never was.
    """

    counts: dict[str, float]
    proposals: dict[str, int]
    oldest_at: datetime | None
    recovered: dict[str, int]
    index_behind: int
    last: dict[str, datetime | None]


def _of_default() -> _Figures:
    counts, decided = _count()
    pending = Proposal.objects.pending().order_by().values_list("status").annotate(Count("pk"))
    checked = MemoryDatabase.objects.aggregate(unchecked=Count("pk") - Count("checked_at"), at=Min("checked_at"))
    names = (records.BACKUP, records.UPKEEP)
    return _Figures(
        counts=counts,
        proposals=dict.fromkeys(PENDING, 0) | decided | dict(pending),
        oldest_at=Proposal.objects.open().order_by("created_at").values_list("created_at", flat=True).first(),
        recovered=records.value(records.RECOVERED),
        index_behind=len(index_state.owners_behind()),
        last={name: records.last(name) for name in names} | {"check": None if checked["unchecked"] else checked["at"]},
    )


def _count() -> tuple[dict[str, float], dict[str, int]]:
    """Add what happened since the last scrape to the counts that are kept. Return them, and the decided proposals.

    The keys are words of ours with spaces between them: "call" with tool and outcome, "decision" with its kind;
    "within", an operation and the number of a bucket; "seconds" and an operation.
    """
    until = timezone.now() - _SETTLES
    with transaction.atomic():
        row_order.lock(f"record {records.COUNTED}")
        kept = records.value(records.COUNTED) or {
            "call": _newest(ToolCall.objects.order_by("-pk")),
            "event": _newest(Event.objects.order_by("-pk")),
            "counts": {},
            "decided_at": "",
        }
        counts = defaultdict[str, float](float, kept["counts"])
        # A row that is not settled ends it, even where one behind it is: clocks of machines differ.
        calls = ToolCall.objects.filter(pk__gt=kept["call"]).order_by("pk")
        said = calls.values_list("pk", "at", "tool", "outcome", "duration_ms")
        for pk, _at, tool, outcome, ms in _settled(said, until):
            _count_call(counts, tool, outcome, ms / 1000)
            kept["call"] = pk
        events = Event.objects.filter(pk__gt=kept["event"]).order_by("pk")
        for pk, at, what, began in _settled(events.values_list("pk", "at", "what", "proposal__decided_at"), until):
            if what in _DECISIONS:
                counts[f"decision {what}"] += 1
            if what == Event.What.APPROVED and began:
                _observe(counts, "approve", max(0.0, (at - began).total_seconds()))
            kept["event"] = pk
        decided_at = parse_datetime(kept["decided_at"])
        if decided_at is None or timezone.now() - decided_at > _BELIEVED:
            rows = Proposal.objects.filter(status__in=DECIDED).order_by().values_list("status").annotate(Count("pk"))
            kept |= {"decided": dict.fromkeys(DECIDED, 0) | dict(rows), "decided_at": timezone.now().isoformat()}
        records.note(records.COUNTED, kept | {"counts": counts})
    return dict(counts), kept["decided"]


def _newest(rows: Any) -> int:
    return rows.values_list("pk", flat=True).first() or 0


def _settled(rows: Any, until: datetime) -> Iterable[tuple[Any, ...]]:
    return takewhile(lambda row: row[1] <= until, rows[:_AT_ONCE])


def _count_call(counts: dict[str, float], tool: str, outcome: str, seconds: float) -> None:
    asked = registry.TOOLS.get(tool) or registry.ENDPOINTS.get(tool)
    counts[f"call {tool if asked else 'unknown'} {outcome}"] += 1
    if tool in _SEARCHES:
        _observe(counts, "search", seconds)
    elif asked and asked.scope == Scope.MEMORY_PROPOSE and tool not in _NO_PROPOSALS:
        _observe(counts, "propose", seconds)


def _observe(counts: dict[str, float], operation: str, seconds: float) -> None:
    counts[f"within {operation} {bisect_left(_BOUNDS, seconds)}"] += 1
    counts[f"seconds {operation}"] += seconds


class _Scrape(Collector):
    """What `prometheus_client` writes as text: each figure there is an answer for within `_SECONDS`."""

    def collect(self) -> Iterator[Metric]:
        memories = health.memories_known(_SECONDS / 4)
        asked: dict[str, Any] = {f"figures of {name}": partial(figures.of_memory, name) for name in memories}
        found = health.together({**asked, "figures": _of_default}, _SECONDS * 3 / 4)
        default, of = found.pop("figures"), dict(zip(memories, found.values(), strict=True))
        answers = GaugeMetricFamily("assent_database_up", "Whether a database answers.", labels=["database"])
        for name, answer in {"default": default, **of}.items():
            answers.add_metric([name], answer is not None)
        yield answers
        yield from _of_memories({name: each for name, each in of.items() if each})
        if default:
            yield from _gauges(default)
            yield from _counters(default)
            yield _durations(default.counts)


def _of_memories(of: dict[str, figures.MemoryFigures]) -> Iterator[Metric]:
    labels = ["database"]
    branches = GaugeMetricFamily("assent_live_branches", "Branches of undecided proposals.", labels=labels)
    behind = GaugeMetricFamily("assent_ledger_behind_commits", "Commits the ledger lacks.", labels=labels)
    size = GaugeMetricFamily("assent_memory_bytes", "Size of an embedded memory.", labels=labels)
    collected = GaugeMetricFamily(
        "assent_memory_collected_bytes", "Size of it after its last collection.", labels=labels
    )
    for name, each in of.items():
        branches.add_metric([name], each.branches)
        behind.add_metric([name], each.behind)
        if each.sizes:
            size.add_metric([name], each.sizes.now)
            collected.add_metric([name], each.sizes.collected)
    yield from (branches, behind, size, collected)


def _gauges(known: _Figures) -> Iterator[Metric]:
    proposals = GaugeMetricFamily("assent_proposals", "Proposals by state.", labels=["state"])
    for state, number in known.proposals.items():
        proposals.add_metric([state], number)
    yield proposals
    age = (timezone.now() - known.oldest_at).total_seconds() if known.oldest_at else 0
    yield GaugeMetricFamily("assent_oldest_open_proposal_seconds", "Age of the oldest open proposal.", age)
    yield GaugeMetricFamily("assent_index_behind_owners", "Search indices that are behind.", known.index_behind)
    for name, at in known.last.items():
        said = f"When the last {name} was; 0 for never."
        yield GaugeMetricFamily(f"assent_last_{name}_timestamp_seconds", said, at.timestamp() if at else 0)


def _counters(known: _Figures) -> Iterator[Metric]:
    calls = CounterMetricFamily("assent_calls", "Calls of agents.", labels=["tool", "outcome"])
    decisions = CounterMetricFamily("assent_decisions", "What became of proposals.", labels=["kind"])
    recovered = CounterMetricFamily("assent_leases_recovered", "Steps that `recover` finished.", labels=["what"])
    for kind in _DECISIONS:
        decisions.add_metric([kind], known.counts.get(f"decision {kind}", 0))
    for what in ("opened", "approved", "reopened"):
        recovered.add_metric([what], known.recovered.get(what, 0))
    for key, number in known.counts.items():
        if key.startswith("call "):
            calls.add_metric(key.split()[1:], number)
    yield from (calls, decisions, recovered)


def _durations(counts: dict[str, float]) -> Metric:
    durations = HistogramMetricFamily(
        "assent_duration_seconds", "How long agents' calls and approvals took.", labels=["operation"]
    )
    bounds = [*map(str, _BOUNDS), "+Inf"]
    for operation in _OPERATIONS:
        within = accumulate(counts.get(f"within {operation} {number}", 0) for number in range(len(bounds)))
        seconds = counts.get(f"seconds {operation}", 0)
        durations.add_metric([operation], list(zip(bounds, within, strict=True)), seconds)
    return durations


_registry = CollectorRegistry(auto_describe=False)
_registry.register(_Scrape())
#: On a port of its own, in each process of the web server (`ASSENT_METRICS_BIND`).
application = make_wsgi_app(_registry)


@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Answer who has the token `ASSENT_METRICS_TOKEN`; without one there is no such address."""
    if not settings.METRICS_TOKEN:
        raise Http404
    given = request.headers.get("Authorization", "").encode()
    if not compare_digest(given, f"Bearer {settings.METRICS_TOKEN}".encode()):
        return messages.failure(
            ApiError(ErrorCode.NOT_AUTHENTICATED, "Figures need the token of ASSENT_METRICS_TOKEN.")
        )
    encode, media_type = choose_encoder(request.headers.get("Accept", ""))
    return HttpResponse(encode(_registry), content_type=media_type)
