"""The tools of Assent in the shape of agent frameworks, each for the package it is named after.

`agno`, `anthropic`, `langchain` and `openai_agents` need that package, an extra of this distribution:
`pip install './clients/python[agno]'`. Not here: what a tool does and says, which is the server's business (`toolset`).
"""

from __future__ import annotations


def missing(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error of an adapter whose package is not there, with what installs it."""
    return ModuleNotFoundError(
        f"{error.msg}: in a copy of Assent's source, `pip install './clients/python[{extra}]'` installs it.",
        name=error.name,
    )
