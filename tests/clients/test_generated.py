"""The client's generated part is what the registry says, now."""

import sys
import typing
from pathlib import Path

import pytest

from agent_tools.calls import registry
from agent_tools.client_code.methods import client_methods
from agent_tools.client_code.writing import ClientSource
from agent_tools.management.commands.client_code import differences
from assent_client import Assent, AsyncAssent

pytestmark = pytest.mark.pure

#: What tools of other names do as well; and whole files, waiting and the feed, whose methods are written by hand.
ELSEWHERE = {"search", "block_list", "import_file", "export_file", "proposal_read", "decision_list"}


def test_the_committed_client_is_what_the_registry_says() -> None:
    assert differences() == [], "run `make client` and commit what it writes"


def test_a_module_that_differs_is_missing_or_left_over_is_named(tmp_path: Path) -> None:
    for name, source in ClientSource().modules().items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
    assert differences(tmp_path) == []
    (tmp_path / "answers.py").write_text("# changed\n")
    (tmp_path / "resources.py").unlink()
    (tmp_path / "left_over.py").touch()
    assert differences(tmp_path) == ["answers.py", "left_over.py", "resources.py"]


def test_every_tool_and_endpoint_has_a_method() -> None:
    reached = {method.operation for method in client_methods()}
    assert set(registry.TOOLS) <= reached
    assert set(registry.ENDPOINTS) - ELSEWHERE <= reached


def test_both_clients_have_each_method_with_every_argument_explained() -> None:
    clients = (Assent("http://127.0.0.1:1", "t"), AsyncAssent("http://127.0.0.1:1", "t"))
    for method in client_methods():
        wanted = set(method.asked.schema["properties"]) - method.leave_out
        if method.method == "DELETE":
            wanted.discard("idempotency_key")
        for client in clients:
            called = getattr(getattr(client, method.resource), method.name)
            hints = typing.get_type_hints(called, vars(sys.modules[called.__module__]))
            assert hints.keys() - {"return"} == wanted | {"user_id", "timeout"}, method.called
            assert all(f"            {argument}: " in called.__doc__ for argument in wanted), method.called


def test_a_tool_the_table_does_not_know_becomes_a_method_of_tools(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = registry.TOOLS["memory_search"]
    monkeypatch.setitem(registry.TOOLS, "tool_of_tomorrow", asked)
    source = ClientSource().modules()["resources.py"]
    assert "def tool_of_tomorrow(" in source
    compile(source, "resources.py", "exec")
