"""Forms of the memory pages: what may be typed, how it becomes service arguments, and where a refusal is shown.

No database work: the services answer whether a change is allowed, fits its limit or was overtaken.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from approvals.services import BlockFields
from approvals.services.errors import (
    ImportUnderWay,
    LabelInvalid,
    LabelTaken,
    LimitInvalid,
    NoteInvalid,
    OverLimit,
    Refused,
)
from memory_app.dolt.errors import DirtyMemory, EngineUnavailable, OutcomeUnknown
from memory_app.models import LABEL, MAX_BLOCK_LIMIT
from memory_app.reads import Block
from memory_app.text.edits import ForbiddenCharacter

MAX_DESCRIPTION = 1_000
MAX_COMMENT = 1_000

check_label = RegexValidator(
    rf"^{LABEL.pattern}\Z",
    _("Use a-z, 0-9, underscore and dash only, 64 at most, beginning with a letter or a digit."),
)


def with_line_breaks_of(original: str, typed: str) -> str:
    """Return `typed` with the line breaks a browser lost.

    Text areas always send CRLF. A body stored with LF must come back with LF, and an unchanged one must come back
    exactly; otherwise each save would change every line.
    """
    text = typed.replace("\r\n", "\n").replace("\r", "\n")
    if text == original.replace("\r\n", "\n").replace("\r", "\n"):
        return original
    if "\r\n" in original and "\n" not in original.replace("\r\n", ""):
        return text.replace("\n", "\r\n")
    return text


def comment_field(help_text: StrOrPromise) -> forms.CharField:
    """Return the field for why a person makes a change; the history keeps it."""
    return forms.CharField(label=_("Comment"), max_length=MAX_COMMENT, required=False, help_text=help_text)


class BlockForm(forms.Form):
    """The content of a block as its owner edits it."""

    title = forms.CharField(
        label=_("Title"),
        max_length=200,
        required=False,
        help_text=_("If empty, the label is shown."),
    )
    description = forms.CharField(
        label=_("Description"),
        max_length=MAX_DESCRIPTION,
        required=False,
        help_text=_("What belongs in this block. Agents read it too."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    body = forms.CharField(
        label=_("Text"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "class": "prose-input"}),
    )
    limit = forms.IntegerField(
        label=_("Limit in characters"),
        min_value=1,
        max_value=MAX_BLOCK_LIMIT,
        help_text=_("A change that would make the text longer is refused."),
    )
    read_only = forms.BooleanField(
        label=_("Read-only for agents"),
        required=False,
        help_text=_("Agents may read the block, but not propose changes to it."),
    )
    comment = comment_field(_("Why you’re making this change. Saved in the history."))
    loaded_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)

    @classmethod
    def initial_of(cls, block: Block) -> dict[str, Any]:
        """Return what the form shows for a block as it stands."""
        return {
            "title": block.title,
            "description": block.description,
            "body": block.body,
            "limit": block.limit,
            "read_only": block.read_only,
            "loaded_sha256": block.sha256,
        }

    def fields_of_block(self, current: Block | None) -> BlockFields:
        """Return what was typed, as service arguments.

        Args:
            current: the block it is typed over; what a form does not show is kept from it.
        """
        data = self.cleaned_data
        return BlockFields(
            title=data["title"],
            description=with_line_breaks_of(current.description if current else "", data["description"]),
            body=with_line_breaks_of(current.body if current else "", data["body"]),
            limit=data["limit"],
            read_only=data["read_only"],
            schema_ref=current.schema_ref if current else None,
        )


class NewBlockForm(BlockForm):
    """A block that does not exist yet: it needs a label, which is its name for agents and never changes."""

    label = forms.CharField(
        label=_("Label"),
        max_length=64,
        validators=[check_label],
        help_text=_("Its name for agents, like learning_goals. It cannot be changed later."),
        widget=forms.TextInput(attrs={"autocapitalize": "none", "autocomplete": "off", "spellcheck": "false"}),
    )
    field_order = ["label"]


class DeleteForm(forms.Form):
    """The confirmation of a deletion: which text was seen, and why it goes."""

    comment = comment_field(_("Why you’re deleting it. Saved in the history."))
    loaded_sha256 = forms.CharField(widget=forms.HiddenInput)


class RestoreForm(forms.Form):
    """The confirmation that an earlier version becomes the current one: which text was seen, and why."""

    comment = comment_field(_("Why you’re restoring it. Saved in the history."))
    # Empty where there was no block.
    loaded_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)


#: What a service raises instead of writing the memory.
REFUSALS = (Refused, ForbiddenCharacter, EngineUnavailable, OutcomeUnknown, DirtyMemory)


def add_refusal(form: forms.BaseForm, error: Exception) -> int:
    """Write on the form why a service refused, beside the field concerned. Return the HTTP status to answer with.

    Args:
        error: one of `REFUSALS`.
    """
    match error:
        case OverLimit():
            form.add_error("body" if "body" in form.fields else None, error.message)
        case LimitInvalid():
            form.add_error("limit", error.message)
        case LabelInvalid():
            form.add_error("label", error.message)
        case LabelTaken():
            form.add_error("label" if "label" in form.fields else None, error.message)
            return 409
        case ImportUnderWay():
            form.add_error(None, error.message)
            return 409
        case ForbiddenCharacter():
            form.add_error(
                error.field if error.field in form.fields else None,
                _("It contains the character %(code)s, which cannot be stored.") % {"code": error.code},
            )
        case NoteInvalid():
            form.add_error(error.field if error.field in form.fields else None, error.message)
        case Refused():
            form.add_error(None, error.message)
        case _:
            # Sending it again is safe even when this one did arrive: the sha256 shows it.
            form.add_error(
                None, _("The memory does not answer right now. Nothing you typed is lost; try again in a moment.")
            )
            return 503
    return 422
