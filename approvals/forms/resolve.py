"""The form of a conflict: for each place that both sides changed, which text is to be there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.forms import BoundField
from django.utils.translation import gettext_lazy as _

from approvals.forms.memory import with_line_breaks_of
from approvals.forms.proposal import ApproveForm
from memory_app.text.merge import Conflict


@dataclass(frozen=True)
class ConflictFields:
    """One conflict with its two fields."""

    number: int
    conflict: Conflict
    choice: BoundField
    own: BoundField


_CHOICES = [
    ("now", _("Keep the current text")),
    ("proposed", _("Use what was proposed")),
    ("own", _("Write your own")),
]


class ResolveForm(ApproveForm):
    """Keep the current text, use what was proposed, or write your own, for each conflict."""

    def __init__(self, data: Mapping[str, Any] | None = None, *, conflicts: Sequence[Conflict], **more: Any) -> None:
        super().__init__(data, **more)
        self.conflicts = tuple(conflicts)
        for number, conflict in enumerate(self.conflicts, 1):
            self.fields[f"choice_{number}"] = forms.ChoiceField(
                choices=_CHOICES,
                error_messages={"required": _("Choose which text to keep here.")},
            )
            self.fields[f"own_{number}"] = forms.CharField(
                required=False, strip=False, max_length=200_000, initial=conflict.theirs or conflict.ours
            )

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or {}
        for row in self.rows():
            choice, own = f"choice_{row.number}", str(row.own.value() or "").split()
            written = own and own != str(row.own.initial).split()
            if written and cleaned.get(choice) in ("now", "proposed"):
                self.add_error(
                    choice, _("You wrote a text of your own and chose another one. Choose yours, or clear its field.")
                )
        return cleaned

    def rows(self) -> list[ConflictFields]:
        return [
            ConflictFields(number, conflict, self[f"choice_{number}"], self[f"own_{number}"])
            for number, conflict in enumerate(self.conflicts, 1)
        ]

    @property
    def undecided(self) -> int:
        return sum(not row.choice.value() for row in self.rows())

    def chosen(self) -> list[str]:
        """Return the text for each conflict; where none is chosen yet, the one that is there now."""
        return [_text(row, str(row.choice.value() or "now")) for row in self.rows()]

    def chosen_own(self) -> list[str]:
        """Return the texts of one's own that were chosen, as they were sent, whatever the conflicts are now."""
        names = (name.removeprefix("choice_") for name, value in self.data.items() if value == "own")
        return [str(self.data.get(f"own_{name}", "")) for name in names]

    def written(self) -> list[str]:
        """Return the texts that were typed, for a page on which their conflicts are others."""
        typed = [str(value) for name, value in self.data.items() if name.startswith("own_") and value]
        return [text for text in typed if text not in {conflict.theirs for conflict in self.conflicts}]


def _text(row: ConflictFields, choice: str) -> str:
    if choice == "own":
        return with_line_breaks_of(row.conflict.ours, str(row.own.value() or ""))
    return row.conflict.theirs if choice == "proposed" else row.conflict.ours
