"""`/metrics`: the figures of the whole site, for Prometheus (docs/monitoring.md says what each means).

They come from rows that are written anyway, not from counters in each process: so every process, of whatever machine,
says the same, workers of Celery and restarts included, and a call pays nothing. What happened since the last scrape is
added to counts that are kept (`records.COUNTED`). No label names a person, an agent or a text.
"""

import tomllib
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from functools import partial
from itertools import accumulate, takewhile
from pathlib import Path
from secrets import compare_digest
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import Count
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder, make_wsgi_app
from prometheus_client.registry import Collector

from agent_tools.calls import registry
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import messages
from agent_tools.models import Scope, ToolCall
from approvals.models import PENDING, Event, Proposal
from approvals.recovery import figures
from memory_app.databases import row_order
from memory_app.runtime import health, records
from memory_app.search import index_state

#: Seconds within which a scrape is answered, with what is known by then.
_SECONDS = 2.0
#: A row may become visible so much later than one with a higher id.
_SETTLES = timedelta(seconds=30)
#: Rows that one scrape counts, of each kind; what is left over is the next one's.
_AT_ONCE = 10_000
_SAID = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_KINDS: dict[str, Any] = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily}


def _families(values: Mapping[str, Mapping[Any, float]]) -> Iterator[Metric]:
    """Yield figures.

    Args:
        values: by name, then by the value of the label; by a tuple of several, or of none.
    """
    for name, of in values.items():
        kind, labels, said = _SAID["figures"][name]
        family = _KINDS[kind](f"assent_{name}", said, labels=labels)
        for label, value in of.items():
            family.add_metric([label] if isinstance(label, str) else label, value)
        yield family


def _of_default() -> list[Metric]:
    """Return the figures that `default` knows."""
    counts, decided = _count(), records.value(records.DECIDED)
    pending = Proposal.objects.pending().order_by().values_list("status").annotate(Count("pk"))
    oldest = Proposal.objects.open().order_by("created_at").values_list("created_at", flat=True).first()
    last = {name: records.last(name) for name in (records.BACKUP, records.UPKEEP)} | {"check": figures.checked_at()}
    values: dict[str, dict[Any, float]] = {
        "proposals": {**dict.fromkeys(PENDING, 0), **decided, **dict(pending)},
        "oldest_open_proposal_seconds": {(): (timezone.now() - oldest).total_seconds() if oldest else 0},
        "index_behind_owners": {(): len(index_state.owners_behind())},
        "calls": {tuple(key.split()[1:]): number for key, number in counts.items() if key.startswith("call ")},
        "decisions": {kind: counts.get(f"decision {kind}", 0) for kind in _SAID["decisions"]},
        "leases_recovered": dict.fromkeys(_SAID["recovered"], 0) | records.value(records.RECOVERED),
    }
    values |= {f"last_{name}_timestamp_seconds": {(): at.timestamp() if at else 0} for name, at in last.items()}
    return [*_families(values), _durations(counts)]


def _durations(counts: dict[str, float]) -> Metric:
    said = "How long agents' calls and approvals took."
    durations = HistogramMetricFamily("assent_duration_seconds", said, labels=["operation"])
    bounds = [*map(str, _SAID["buckets"]), "+Inf"]
    for operation in _SAID["operations"]:
        within = accumulate(counts.get(f"within {operation} {number}", 0) for number in range(len(bounds)))
        durations.add_metric([operation], list(zip(bounds, within, strict=True)), counts.get(f"seconds {operation}", 0))
    return durations


def _count() -> dict[str, float]:
    """Add what happened since the last scrape to the counts that are kept. Return them.

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
            if what in _SAID["decisions"]:
                counts[f"decision {what}"] += 1
            if what == Event.What.APPROVED and began:
                _observe(counts, "approve", max(0.0, (at - began).total_seconds()))
            kept["event"] = pk
        records.note(records.COUNTED, kept | {"counts": counts})
    return counts


def _newest(rows: Any) -> int:
    return rows.values_list("pk", flat=True).first() or 0


def _settled(rows: Any, until: datetime) -> Iterable[tuple[Any, ...]]:
    return takewhile(lambda row: row[1] <= until, rows[:_AT_ONCE])


def _count_call(counts: dict[str, float], tool: str, outcome: str, seconds: float) -> None:
    asked = registry.TOOLS.get(tool) or registry.ENDPOINTS.get(tool)
    counts[f"call {tool if asked else 'unknown'} {outcome}"] += 1
    if tool in _SAID["searches"]:
        _observe(counts, "search", seconds)
    elif asked and asked.scope == Scope.MEMORY_PROPOSE and tool not in _SAID["no_proposals"]:
        _observe(counts, "propose", seconds)


def _observe(counts: dict[str, float], operation: str, seconds: float) -> None:
    counts[f"within {operation} {bisect_left(_SAID['buckets'], seconds)}"] += 1
    counts[f"seconds {operation}"] += seconds


class _Scrape(Collector):
    """What `prometheus_client` writes as text: each figure there is an answer for within `_SECONDS`."""

    def collect(self) -> Iterator[Metric]:
        memories = health.memories_known(_SECONDS / 4)
        asked: dict[str, Callable[[], Any]] = {
            f"figures of {each}": partial(figures.of_memory, each) for each in memories
        }
        found = health.together({**asked, "figures": _of_default}, _SECONDS * 3 / 4)
        default, of = found.pop("figures"), dict(zip(memories, found.values(), strict=True))
        there = {database: each for database, each in of.items() if each}
        yield from _families(
            {"database_up": {each: found is not None for each, found in {"default": default, **of}.items()}}
        )
        yield from default or ()
        names = dict.fromkeys(name for each in there.values() for name in each)
        yield from _families({name: {database: each[name] for database, each in there.items()} for name in names})


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
