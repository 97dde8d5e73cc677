"""`python -m assent_client.cli`: the command where its console script is not on the path."""

from __future__ import annotations

from assent_client.cli import main

main()
