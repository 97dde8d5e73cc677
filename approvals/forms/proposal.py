"""The forms about proposals: deciding about one, asking its agent for changes, a text of one's own, a comment; which of
its changes are ticked; deciding about several."""

from __future__ import annotations

import re
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django import forms
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from approvals import services
from approvals.forms.memory import with_line_breaks_of
from approvals.models import RejectReason
from approvals.permissions import ReviewAction
from approvals.review.reworded import Rewording
from approvals.services.hand_back import REASONS
from approvals.services.talk import MOST_CHARACTERS
from memory_app.text.merge import Conflict

_CHOOSE_REASON = _("Choose a reason; the agent learns from it.")


class ApproveForm(forms.Form):
    """What a decision names: the revision that was shown, and the target it was shown against.

    Attributes:
        named: the fields that the service of the decision takes.
    """

    named: ClassVar[tuple[str, ...]] = ("revision", "seen_sha256", "comment", "is_with_agent", "despite_warnings")
    revision = forms.IntegerField(min_value=1, max_value=10_000, widget=forms.HiddenInput)
    # Empty when the block was missing.
    seen_sha256 = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    comment = forms.CharField(required=False, max_length=2_000)
    # The page said that its agent is asked for changes.
    is_with_agent = forms.BooleanField(required=False, widget=forms.HiddenInput)
    # The second press of a button that approves what has warnings.
    despite_warnings = forms.BooleanField(required=False, widget=forms.HiddenInput)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the service that takes this decision."""
        return {name: value for name, value in self.cleaned_data.items() if name in self.named}


class ApproveSomeForm(ApproveForm):
    """Approving the ticked changes: what becomes of the others."""

    named = ("revision", "seen_sha256", "comment", "despite_warnings", "rest")
    rest = forms.TypedChoiceField(
        choices=[(services.Rest.AGENT, ""), (services.Rest.REJECT, "")],
        coerce=services.Rest,
        error_messages={"required": _("Choose what happens to the changes you left out.")},
    )
    rest_reason = forms.ChoiceField(
        choices=[("", ""), *((reason.value, reason.label) for reason in services.REASONS_FOR_REST)], required=False
    )

    def clean(self) -> None:
        if self.cleaned_data.get("rest") == services.Rest.REJECT and not self.cleaned_data.get("rest_reason"):
            self.add_error("rest_reason", _CHOOSE_REASON)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the service, but for what is accepted."""
        return super().arguments() | {"reason": self.cleaned_data["rest_reason"]}


def seen_of(texts: Rewording) -> dict[str, Any]:
    """Return what a decision about these texts names."""
    return {"revision": texts.revision.number, "seen_sha256": texts.seen_sha256}


class OwnTextForm(ApproveForm):
    """Approving a text of the reviewer's own.

    Args:
        texts: what it is written from; None where there is nothing to reword any more.
    """

    named: ClassVar[tuple[str, ...]] = ("revision", "seen_sha256", "comment", "despite_warnings")

    def __init__(self, texts: Rewording | None, data: Mapping[str, Any] | None = None, **more: Any) -> None:
        initial = {**more.pop("initial", {}), **(seen_of(texts) if texts else {})}
        super().__init__(data, initial=initial, **more)
        self.texts = texts


class RewordForm(OwnTextForm):
    """The whole text, to edit a proposal or to settle a conflict by hand. Of a new block the title can be changed too,
    and the text may be empty."""

    named = (*OwnTextForm.named, "title")
    text = forms.CharField(required=False, strip=False)
    title = forms.CharField(max_length=200, required=False)

    def __init__(self, texts: Rewording | None, *args: Any, **more: Any) -> None:
        super().__init__(texts, *args, **more)
        if not (texts and texts.new_block):
            del self.fields["title"]

    def clean(self) -> None:
        is_empty = "text" in self.cleaned_data and not self.cleaned_data["text"].strip()
        if is_empty and not (self.texts and self.texts.new_block):
            self.add_error(
                "text", _("The text is empty. To delete it, reject this proposal and delete it on its page.")
            )

    def result(self) -> str:
        """Return what was typed with the line breaks of the proposed text."""
        return with_line_breaks_of(self.texts.proposed if self.texts else "", str(self["text"].value() or ""))


class CloseForm(ApproveForm):
    """Closing what is already in the memory."""

    named = ("revision", "seen_sha256", "is_with_agent")


class UndoForm(forms.Form):
    """Undoing: with `seen_sha256`, as the page of undoing showed it."""

    seen_sha256 = forms.CharField(max_length=64, required=False, widget=forms.HiddenInput)
    is_shown = forms.BooleanField(required=False, widget=forms.HiddenInput)
    comment = forms.CharField(required=False, max_length=2_000)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of the service. A target that is gone has no hash, but was shown."""
        seen = self.cleaned_data["seen_sha256"] if self.cleaned_data["is_shown"] else None
        return {"seen_sha256": seen, "comment": self.cleaned_data["comment"]}


class RejectForm(ApproveForm):
    named = ("revision", "reason", "comment", "is_with_agent")
    reason = forms.ChoiceField(choices=RejectReason, error_messages={"required": _CHOOSE_REASON})

    def clean(self) -> None:
        _require_words(self)


def _require_words(form: forms.Form) -> None:
    """Have people say what is wrong where no reason offered says it."""
    if form.cleaned_data.get("reason") == RejectReason.OTHER and not form.cleaned_data.get("comment"):
        form.add_error("comment", _("Please say what’s wrong."))


@dataclass(frozen=True)
class Ticks:
    """The ticks on the changes of a proposal, as a page sends them: those on its other pages and views count too.

    Args:
        all: every change is ticked but for the exceptions; otherwise only these are.
    """

    all: bool = True
    exceptions: frozenset[str] = frozenset()

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Ticks:
        """Return the ticks as a form carries them; all, where it has none.

        Args:
            fields: `shown` and `accepted` are ids with blanks between them, and so are `exceptions`; `ticked` says
                what counts for the others.
        """
        here, ticked = (frozenset(fields.get(name, "").split()) for name in ("shown", "accepted"))
        if ticked and not here:
            return cls(False, ticked)
        before = cls(fields.get("ticked") != "none", frozenset(fields.get("exceptions", "").split()))
        # A tick on a change that the page does not name stays an exception: it is refused, not passed over.
        now = (here - ticked if before.all else here & ticked) | (ticked - here)
        return cls(before.all, (before.exceptions - here) | now)

    @classmethod
    def sent(cls, data: QueryDict) -> Ticks:
        return cls.of({name: " ".join(data.getlist(name)) for name in ("shown", "accepted", "ticked", "exceptions")})

    def moved(self, was: Sequence[str], ids: Sequence[str]) -> Ticks:
        """Return the ticks on a text that changed since, by which changes may have got other ids.

        Args:
            was: the ids in the order in which they were shown. As many as now, they are taken for the same changes.
                Otherwise only what is known for certain stays ticked.
        """
        if self.exceptions <= frozenset(ids):
            return self
        if len(was) == len(ids):
            names = dict(zip(was, ids, strict=True))
            return Ticks(self.all, frozenset(names.get(id_, id_) for id_ in self.exceptions) & frozenset(ids))
        return Ticks(False, frozenset(id_ for id_ in was if self.is_on(id_)) & frozenset(ids))

    def without(self, ids: frozenset[str]) -> Ticks:
        """Return the ticks with these changes left out."""
        return Ticks(self.all, self.exceptions | ids if self.all else self.exceptions - ids)

    @property
    def is_everything(self) -> bool:
        return self.all and not self.exceptions

    def is_on(self, id_: str) -> bool:
        return (id_ in self.exceptions) != self.all

    def accepted(self, ids: Collection[str]) -> frozenset[str]:
        """Return which of a proposal's changes are ticked, with every id named that is none of them."""
        return frozenset(filter(self.is_on, ids)) | (self.exceptions - frozenset(ids))


class RequestChangesForm(ApproveForm):
    """What should change, in words, and why."""

    named = ("revision", "comment", "reason")
    comment = forms.CharField(
        max_length=2_000,
        error_messages={"required": _("Please say what should change; the agent has nothing else to go by.")},
    )
    reason = forms.ChoiceField(required=False, choices=[(reason.value, reason.label) for reason in REASONS])


class BackToReviewForm(ApproveForm):
    """Taking back a request for changes."""

    named = ("revision",)


class ResolveForm(OwnTextForm):
    """Keep the current text, use what was proposed, or write your own, for each conflict."""

    def __init__(self, texts: Rewording | None, *args: Any, **more: Any) -> None:
        super().__init__(texts, *args, **more)
        self.conflicts = texts.conflicts if texts else ()
        for number, conflict in enumerate(self.conflicts, 1):
            self.fields[f"choice_{number}"] = forms.ChoiceField(
                choices=[(each, each) for each in ("now", "proposed", "own")],
                error_messages={"required": _("Choose which text to keep here.")},
            )
            self.fields[f"own_{number}"] = forms.CharField(
                required=False, strip=False, max_length=200_000, initial=conflict.theirs or conflict.ours
            )

    def clean(self) -> None:
        for row in self.rows():
            own = str(row["own"].value() or "").split()
            written = own and own != str(row["own"].initial).split()
            if written and self.cleaned_data.get(row["choice"].name) in ("now", "proposed"):
                self.add_error(
                    row["choice"].name,
                    _("You wrote a text of your own and chose another one. Choose yours, or clear its field."),
                )

    def rows(self) -> list[dict[str, Any]]:
        """Return each conflict with its two fields."""
        return [
            {"number": number, "conflict": each, "choice": self[f"choice_{number}"], "own": self[f"own_{number}"]}
            for number, each in enumerate(self.conflicts, 1)
        ]

    @property
    def undecided(self) -> int:
        return sum(not row["choice"].value() for row in self.rows())

    def result(self) -> str:
        """Return the text with what was chosen for each conflict; where nothing is yet, with what is there now."""
        assert self.texts
        chosen = []
        for row in self.rows():
            conflict: Conflict = row["conflict"]
            own = with_line_breaks_of(conflict.ours, str(row["own"].value() or ""))
            chosen.append({"own": own, "proposed": conflict.theirs}.get(row["choice"].value(), conflict.ours))
        return self.texts.settled(chosen)

    def chosen_own(self) -> list[str]:
        """Return the texts of one's own that were chosen, as they were sent, whatever the conflicts are now."""
        names = (name.removeprefix("choice_") for name, value in self.data.items() if value == "own")
        return [str(self.data.get(f"own_{name}", "")) for name in names]

    def written(self) -> list[str]:
        """Return the texts that were typed, for a page on which their conflicts are others."""
        typed = [str(value) for name, value in self.data.items() if name.startswith("own_") and value]
        return [text for text in typed if text not in {conflict.theirs for conflict in self.conflicts}]


#: The name of a tick, for one proposal or for one change of several people.
_NAME = re.compile(r"(?:item|group)-\d{1,9}", re.ASCII)
#: What stands in its value for each proposal: its number, the revision and the state of the target that were shown.
_SHOWN = re.compile(r"(\d{1,9}):(\d{1,9}):([0-9a-f]{0,64}|-)", re.ASCII)


class SeveralForm(forms.Form):
    """What is said about all of them. `batch` is one per page, so that pressing twice decides once."""

    action = forms.TypedChoiceField(
        choices=[(each, each) for each in (ReviewAction.APPROVE, ReviewAction.REJECT)], coerce=ReviewAction
    )
    batch = forms.RegexField(r"^[0-9a-f]{32}\Z", required=False)
    reason = forms.ChoiceField(choices=RejectReason, required=False)
    comment = forms.CharField(required=False, max_length=2_000)

    def clean(self) -> None:
        if self.cleaned_data.get("action") != ReviewAction.REJECT:
            self.cleaned_data["reason"] = ""
        elif not self.cleaned_data.get("reason") and "reason" not in self.errors:
            self.add_error("reason", _CHOOSE_REASON)
        _require_words(self)


def ticked(fields: Mapping[str, str]) -> list[services.Item]:
    """Return the proposals that are ticked in a form; anything else in it is left out."""
    shown = [
        _SHOWN.fullmatch(each) for name, value in fields.items() if _NAME.fullmatch(name) for each in value.split()
    ]
    return [services.Item(int(each[1]), int(each[2]), None if each[3] == "-" else each[3]) for each in shown if each]


def is_tick(name: str) -> bool:
    """Whether a field of a form is a tick."""
    return bool(_NAME.fullmatch(name))


def new_batch() -> str:
    return uuid.uuid4().hex


def everybodys_agent() -> dict[str, Any]:
    """Return what stands for the proposal in fields that are drawn for several."""
    return {"pk": "several", "agent": {"name": _("the agent")}}


class CommentForm(forms.Form):
    """A comment. Its field is not called `comment`, as that of a decision on the same page is."""

    said = forms.CharField(max_length=MOST_CHARACTERS, error_messages={"required": _("Please write something.")})
    change = forms.CharField(required=False, max_length=64)
    # One form, one comment: sent twice, it is the same.
    nonce = forms.RegexField(regex=r"^[0-9a-f]{32}\Z")


class AssignForm(forms.Form):
    to = forms.CharField(required=False, max_length=64)
