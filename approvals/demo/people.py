"""Who takes part in the demo. Their password is the demo's, which is why it runs with DEBUG only."""

from __future__ import annotations

from dataclasses import dataclass

PASSWORD = "demo"  # noqa: S105 (known to everyone on purpose; see the module's docstring)


@dataclass(frozen=True)
class Person:
    username: str
    first_name: str
    last_name: str
    what: str
    is_admin: bool = False


ALICE = Person("alice", "Alice", "Marlowe", "student, owns her memory")
BEN = Person("ben", "Ben", "Yılmaz", "student, owns his memory")
TIM = Person("tim", "Tim", "Brandt", "tutor of alice")
ADMIN = Person("admin", "", "", "administrator", is_admin=True)

PEOPLE = (ALICE, BEN, TIM, ADMIN)

#: (tutor, owner)
TUTORSHIPS = (("tim", "alice"),)

#: Owners who want to be asked before agents write notes.
ASKED_ABOUT_NOTES = ("ben",)

AGENT = "scribe"
AGENT_DESCRIPTION = "Tutoring assistant: sits in on sessions and keeps the notes"
