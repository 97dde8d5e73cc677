"""docs/mcp.md: its examples can be read by what they are for, and it names what an address may choose.

The examples it names are run inside each framework by tests/integrations.
"""

import json
import re

import pytest

from agent_tools.calls import toolsets
from agent_tools.mcp.exchange import AddressQuery
from agent_tools.mcp.protocol import HANDSHAKE_VERSIONS, MODERN_VERSIONS
from tests.docs.documents import ROOT, document

pytestmark = pytest.mark.pure

PAGE = document("docs/mcp.md")


def test_its_configurations_can_be_read() -> None:
    for configuration in PAGE.fences("json"):
        (server,) = json.loads(configuration)["mcpServers"].values()
        assert server.get("url", "").endswith("/mcp") or server["args"] == ["mcp"]


def test_each_python_example_is_run_inside_its_framework() -> None:
    examples = {path.name for path in (ROOT / "examples").glob("mcp_*.py")}
    run = [each.read_text() for each in (ROOT / "tests" / "integrations").glob("*/test_mcp.py")]
    assert examples == {found for text in run for found in re.findall(r'example\("([^"]+)"\)', text)}
    assert examples == set(re.findall(r"`examples/(mcp_\w+\.py)`", PAGE.text))


def test_it_names_what_an_address_chooses() -> None:
    table = PAGE.text.partition("## Fewer tools")[2].partition("\n## ")[0]
    assert set(re.findall(r"^\| `\?(\w+)=", table, re.MULTILINE)) == set(AddressQuery.model_fields)
    missing = [name for name in toolsets.NAMES if f"`{name}`" not in table]
    assert missing == [], "say in docs/mcp.md which sets of tools there are"


def test_it_names_every_version() -> None:
    for version in (*HANDSHAKE_VERSIONS, *MODERN_VERSIONS):
        assert version in PAGE.text
