"""What clients asked for and what they were told, in a file outside Assent's data, on the disk before anything else."""

import json
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any


class Journal:
    """One line for each request that changes something, and one more for its acknowledgement."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = path.open("a")
        self._lock = threading.Lock()
        self._entries: list[dict[str, Any]] = []
        #: (operation, answer) → how often; an answer is a status and a code, or why there was none.
        self.answers: Counter[tuple[str, str]] = Counter()
        #: Answers in 5xx that are not of the documented shape.
        self.strange: Counter[str] = Counter()

    def sent(self, what: str, **values: Any) -> None:
        self._write({"what": what, "acknowledged": False} | values)

    def acknowledged(self, what: str, **values: Any) -> None:
        """Returns when the line is on the disk: from then on it must never be untrue again."""
        self._write({"what": what, "acknowledged": True} | values)

    def answered(self, what: str, answer: str) -> None:
        with self._lock:
            self.answers[what, answer] += 1

    def answered_strangely(self, answer: str) -> None:
        with self._lock:
            self.strange[answer] += 1

    def entries(self) -> list[dict[str, Any]]:
        with self._lock:
            return list(self._entries)

    def count(self, *kinds: str) -> int:
        """How many operations of these kinds were acknowledged."""
        return sum(entry["acknowledged"] and entry["what"] in kinds for entry in self.entries())

    def close(self) -> None:
        self._file.close()

    def _write(self, entry: dict[str, Any]) -> None:
        with self._lock:
            self._entries.append(entry)
            self._file.write(json.dumps(entry) + "\n")
            if entry["acknowledged"]:
                self._file.flush()
                os.fsync(self._file.fileno())
