"""Forms of the memory pages: what may be typed, how it becomes service arguments, and where a refusal is shown.

No database work: the services answer whether a change is allowed, fits its limit or was overtaken.
"""

import binascii
import zlib
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from django import forms
from django.core.validators import RegexValidator
from django.utils.functional import lazy
from django.utils.text import format_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from approvals.language import grouped
from approvals.pages.notes_page import TYPE_NAMES
from approvals.services import BlockFields
from approvals.services.blocks import MOST_DESCRIPTION, MOST_TITLE
from approvals.services.bulk_notes import MOST_NOTES, BulkAction
from approvals.services.errors import Refusal
from assent_client.text import notes
from assent_client.text.memories_md import LARGEST_FILE, MOST_MEMORIES
from memory_app.dolt.errors import DirtyMemory, EngineUnavailable, MemoryMoving, OutcomeUnknown
from memory_app.models import LABEL, MAX_BLOCK_LIMIT
from memory_app.reads import Block, Note
from memory_app.text.edits import ForbiddenCharacter

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


def tags_of(typed: str, known: Sequence[str]) -> tuple[str, ...]:
    """Return the tags in a text field. A tag may contain a comma: unchanged, they come back as they are `known`."""
    return tuple(known) if typed.strip() == ", ".join(known) else tuple(typed.split(","))


def comment_field(help_text: StrOrPromise) -> forms.CharField:
    """Return the field for why a person makes a change; the history keeps it."""
    return forms.CharField(label=_("Comment"), max_length=MAX_COMMENT, required=False, help_text=help_text)


FIELDS_OF_BLOCK = ("title", "description", "body", "limit", "read_only")


class BlockForm(forms.Form):
    """The content of a block as its owner edits it."""

    title = forms.CharField(
        label=_("Title"), max_length=MOST_TITLE, required=False, help_text=_("If empty, the label is shown.")
    )
    description = forms.CharField(
        label=_("Description"),
        max_length=MOST_DESCRIPTION,
        required=False,
        help_text=_("What belongs in this block. Agents read it too."),
        widget=forms.Textarea(attrs={"rows": 2}),
    )
    body = forms.CharField(
        label=_("Text"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 18, "class": "prose-input", "dir": "auto", "lang": ""}),
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
        return {name: getattr(block, name) for name in FIELDS_OF_BLOCK} | {"loaded_sha256": block.sha256}

    def fields_of_block(self, current: Block | None) -> BlockFields:
        """Return what was typed, as service arguments.

        Args:
            current: the block it is typed over; what a form does not show is kept from it.
        """
        typed = {name: self.cleaned_data[name] for name in FIELDS_OF_BLOCK}
        for name in ("description", "body"):
            typed[name] = with_line_breaks_of(getattr(current, name, ""), typed[name])
        return BlockFields(**typed, schema_ref=current.schema_ref if current else None)


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
REFUSALS = (Refusal, ForbiddenCharacter, EngineUnavailable, OutcomeUnknown, DirtyMemory)


def add_refusal(form: forms.BaseForm, error: Exception) -> int:
    """Write on the form why a service refused, beside the field concerned. Return the HTTP status to answer with.

    Args:
        error: one of `REFUSALS`.
    """
    if not isinstance(error, Refusal | ForbiddenCharacter):
        # Sending it again is safe even when this one did arrive: the sha256 shows it.
        text = _("The memory does not answer right now. Nothing you typed is lost; try again in a moment.")
        if isinstance(error, MemoryMoving):
            text = _("This memory is under maintenance. Nothing you typed is lost; try again in a moment.")
        form.add_error(None, text)
        return 503
    field = error.field if isinstance(error, ForbiddenCharacter) else error.details.get("field")
    form.add_error(field if field in form.fields else None, in_words(error))
    return 422 if isinstance(error, ForbiddenCharacter) else error.status


def in_words(error: Exception) -> str:
    """Return a refusal of a text as a sentence."""
    if isinstance(error, ForbiddenCharacter):
        return gettext("It contains the character %(code)s, which cannot be stored.") % {"code": error.character}
    return str(error)


#: Characters of a checked file that a form carries, about 20,000 notes: it must survive an expired session with it.
MOST_CARRIED = 1_500_000


class NoteForm(forms.Form):
    """What a note says, as its owner writes it."""

    # No max_length: browsers cut what is pasted to it, and line ends are sent as two characters.
    content = forms.CharField(
        label=_("Note"),
        strip=False,
        help_text=_("One statement, at most 2,000 characters."),
        widget=forms.Textarea(attrs={"rows": 5, "class": "prose-input note-input", "dir": "auto", "lang": ""}),
    )
    type = forms.ChoiceField(label=_("Type"), choices=lambda: list(TYPE_NAMES.items()), initial="note")
    tags = forms.CharField(
        label=_("Tags"), required=False, max_length=1_000, help_text=_("Separated by commas, like exams, statistics.")
    )
    category = forms.CharField(label=_("Category"), required=False, max_length=64)
    confidence = forms.FloatField(
        label=_("Confidence"),
        min_value=0,
        max_value=1,
        initial=0.8,
        help_text=_("From 0, a guess, to 1, certain."),
        widget=forms.NumberInput(attrs={"step": "any"}),
    )
    rationale = forms.CharField(
        label=_("Source"), required=False, max_length=2_000, widget=forms.Textarea(attrs={"rows": 2})
    )
    comment = comment_field(_("Saved in the history."))
    loaded_sha256 = forms.CharField(required=False, widget=forms.HiddenInput)

    @classmethod
    def initial_of(cls, note: Note) -> dict[str, Any]:
        """Return what the form shows for a note as it stands."""
        shown = {name: getattr(note, name) for name in ("content", "type", "category", "confidence", "rationale")}
        return shown | {"tags": ", ".join(note.tags), "loaded_sha256": note.sha256}

    def fields_of_note(self, current: Note | None) -> dict[str, Any]:
        """Return what was typed, as fields of a note.

        Args:
            current: the note it is typed over, whose line breaks are kept.
        """
        data = self.cleaned_data
        return {
            "content": with_line_breaks_of(current.content if current else "", data["content"]),
            "type": data["type"],
            "tags": tags_of(data["tags"], current.tags if current else ()),
            "category": data["category"] or None,
            "confidence": data["confidence"],
            "rationale": with_line_breaks_of((current and current.rationale) or "", data["rationale"]) or None,
        }


class ReinstateNoteForm(DeleteForm):
    """The confirmation that a superseded note is true again."""

    comment = comment_field(_("Why it is true again. Saved in the history."))


class SupersedeNoteForm(forms.Form):
    """Marking a note as outdated, and choosing the one that takes its place from those that words find."""

    reason = forms.CharField(
        label=_("Why it is no longer true"), max_length=MAX_COMMENT, required=False, widget=forms.Textarea({"rows": 2})
    )
    words = forms.CharField(
        label=_("Search by words or id"),
        max_length=200,
        required=False,
        widget=forms.TextInput(attrs={"type": "search", "autocomplete": "off"}),
    )
    #: What the list that `replacement_id` was chosen from was found by.
    searched = forms.CharField(max_length=200, required=False, widget=forms.HiddenInput)
    replacement_id = forms.CharField(max_length=64, required=False)
    loaded_sha256 = forms.CharField(widget=forms.HiddenInput)

    def clean(self) -> None:
        """Take words typed after the list was made for an id, or ask to search for them; never ignore them."""
        cleaned = self.cleaned_data
        words = cleaned.get("words", "")
        if words and words != cleaned.get("searched", ""):
            if notes.ID.fullmatch(words) and not cleaned.get("replacement_id"):
                cleaned["replacement_id"] = words
            else:
                self.add_error("words", _("Choose one of the notes found, or “No replacement”."))

    def outcome(self) -> tuple[str, str]:
        """Return why the note is no longer true, and which one takes its place; empty where neither is said."""
        return self.cleaned_data["reason"].strip(), self.cleaned_data["replacement_id"]


class BulkForm(forms.Form):
    """What is done to the notes that were selected."""

    action = forms.ChoiceField(choices=[(each.value, each.value) for each in BulkAction], widget=forms.HiddenInput)
    #: A line for each note: its id and the sha256 it was shown with.
    seen = forms.CharField(widget=forms.HiddenInput)
    add_tags = forms.CharField(
        label=_("Tags to add"), required=False, max_length=1_000, help_text=_("Separated by commas.")
    )
    remove_tags = forms.CharField(
        label=_("Tags to remove"), required=False, max_length=1_000, help_text=_("Separated by commas.")
    )
    comment = comment_field(_("Saved in the history."))

    def clean_seen(self) -> dict[str, str]:
        """Return the notes as `services.bulk_notes.change_many` takes them."""
        lines = (line.split() for line in self.cleaned_data["seen"].splitlines())
        seen = {line[0]: line[1] for line in lines if len(line) == 2}
        if not seen or len(seen) > MOST_NOTES:
            raise forms.ValidationError(_("Select the notes again."))
        return seen

    def clean(self) -> None:
        tags = [self.cleaned_data.get(name, "").strip() for name in ("add_tags", "remove_tags")]
        if self.cleaned_data.get("action") == BulkAction.RETAG and not any(tags):
            self.add_error("add_tags", _("Name a tag to add or to remove."))


class ImportForm(forms.Form):
    """A memories.md to bring in: chosen as a file, or carried by the page that checked it and says what it would do."""

    file = forms.FileField(
        label=_("File"),
        help_text=format_lazy(
            _(
                "A memories.md in UTF-8, as the export or the memory command writes it: at most {size} MiB and {count} "
                "memories of 2,000 characters each."
            ),
            size=LARGEST_FILE // (1024 * 1024),
            count=lazy(grouped, str)(MOST_MEMORIES),
        ),
        widget=forms.FileInput(attrs={"accept": ".md,.markdown,.txt,text/markdown,text/plain"}),
    )
    #: The file, compressed, in base64.
    carried = forms.CharField(widget=forms.HiddenInput, strip=False)
    file_name = forms.CharField(required=False, max_length=200, widget=forms.HiddenInput)
    comment = comment_field(_("Saved in the history."))

    def __init__(self, data: Mapping[str, Any] | None = None, *args: Any, **more: Any) -> None:
        super().__init__(data, *args, **more)
        #: The field that the file comes in.
        self.source = "carried" if data and "carried" in data else "file"
        if self.is_bound:
            del self.fields["file" if self.source == "carried" else "carried"]

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > LARGEST_FILE:
            raise forms.ValidationError(
                _("The file is larger than %(limit)d MiB."), params={"limit": LARGEST_FILE // (1024 * 1024)}
            )
        return file

    def clean_carried(self) -> bytes:
        """Return the file's bytes."""
        try:
            return unpacked(self.cleaned_data["carried"])
        except ValueError:
            raise forms.ValidationError(_("The file did not arrive whole. Please choose it again.")) from None

    @cached_property
    def sent(self) -> tuple[bytes, str]:
        """Return the bytes of the file of a valid form, and its name."""
        if self.source == "carried":
            return self.cleaned_data["carried"], self.cleaned_data["file_name"]
        file = self.cleaned_data["file"]
        return file.read(), file.name


def packed(data: bytes) -> str:
    """Return a file as a form carries it; empty for one that is too large for that."""
    carried = b64encode(zlib.compress(data)).decode()
    return carried if len(carried) <= MOST_CARRIED else ""


def unpacked(carried: str) -> bytes:
    """Return the file that `packed` made this of.

    Raises:
        ValueError: it is none, or larger than a file may be.
    """
    unpacker = zlib.decompressobj()
    try:
        data = unpacker.decompress(b64decode(carried, validate=True), LARGEST_FILE + 1)
    except (binascii.Error, zlib.error) as error:
        raise ValueError("not a file that was carried") from error
    if len(data) > LARGEST_FILE or not unpacker.eof:
        raise ValueError("not the whole file")
    return data
