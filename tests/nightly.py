"""What runs at night alone (`make test-all`), and why: it takes long, and what it watches over seldom breaks.

A path of a file, or of a test in it. Whoever names one of these to `make test` runs it. A test may also be marked
`nightly` where it stands.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

NIGHTLY: dict[str, str] = {}


def is_nightly(test: str) -> bool:
    """Whether a test, named as pytest names it, is among them."""
    return any(test.startswith(path) for path in NIGHTLY)
