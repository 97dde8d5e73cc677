"""The board and the alerts: they ask for figures that there are, and for each of them."""

import json
import re
import tomllib
from typing import Any

import pytest
import yaml
from django.urls import get_resolver

from agent_tools.calls import registry
from agent_tools.errors import ErrorCode
from tests.docs.documents import document
from tests.support.places import ROOT

pytestmark = pytest.mark.pure

MONITORING = ROOT / "deploy" / "monitoring"
BOARD = json.loads((MONITORING / "board.json").read_text(encoding="utf-8"))
(GROUP,) = yaml.safe_load((MONITORING / "alerts.yml").read_text(encoding="utf-8"))["groups"]
SAID = tomllib.loads((ROOT / "agent_tools" / "views" / "metrics.toml").read_text(encoding="utf-8"))
_SUFFIX = {"counter": "_total", "gauge": ""}
NAMES = {f"assent_{name}{_SUFFIX[kind]}" for name, (kind, *_) in SAID["figures"].items()}
HISTOGRAM = {f"assent_duration_seconds_{part}" for part in ("bucket", "sum", "count")}
LABELS = {f"assent_{name}{_SUFFIX[kind]}": set(labels) for name, (kind, labels, _) in SAID["figures"].items()}
LABELS |= {name: {"le", "operation"} for name in HISTOGRAM}


def asked(expression: str) -> set[str]:
    return set(re.findall(r"\bassent_\w+", expression))


BY_BOARD = [target["expr"] for panel in BOARD["panels"] for target in panel["targets"]]
BY_ALERTS = [rule["expr"] for rule in GROUP["rules"]]


@pytest.mark.parametrize("expression", BY_BOARD + BY_ALERTS)
def test_each_expression_asks_for_figures_and_labels_that_there_are(expression: str) -> None:
    names = asked(expression)
    assert names
    assert names <= NAMES | HISTOGRAM
    assert expression.count("(") == expression.count(")")
    labels = set().union(*(LABELS[name] for name in names))
    for grouped in re.findall(r"by \(([^)]*)\)", expression):
        assert {each.strip() for each in grouped.split(",")} <= labels
    for chosen in re.findall(r"\{(\w+)=", expression):
        assert chosen in labels


def test_every_figure_is_on_the_board_and_its_page_says_what_it_means() -> None:
    on_board = set().union(*map(asked, BY_BOARD))
    assert on_board == NAMES | HISTOGRAM
    page = (ROOT / "docs" / "monitoring.md").read_text(encoding="utf-8")
    table = {
        name
        for name in re.findall(r"`(assent_\w+)(?:\{[\w,]+\})?`", page)
        if name in NAMES | {"assent_duration_seconds"}
    }
    assert table == NAMES | {"assent_duration_seconds"}


@pytest.mark.parametrize("rule", GROUP["rules"], ids=lambda rule: rule["alert"])
def test_each_alert_says_what_to_do_and_where_it_is_written(rule: dict[str, Any]) -> None:
    notes = rule["annotations"]
    assert set(notes) == {"summary", "what_to_do", "runbook"}
    assert rule["labels"]["severity"] in ("critical", "warning")
    path, _, anchor = notes["runbook"].partition("#")
    assert anchor in document(path).anchors()
    assert len({other["alert"] for other in GROUP["rules"]}) == len(GROUP["rules"])


def test_codes_of_outcomes_in_the_alerts_are_ours() -> None:
    (codes,) = {code for rule in BY_ALERTS for code in re.findall(r'outcome=~"([\w|]+)"', rule)}
    assert set(codes.split("|")) <= {code.name.lower() for code in ErrorCode}


def test_every_operation_is_timed_and_every_tool_that_is_named_is_one() -> None:
    assert set(SAID["operations"]) == {"propose", "approve", "search"}
    assert get_resolver().url_patterns  # registers every tool
    there = {*registry.TOOLS, *registry.ENDPOINTS}
    assert {*SAID["searches"], *SAID["no_proposals"]} <= there
