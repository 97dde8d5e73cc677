"""How texts, changes, times and people look on a page.

Text of agents and memories is escaped here and never marked safe; the one exception is rendered
Markdown, which `approvals.markdown` has cleaned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.formats import date_format, number_format
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator, capfirst
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals import change_view, inbox, markdown, note_pages, risk_words
from approvals.forms import ApproveForm
from approvals.memory_pages import url_of_target
from approvals.models import Kind, Mergeability, Proposal, RejectReason, Status, WhyAsked
from approvals.risks import Risk
from memory_app import hidden
from memory_app.hidden import Letters, Mark, Text, Whitespace
from memory_app.worddiff import Segment

register = template.Library()

#: How much of a reason a row shows, in characters.
_OPENING = 140
_LOOKED_AT = 2_000
_MAY_BREAK = mark_safe("<wbr>")
#: How many risks a row names before it only counts them.
_CHIPS = 2


# -- times and people -----------------------------------------------------------------------------


@register.simple_tag
def when(at: datetime | None) -> str:
    """Date and time in the viewer's zone."""
    if at is None:
        return ""
    local = timezone.localtime(at)
    return format_html('<time datetime="{}">{}</time>', local.isoformat(timespec="seconds"), _written(local))


@register.simple_tag
def when_said(text: str) -> str:
    """A time an agent wrote down; shown as it stands where it is none."""
    try:
        at = parse_datetime(text)
    except ValueError:
        at = None
    if at is None:
        return plain(text)
    try:
        return when(at if timezone.is_aware(at) else timezone.make_aware(at, UTC))
    except OverflowError:  # the first or last day of the calendar, in another zone
        return plain(text)


@register.simple_tag
def age(at: datetime | None) -> str:
    """How long ago, with date and time on hover."""
    if at is None:
        return ""
    local = timezone.localtime(at)
    if (timezone.now() - at).total_seconds() < 60:
        ago = _("just now")
    else:
        ago = _("%(time)s ago") % {"time": timesince(at, depth=1)}
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', local.isoformat(timespec="seconds"), _written(local), ago
    )


def _written(local: datetime) -> str:
    return date_format(local, "j M Y, H:i")


@register.filter
def named(username: str, names: Mapping[str, str] | None) -> str:
    """What a person is called, from the names the view looked up."""
    return (names or {}).get(username, username)


@register.simple_tag(takes_context=True)
def person(context: template.Context, username: str) -> str:
    """What a person is called. One query per person and page; lists use `named`."""
    key = "_people"
    names: dict[str, str] = context.get(key) or {}
    if username not in names:
        names = names | inbox.names_of({username})
        context.dicts[0][key] = names
    return names.get(username, username)


# -- text -----------------------------------------------------------------------------------------


@register.filter  # a filter too, for the sentences of `blocktranslate`
@register.simple_tag
def marked(text: str) -> SafeString:
    """Text with a visible mark in the place of characters nobody could see."""
    return _drawn(hidden.visible(text))


@register.filter
def plain(text: object) -> str:
    """The same for where no mark-up can stand: titles, options, attributes, hidden words."""
    return hidden.plain(str(text))


def _drawn(parts: Iterable[Text | Letters | Mark | Whitespace]) -> SafeString:
    return format_html_join("", "{}", ((_part(part),) for part in parts))


def _part(part: Text | Letters | Mark | Whitespace) -> str:
    if isinstance(part, Letters):
        # The word stays readable: its letters are framed, and say what they are.
        return format_html(
            '<span class="stray" title="{}">{}<span class="stray-script"><span class="visually-hidden"> (</span>{}'
            '<span class="visually-hidden">) </span></span></span>',
            ", ".join(part.names),
            part.text,
            part.script,
        )
    if isinstance(part, Mark):
        return format_html('<span class="mark">{}</span>', part.label.strip("⟨⟩"))
    if isinstance(part, Whitespace):
        css = "space trailing" if part.trailing else "space"
        # The sign takes the place of the blank: where the line may break, or does, has to be said again.
        after = "\n" if part.text.endswith("\n") else _MAY_BREAK
        return format_html('<span class="{}">{}</span>{}', css, part.sign, after)
    return part.text


@register.filter(name="markdown")
def rendered(text: str) -> SafeString:
    return markdown.render(text)


@register.filter
def opening(text: str) -> SafeString:
    """The beginning of a text, on one line."""
    # The rest is not looked at: Django brings marks in order first, which takes long where thousands are piled up.
    return marked(Truncator(" ".join(text.strip()[:_LOOKED_AT].split())).chars(_OPENING))


# -- changes --------------------------------------------------------------------------------------


@register.simple_tag
def line(segments: Iterable[Segment]) -> SafeString:
    """Segments in a row, as real insertions and deletions."""
    return format_html_join("", "{}", ((_segment(segment.kind, segment.text),) for segment in segments))


@register.simple_tag
def excerpt(parts: Sequence[Sequence[str]]) -> SafeString:
    """The stored excerpt of a change: segments, and gaps where text was left out."""
    return format_html_join("", "{}", ((_segment(kind, text),) for kind, text in parts))


@register.simple_tag
def source(segments: Iterable[Segment]) -> SafeString:
    """Segments with a sign for each blank, tab and line end."""
    return format_html_join(
        "",
        "{}",
        (
            (_changed(segment.kind, _drawn(hidden.mark_whitespace(segment.text, continues=True))),)
            for segment in segments
        ),
    )


def _segment(kind: str, text: str) -> SafeString:
    if kind == "gap":
        return format_html('<span class="gap">{}</span>', text)
    if kind != "same" and not text.strip():
        # A changed line end or blank is nothing to see: it gets a sign.
        return _changed(kind, _drawn(hidden.mark_whitespace(text, continues=True)))
    return _changed(kind, marked(text))


def _changed(kind: str, shown: SafeString) -> SafeString:
    if kind == "added":
        return format_html('<ins><span class="visually-hidden">{} </span>{}</ins>', _("added:"), shown)
    if kind == "removed":
        return format_html('<del><span class="visually-hidden">{} </span>{}</del>', _("removed:"), shown)
    return shown


@register.inclusion_tag("components/redline.html")
def redline(segments: Iterable[Segment]) -> dict[str, Any]:
    """Word-level redline with the unchanged paragraphs folded."""
    return {"redline": change_view.redline(segments)}


@register.simple_tag
def words(added: int, removed: int) -> SafeString:
    """How much was added and removed, if anything. The number says which by its sign, not by its colour."""
    if not (added or removed):
        return SafeString()
    return format_html(
        '<span class="words"><span class="words-added">+{}</span> <span class="words-removed">−{}</span> {}</span>',
        added,
        removed,
        ngettext("word", "words", added + removed),
    )


@register.filter
def type_name(type_: str) -> str:
    """What a type of notes is called."""
    return str(note_pages.TYPE_NAMES.get(type_) or hidden.plain(type_))


@register.filter
def source_name(source: str) -> str:
    """Who wrote a note, in words."""
    return str(note_pages.SOURCE_NAMES.get(source) or hidden.plain(source))


@register.simple_tag
def field_value(name: str, value: str | datetime) -> str:
    """A field of a note as a table shows it: a time in the viewer's zone, a type by its name, confidence in percent."""
    if isinstance(value, datetime):
        return when(value)
    if name == "confidence" and value:
        return _("%(percent)s %%") % {"percent": f"{float(value) * 100:.6g}"}
    if name == "type":
        return type_name(value)
    return source_name(value) if name == "source" else marked(value)


# -- proposals ------------------------------------------------------------------------------------


@register.simple_tag
def target_url(proposal: Proposal) -> str:
    """Where what a proposal is about can be read; for what is not there yet, the list it would be in."""
    return url_of_target(proposal)


@register.filter
def headline(proposal: Proposal) -> SafeString:
    """A proposal on one line: its reason, or where none was given what it does."""
    return opening(proposal.reasoning or capfirst(f"{Kind(proposal.kind).label}: {proposal.target_title}"))


@register.simple_tag
def policy_says(proposal: Proposal) -> str:
    """Why a person was asked about a proposal, or none was."""
    if proposal.target_kind == "block":
        return _("changes to memory blocks always need a person")
    if proposal.by_policy:
        return _("the owner lets agents write notes without asking, so nobody was asked")
    if proposal.why_asked == WhyAsked.POLICY:
        return _("the owner wants to be asked before agents write notes")
    if proposal.why_asked == WhyAsked.SCOPE:
        return _("the agent’s token may propose notes, not write them")
    # Older than the column: which of the two it was is not known.
    return _("a person is asked: the owner wanted it so, or the agent’s token may only propose")


@register.inclusion_tag("components/chips.html")
def chips(proposal: Proposal) -> dict[str, Any]:
    """What is out of the ordinary about a proposal; nothing for the ordinary one."""
    return {
        "proposal": proposal,
        "is_open": not proposal.is_decided,
        "stale": proposal.mergeability == Mergeability.REBASABLE,
        "conflict": proposal.mergeability == Mergeability.CONFLICT,
        "already": proposal.mergeability == Mergeability.ALREADY_APPLIED,
        "unknown": proposal.mergeability == Mergeability.UNKNOWN,
        "risks": [risk_words.title(key) for key in proposal.risks[:_CHIPS]],
        "more_risks": max(0, len(proposal.risks) - _CHIPS),
    }


@register.inclusion_tag("components/risk.html")
def risk_text(risk: Risk) -> dict[str, Any]:
    """A flag's title, its sentence and what was found."""
    return {
        "title": risk_words.title(risk.key),
        "sentence": risk_words.sentence(risk),
        "examples": risk.params.get("examples", []),
        "more": risk.params.get("count", 0) - len(risk.params.get("examples", [])),
    }


@register.simple_tag
def share(part: int, whole: int) -> int:
    """Percent of a whole, for the length of a bar."""
    return min(100, round(100 * part / whole)) if whole else 0


@register.filter
def number(value: int) -> str:
    """A number with its thousands apart."""
    return str(number_format(value, force_grouping=True))


@register.simple_tag
def percent(share_of_one: float) -> str:
    """A share of 1 in percent; what is there but rounds to nothing says so."""
    if 0 < share_of_one < 0.01:
        return _("less than 1 %")
    return _("%(percent)d %%") % {"percent": round(share_of_one * 100)}


@register.simple_tag
def decided(proposal: Proposal) -> str:
    """The outcome in words: "Approved by Tim"."""
    who = proposal.decided_by.display_name if proposal.decided_by else ""
    outcomes = {
        Status.APPROVED: _("Approved by %(who)s"),
        Status.REJECTED: _("Rejected by %(who)s"),
        Status.WITHDRAWN: _("Withdrawn by %(agent)s"),
        Status.EXPIRED: _("Expired"),
        Status.SUPERSEDED: _("Superseded"),
        Status.APPLIED: _("Applied by policy"),
    }
    said = outcomes.get(Status(proposal.status), Status(proposal.status).label)
    return conditional_escape(str(said) % {"who": who, "agent": proposal.agent.name})


@register.inclusion_tag("components/reject_fields.html")
def reject_fields(proposal: Proposal, form: ApproveForm | None = None) -> dict[str, Any]:
    """The reasons and the free text, holding what `form` holds."""
    return {
        "proposal": proposal,
        "reasons": RejectReason.choices,
        "reason": _typed(form, "reason"),
        "comment": _typed(form, "comment"),
        "reason_errors": form.errors.get("reason", []) if form else [],
        "comment_errors": form.errors.get("comment", []) if form else [],
    }


@register.filter
def typed(form: ApproveForm | None, name: str) -> str:
    """What a form holds in a field; empty without a form."""
    return _typed(form, name)


def _typed(form: ApproveForm | None, name: str) -> str:
    if not form:  # a name the context does not have arrives as ""
        return ""
    return str(form[name].value() or "")
