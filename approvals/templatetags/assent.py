"""How texts, changes, times and people look on a page.

Text of agents and memories is escaped here and never marked safe; the one exception is rendered
Markdown, which `approvals.markdown.rendering` has cleaned.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.dates import MONTHS_3
from django.utils.formats import number_format
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import capfirst
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.forms.proposal import ApproveForm
from approvals.markdown import rendering
from approvals.models import Kind, Mergeability, Proposal, RejectReason, ReviewReason, Status
from approvals.pages import inbox, note_list
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing, url_of
from approvals.pages.inbox_rows import InboxRow
from approvals.review import diff_mode
from approvals.risks import wording
from approvals.risks.flags import Risk
from memory_app.models import TargetKind
from memory_app.text import invisible
from memory_app.text.invisible import InvisibleMark, Letters, VisibleText, Whitespace
from memory_app.text.worddiff import Segment

register = template.Library()

#: How much of a reason a row has, in characters: more than two lines on a wide screen.
_OPENING = 280
_LOOKED_AT = 2_000
#: A reason of this many characters and lines stands above its change in full; of a longer one, the start.
_REASON_IN_FULL = 280
_REASON_START = 220
_REASON_LINES = 4
_MAY_BREAK = mark_safe("<wbr>")
#: Text that every reader sees as it is: nothing in it is hidden or of another script.
_ORDINARY = re.compile(r"[\n\x20-\x7e]*")
#: What stands for a row's own values in what is drawn once for all rows. The number has no proposal, and the
#: characters of the private area come from nowhere else: what people typed is drawn apart from the blanks.
_PK = 8_070_605_040_302_010
_AGENT, _SHA256, _BACK, _HEADLINE = "\ue001", "\ue002", "\ue003", "\ue004"
_BLANKS = re.compile(f"({_PK}|[{_AGENT}-{_HEADLINE}])")
_ACTIONS = "_row_actions"

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
    said = html.escape(_written(local))
    return SafeString(
        f'<time datetime="{local.isoformat(timespec="seconds")}" title="{said}">{html.escape(ago)}</time>'
    )


def _written(local: datetime) -> str:
    # As the format "j M Y, H:i" has it, which takes Django ten times as long to read.
    return f"{local.day} {MONTHS_3[local.month].title()} {local:%Y, %H:%M}"


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
    if _ORDINARY.fullmatch(text):
        return SafeString(html.escape(text))  # a list of 25 has 150 such texts, and looking at each took half its time
    return _drawn(invisible.visible(text))


@register.filter
def plain(text: object) -> str:
    """The same for where no mark-up can stand: titles, options, attributes, hidden words."""
    return invisible.plain(str(text))


def _drawn(parts: Iterable[VisibleText | Letters | InvisibleMark | Whitespace]) -> SafeString:
    return format_html_join("", "{}", ((_part(part),) for part in parts))


def _part(part: VisibleText | Letters | InvisibleMark | Whitespace) -> str:
    if isinstance(part, Letters):
        # The word stays readable: its letters are framed, and say what they are.
        return format_html(
            '<span class="stray" title="{}">{}<span class="stray-script"><span class="visually-hidden"> (</span>{}'
            '<span class="visually-hidden">) </span></span></span>',
            ", ".join(part.names),
            part.text,
            part.script,
        )
    if isinstance(part, InvisibleMark):
        return format_html('<span class="mark">{}</span>', part.label.strip("⟨⟩"))
    if isinstance(part, Whitespace):
        css = "space trailing" if part.trailing else "space"
        # The sign takes the place of the blank: where the line may break, or does, has to be said again.
        after = "\n" if part.text.endswith("\n") else _MAY_BREAK
        return format_html('<span class="{}">{}</span>{}', css, part.sign, after)
    return part.text


@register.filter(name="markdown")
def rendered(text: str, top: int = rendering.TOP) -> SafeString:
    """A text as HTML, its highest heading at level `top`."""
    return rendering.render(text, top=top)


@register.filter
def opening(text: str) -> SafeString:
    """The beginning of a text on one line, cut between words. Where there is less room, the style sheet clamps it."""
    flat = " ".join(text.strip()[:_LOOKED_AT].split())
    if len(flat) > _OPENING:
        cut = flat[:_OPENING]
        flat = f"{cut[: cut.rfind(' ', _OPENING // 2)] if ' ' in cut[_OPENING // 2 :] else cut}…"
    return marked(flat)


@dataclass(frozen=True)
class Opened:
    """A text cut for a page that shows its beginning first; `rest` is empty for a short one."""

    start: str
    rest: str


@register.filter
def opened(text: str) -> Opened:
    """A reason cut after a word where it is long, so that what it is about stays in view below it."""
    text = text.strip()
    if len(text) <= _REASON_IN_FULL and text.count("\n") <= _REASON_LINES:
        return Opened(text, "")
    start = "\n".join(text[:_REASON_START].split("\n")[:_REASON_LINES])
    whole_words = start.rpartition(" ")[0] if len(start) == _REASON_START else start
    start = (whole_words or start).rstrip()
    return Opened(start, text[len(start) :])


# -- changes --------------------------------------------------------------------------------------


@register.simple_tag
def line(segments: Iterable[Segment]) -> SafeString:
    """Segments in a row, as real insertions and deletions."""
    return SafeString("".join(_segment(segment.kind, segment.text) for segment in segments))


@register.simple_tag
def excerpt(parts: Sequence[Sequence[str]]) -> SafeString:
    """The stored excerpt of a change: segments, and gaps where text was left out."""
    return SafeString("".join(_segment(kind, text) for kind, text in parts))


@register.simple_tag
def source(segments: Iterable[Segment]) -> SafeString:
    """Segments with a sign for each blank, tab and line end."""
    return format_html_join(
        "",
        "{}",
        (
            (_changed(segment.kind, _drawn(invisible.mark_whitespace(segment.text, continues=True))),)
            for segment in segments
        ),
    )


def _segment(kind: str, text: str) -> SafeString:
    if kind == "gap":
        return format_html('<span class="gap">{}</span>', text)
    if kind != "same" and not text.strip():
        # A changed line end or blank is nothing to see: it gets a sign.
        return _changed(kind, _drawn(invisible.mark_whitespace(text, continues=True)))
    return _changed(kind, marked(text))


def _changed(kind: str, shown: SafeString) -> SafeString:
    if kind == "added":
        return SafeString(f'<ins><span class="visually-hidden">{html.escape(_("added:"))} </span>{shown}</ins>')
    if kind == "removed":
        return SafeString(f'<del><span class="visually-hidden">{html.escape(_("removed:"))} </span>{shown}</del>')
    return shown


@register.inclusion_tag("components/redline.html")
def redline(segments: Iterable[Segment]) -> dict[str, Any]:
    """Word-level redline with the unchanged paragraphs folded."""
    return {"redline": diff_mode.redline(segments)}


@register.simple_tag
def words(added: int, removed: int) -> SafeString:
    """How much was added and removed, if anything. The number says which by its sign, not by its colour."""
    if not (added or removed):
        return SafeString()
    plus = f'<span class="words-added">+{number(added)}</span> ' if added else ""
    minus = f'<span class="words-removed">−{number(removed)}</span> ' if removed else ""
    noun = html.escape(ngettext("word", "words", added + removed))
    return SafeString(f'<span class="words">{plus}{minus}{noun}</span>')


@register.filter
def type_name(type_: str) -> str:
    """What a type of notes is called."""
    return str(note_list.TYPE_NAMES.get(type_) or invisible.plain(type_))


@register.filter
def source_name(source: str) -> str:
    """Who wrote a note, in words."""
    return str(note_list.SOURCE_NAMES.get(source) or invisible.plain(source))


@register.simple_tag
def field_value(name: str, value: str | datetime) -> str:
    """A field of a note as a table shows it: a time in the viewer's zone, a type by its name, confidence in percent."""
    if isinstance(value, datetime):
        return when(value)
    if name == "confidence" and value:
        return _("%(percent)s%%") % {"percent": f"{float(value) * 100:.6g}"}
    if name == "type":
        return type_name(value)
    return source_name(value) if name == "source" else marked(value)


# -- proposals ------------------------------------------------------------------------------------


@register.simple_tag
def target_url(proposal: Proposal) -> str:
    """Where what a proposal is about can be read; for what is not there yet, the list it would be in."""
    return url_of_target(proposal)


@register.simple_tag
def proposal_url(proposal: Proposal, list_query: str = "", **more: object) -> str:
    """The page of a proposal, which leads back to the list it was opened from; `more` are parameters of the page."""
    url = proposal.get_absolute_url()
    parameters = ({"list": list_query} if list_query else {}) | more
    return f"{url}?{urlencode(parameters)}" if parameters else url


@register.simple_tag(takes_context=True)
def row_facts(context: template.Context, proposal: Proposal, single: inbox.Group | str = "") -> SafeString:
    """What a row says of its proposal on one line; for a target without a header of its own also whose and which it is.

    Args:
        single: the group of such a row.
    """
    facts: list[str] = []
    if isinstance(single, inbox.Group):
        if context.get("several_owners"):
            facts.append(html.escape(named(single.owner, context.get("names"))))
        if single.target_kind == TargetKind.BLOCK:
            link = f'<a href="{html.escape(url_of_target(proposal))}">{marked(single.title)}</a>'
            facts.append(f'<span class="row-target">{link}</span>')
        if single.total > 1:
            every = html.escape(_("all %(number)s proposals") % {"number": number(single.total)})
            facts.append(f'<a href="{html.escape(list_url_of(single, context["listing"]))}">{every}</a>')
    facts += [words(proposal.words_added, proposal.words_removed), html.escape(proposal.agent.name)]
    if proposal.is_decided:
        facts.append(f"{decided(proposal)} {age(proposal.decided_at)}")
    else:
        facts.append(age(proposal.created_at))
    return SafeString("".join(f"<span>{fact}</span>" for fact in facts if fact))


@register.simple_tag
def list_url_of(group: inbox.Group, listing: Listing) -> str:
    """The list narrowed to one target."""
    return url_of(listing.parameters | {"owner": group.owner, "target": group.target})


@register.simple_tag(takes_context=True)
def row_actions(context: template.Context, row: InboxRow) -> SafeString:
    """The forms of a row that decide about it. For a list they are drawn once, and each row's own values filled in:
    25 rows of six reasons each took two thirds of the page's time."""
    proposal, typed_form = row.proposal, context.get("reject_form")
    parts: list[str] | None = None if typed_form else context.dicts[0].get(_ACTIONS)
    if parts is None:
        stand_in = {"pk": _PK, "agent": {"name": _AGENT}}
        values = {
            "proposal": stand_in,
            "approve_url": reverse("approve", args=[_PK]),
            "reject_url": reverse("reject", args=[_PK]),
            "seen_sha256": _SHA256,
            "row_url": _BACK,
            "headline": _HEADLINE,
            "reject_form": typed_form,
        }
        drawn = render_to_string("inbox/row_actions.html", values, request=context.get("request"))
        parts = _BLANKS.split(drawn)
        if not typed_form:
            context.dicts[0][_ACTIONS] = parts
    own = {
        str(_PK): str(proposal.pk),
        _AGENT: html.escape(proposal.agent.name),
        _SHA256: html.escape(row.seen_sha256),
        _BACK: html.escape(str(context.get("row_url") or "")),
        _HEADLINE: str(headline(proposal)),
    }
    # Each part is looked at once: what is filled in may hold anything.
    return SafeString("".join(own.get(part, part) for part in parts))


@register.filter
def headline(proposal: Proposal) -> SafeString:
    """A proposal on one line: its reason, or where none was given what it does."""
    return opening(proposal.reasoning or capfirst(f"{Kind(proposal.kind).label}: {proposal.target_title}"))


@register.simple_tag
def policy_says(proposal: Proposal, *, is_own: bool, owner_name: str) -> str:
    """Why a person is asked about a proposal, or none was, in a sentence.

    Args:
        is_own: the viewer is the owner.
        owner_name: what the owner is called.
    """
    if proposal.target_kind == TargetKind.BLOCK:
        return _("Block changes always need approval.")
    if proposal.auto_applied:
        return _("Applied automatically.")
    if proposal.review_reason == ReviewReason.POLICY and is_own:
        return _("Your policy is to ask first when an agent writes notes.")
    if proposal.review_reason == ReviewReason.POLICY:
        return _("%(owner)s’s policy is to ask first when an agent writes notes.") % {"owner": owner_name}
    if proposal.review_reason == ReviewReason.SCOPE:
        return _("This agent’s token may only propose notes.")
    if proposal.review_reason == ReviewReason.SECRETS:
        return _(
            "The note, the agent’s reason or a message it quotes reads like a key, token, password or card number, "
            "so a person sees it first."
        )
    # Older than the column: which of the two it was is not known.
    return _("The owner’s policy is to ask first, or this agent’s token may only propose notes.")


@register.simple_tag
def chips(proposal: Proposal) -> SafeString:
    """What is out of the ordinary about a proposal; nothing for the ordinary one."""
    if _is_ordinary(proposal):
        return SafeString()
    values = {
        "proposal": proposal,
        "is_open": not proposal.is_decided,
        "stale": proposal.mergeability == Mergeability.REBASABLE,
        "conflict": proposal.mergeability == Mergeability.CONFLICT,
        "already": proposal.mergeability == Mergeability.ALREADY_APPLIED,
        "unknown": proposal.mergeability == Mergeability.UNKNOWN,
        "risks": [wording.title(key) for key in proposal.risks[:_CHIPS]],
        "more_risks": max(0, len(proposal.risks) - _CHIPS),
    }
    return render_to_string("components/chips.html", values)


def _is_ordinary(proposal: Proposal) -> bool:
    """Whether there is nothing to say of a proposal in chips, which need a template of their own."""
    fits = proposal.is_decided or proposal.mergeability == Mergeability.CLEAN
    is_edit = proposal.target_kind == TargetKind.BLOCK and proposal.kind != Kind.REWRITE
    is_changed = proposal.current_revision_number > 1 or proposal.is_redacted or proposal.reverted_by_commit
    return fits and is_edit and not is_changed and not proposal.risks


@register.simple_tag
def risk_title(risk: Risk) -> str:
    """A flag in two or three words."""
    return wording.title(risk.key)


@register.inclusion_tag("components/risk.html")
def risk_text(risk: Risk) -> dict[str, Any]:
    """A flag's title, its sentence and what was found."""
    return {
        "title": wording.title(risk.key),
        "sentence": wording.sentence(risk),
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
    if 0 <= value < 1_000:
        return str(value)
    return str(number_format(value, force_grouping=True))


@register.simple_tag
def percent(share_of_one: float) -> str:
    """A share of 1 in percent; what is there but rounds to nothing says so."""
    if 0 < share_of_one < 0.01:
        return _("less than 1%")
    return _("%(percent)d%%") % {"percent": round(share_of_one * 100)}


@register.simple_tag
def decided(proposal: Proposal) -> str:
    """The outcome in words: "Approved by Tim"."""
    who = proposal.decided_by.display_name if proposal.decided_by else ""
    outcomes = {
        Status.APPROVED: _("Approved by %(who)s"),
        Status.REJECTED: _("Rejected by %(who)s"),
        Status.WITHDRAWN: _("Withdrawn by %(agent)s"),
        Status.EXPIRED: _("Expired"),
        Status.APPLIED: _("Applied automatically"),
    }
    if proposal.is_closed_as_present:
        outcomes[Status.REJECTED] = _("Closed by %(who)s: already in memory")
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
