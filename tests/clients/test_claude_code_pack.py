"""The pack for Claude Code: a configuration it can read, and a skill that names the tools there are."""

import json
import re

import pytest

from agent_tools import tools  # noqa: F401 - fills the registry
from agent_tools.calls.registry import FILE_TOOLS, TOOLS
from agent_tools.errors import ErrorCode
from agent_tools.snippets import ways
from tests.docs.documents import ROOT

pytestmark = pytest.mark.pure

PACK = ROOT / "clients" / "claude-code"
SKILL = (PACK / ".claude" / "skills" / "assent-memory" / "SKILL.md").read_text(encoding="utf-8")
_TOOL = re.compile(r"`((?:list|read|propose|get|withdraw|comment|memory|prime)_\w+|remember|recall|forget)`")


def front_matter() -> dict[str, str]:
    _, head, _ = SKILL.split("---\n", 2)
    return dict(line.split(": ", 1) for line in head.splitlines())


def test_its_configuration_is_the_one_of_the_agents_page() -> None:
    written = json.loads((PACK / ".mcp.json").read_text(encoding="utf-8"))
    shown = next(way for way in ways("${MEMORY_URL}", "asn_…") if way.key == "claude-code").snippets[-1]
    assert written == json.loads(shown.text)


def test_the_skill_is_named_as_its_folder_and_says_when_to_use_it() -> None:
    described = front_matter()
    assert set(described) == {"name", "description"}
    assert described["name"] == "assent-memory"
    # What Claude Code reads of every skill, whether or not it is used: longer ones are refused.
    assert len(described["description"]) <= 1_024
    assert "Use at the start" in described["description"]
    assert not set("<>") & set(described["description"])


def test_the_skill_names_tools_that_exist_and_leaves_none_out() -> None:
    named = set(_TOOL.findall(SKILL))
    assert named <= TOOLS.keys(), "the registry has other names"
    # Conversations are found by search; files are for models that ask for them.
    assert TOOLS.keys() - FILE_TOOLS - named == {"memory_list_sessions", "memory_read_session"}


def test_its_refusals_are_codes_or_texts_of_ours() -> None:
    section = SKILL.partition("## What a refusal means")[2].partition("\n## ")[0]
    codes = set(re.findall(r"^- `(\w+)`", section, re.MULTILINE))
    assert codes == {"rejected_before"} <= {code.code for code in ErrorCode}


def test_the_readme_copies_what_is_there() -> None:
    (commands,) = re.findall(r"```sh\n(.*?)```", (PACK / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(commands.splitlines()) == 3
    copied = re.findall(r"clients/claude-code/(\S+)", commands)
    assert copied == [".mcp.json", ".claude"]
    assert all((PACK / each).exists() for each in copied)
