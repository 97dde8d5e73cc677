"""`python -m agent_tools.cli`: the command where its console script is not installed, as in the containers."""

from __future__ import annotations

from agent_tools.cli import main

main()
