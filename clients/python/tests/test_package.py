"""The distribution: its names, its version, and that it works alone."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import assent_client
from assent_client import adapters

FOLDER = Path(__file__).resolve().parent.parent


def test_every_name_that_is_promised_is_there() -> None:
    for name in assent_client.__all__:
        assert getattr(assent_client, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Mem0'"):
        assent_client.Mem0  # noqa: B018


def test_it_says_its_version_and_that_it_has_types() -> None:
    assert tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]["version"] == assent_client.__version__
    assert (FOLDER / "assent_client" / "py.typed").exists()


@pytest.mark.parametrize("adapter", ["agno", "anthropic", "openai_agents", "langchain"])
def test_an_adapter_without_its_package_says_what_installs_it(adapter: str) -> None:
    package = {"openai_agents": "agents", "langchain": "langchain_core"}.get(adapter, adapter)
    extra = adapter.replace("_", "-")
    code = f"import sys; sys.modules[{package!r}] = None; import assent_client.adapters.{adapter}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr.rstrip().endswith(f"`pip install './clients/python[{extra}]'` installs it.")


def test_an_adapters_class_can_be_imported_from_the_package() -> None:
    for name, module in adapters._WHERE.items():
        assert name in adapters.__all__
        # Without its framework, what one sees is the module's refusal; `tests/integrations` uses the class.
        with pytest.raises(ModuleNotFoundError, match=re.escape(f"clients/python[{module}]")):
            getattr(adapters, name)
    with pytest.raises(AttributeError, match="no attribute 'Mem0'"):
        adapters.Mem0  # noqa: B018


@pytest.mark.parametrize(
    ("statement", "without"),
    [
        ("import assent_client.client", ("django", "memory_app", "approvals", "agent_tools", "httpx", "click")),
        ("import assent_client.cli", ("django", "memory_app", "approvals", "agent_tools", "httpx", "httpx2")),
        ("import assent_client.context", ("django", "httpx2", "pydantic", "click")),
    ],
)
def test_importing_it_imports_nothing_it_has_no_use_for(statement: str, without: tuple[str, ...]) -> None:
    found = f"print(sorted(set(sys.modules) & set({without!r})))"
    code = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); {statement}; {found}"
    done = subprocess.run([sys.executable, "-I", "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("[]\n", "")
