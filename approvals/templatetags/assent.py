"""How texts, changes, times, people and proposals look on a page: `{% load assent %}`.

Called by templates and, for texts, by the admin; a tag decides nothing and writes nothing. Texts of agents and memories
are escaped here and never marked safe; the one exception is rendered Markdown, which `approvals.markdown.rendering` has
cleaned.
"""

import html
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django import template
from django.contrib.humanize.templatetags.humanize import NaturalTimeFormatter
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.dates import MONTHS_3
from django.utils.formats import date_format, number_format
from django.utils.html import conditional_escape, format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.text import capfirst
from django.utils.timesince import timesince
from django.utils.translation import get_language, ngettext, pgettext
from django.utils.translation import gettext as _

from approvals.accounts.sign_in import display_names
from approvals.forms.proposal import ApproveForm, everybodys_agent, new_batch
from approvals.language import grouped
from approvals.markdown import marks, rendering
from approvals.markdown.fragments import drawn_fragment
from approvals.models import Approval, Event, Kind, Proposal, RejectReason, Status, TrustRule
from approvals.pages import notes_page
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing, url_of
from approvals.review import diff_mode, summary, trust
from approvals.review.turn import thread_summary
from approvals.risks.flags import Risk
from approvals.services.close import BEFORE_EXPIRY
from approvals.services.hand_back import REASONS
from assent_client.text import invisible
from memory_app import conversations
from memory_app.text import worddiff
from memory_app.text.lines import first_words
from memory_app.text.worddiff import Paragraph, Segment

register = template.Library()

# -- Texts of agents and memories.

#: How much of a reason a row has, in characters: more than two lines on a wide screen.
_OPENING = 280
_LOOKED_AT = 2_000
#: A reason of this many characters and lines stands above its change in full; of a longer one, the start.
_REASON_IN_FULL = 280
_REASON_START = 220
_REASON_LINES = 4


marked = register.simple_tag(marks.marked)


@register.filter
def bdi(text: str) -> SafeString:
    """Return text of anybody for a line of ours: in a language that is not known, and in its own direction.

    An element with nothing else in it says both itself: `dir="auto" lang=""` and `{% marked %}`.
    """
    return format_html('<bdi lang="">{}</bdi>', text if isinstance(text, SafeString) else marked(text))


@register.filter
def plain(text: object) -> str:
    """Return the same as plain text, where no markup is possible: titles, options, attributes, hidden words."""
    return invisible.plain(str(text))


@register.filter
def code_spans(text: str) -> SafeString:
    """Return a sentence of ours, what it has between backticks as code."""
    parts = text.split("`")
    return format_html_join(
        "", "{}", ((part if at % 2 == 0 else format_html("<code>{}</code>", part),) for at, part in enumerate(parts))
    )


@register.filter(name="markdown")
def rendered(text: str, top: int = rendering.TOP) -> SafeString:
    """Return a text as HTML, its highest heading at level `top`."""
    return rendering.render(text, top=top)


@register.filter
def opening(text: str) -> SafeString:
    """Return the beginning of a text on one line, cut between words; the style sheet clamps it further."""
    return marked(first_words(text.strip()[:_LOOKED_AT], _OPENING))


@register.filter
def opened(text: str) -> dict[str, str]:
    """Return a reason cut after a word where it is long, so that what it is about stays in view below it.

    The `rest` of a short one is empty.
    """
    text = text.strip()
    if len(text) <= _REASON_IN_FULL and text.count("\n") <= _REASON_LINES:
        return {"start": text, "rest": ""}
    start = "\n".join(text[:_REASON_START].split("\n")[:_REASON_LINES])
    whole_words = start.rpartition(" ")[0] if len(start) == _REASON_START else start
    start = (whole_words or start).rstrip()
    return {"start": start, "rest": text[len(start) :]}


# -- Times, numbers and shares, numbers as links to the lists they count, and what people are called.


@register.simple_tag
def when(at: datetime | None) -> str:
    """Return the date and time in the viewer's zone."""
    if at is None:
        return ""
    local = timezone.localtime(at)
    return format_html('<time datetime="{}">{}</time>', local.isoformat(timespec="seconds"), _written(local))


@register.simple_tag
def when_said(text: str) -> str:
    """Return a time an agent wrote down; text that is no time comes back as it is."""
    try:
        at = parse_datetime(text)
        return when(at if timezone.is_aware(at) else timezone.make_aware(at, UTC)) if at else bdi(text)
    except (ValueError, OverflowError):  # the first or last day of the calendar has no time in another zone
        return bdi(text)


@register.simple_tag
def age(at: datetime | None) -> str:
    """Return how long ago it was, with date and time on hover."""
    if at is None:
        return ""
    local = timezone.localtime(at)
    is_new = (timezone.now() - at).total_seconds() < 60
    ago = (
        _("just now")
        if is_new
        else _("%(time)s ago") % {"time": timesince(at, depth=1, time_strings=NaturalTimeFormatter.past_substrings)}
    )
    exactly = local.isoformat(timespec="seconds")
    return format_html('<time datetime="{}" title="{}">{}</time>', exactly, _written(local), ago)


def _written(local: datetime) -> str:
    # As the format "j M Y, H:i" has it, which takes Django ten times as long to read.
    month = MONTHS_3[local.month].title()
    return _("%(day)d %(month)s %(year)d, %(time)s") % {
        "day": local.day, "month": month, "year": local.year, "time": f"{local:%H:%M}"
    }  # fmt: skip


@register.filter
def number(value: int) -> str:
    """Return a number with separators between thousands."""
    if 0 <= value < 1_000:
        return str(value)
    return grouped(value)


@register.filter
def milliseconds(value: float) -> str:
    """Return how long something took: "3 ms", "1.2 s"."""
    if value >= 1_000:
        return _("%(seconds)s s") % {"seconds": number_format(value / 1_000, decimal_pos=1)}
    return _("%(number)d ms") % {"number": max(1, round(value))}


@register.simple_tag
def percent(share_of_one: float) -> str:
    """Return a share of 1 in percent; below one percent, say so."""
    if 0 < share_of_one < 0.01:
        return _("less than 1%")
    return _("%(percent)d%%") % {"percent": int(share_of_one * 100)}


@register.simple_tag
def share(part: int, whole: int) -> int:
    """Return the percentage of a whole, for the length of a bar."""
    return min(100, round(100 * part / whole)) if whole else 0


@register.simple_tag
def listed(count: int, words: str = "", **parameters: str) -> SafeString:
    """Return a number as a link to the list it counts; a plain 0 without one. Empty parameters do not narrow it."""
    if not count:
        return SafeString("0")
    url = url_of({name: value for name, value in parameters.items() if value})
    return format_html('<a href="{}">{}{}{}</a>', url, number(count), " " if words else "", words)


@register.simple_tag
def cell(title: str, count: int, **parameters: str) -> SafeString:
    """Return a cell of a table that a narrow screen lays out as cards: a number with its list, and what it counts."""
    if not count:
        return SafeString('<td role="cell" class="none"><span aria-hidden="true">–</span></td>')
    shown = listed(count, **parameters) if parameters else number(count)
    return format_html('<td role="cell" data-title="{}">{}</td>', title, shown)


@register.filter
def day_and_month(at: datetime) -> str:
    """Return a day without its year, such as the Monday by which a week is named: "2 Nov"."""
    return date_format(timezone.localtime(at), pgettext("format of a day", "j M"))


@register.filter
def named(username: str, names: Mapping[str, str] | None) -> str:
    """Return the name of a person, from the names the view looked up."""
    return (names or {}).get(username, username)


@register.simple_tag(takes_context=True)
def person(context: template.Context, username: str) -> str:
    """Return the name of a person. One query per person and page; lists use `named`."""
    return once_a_page(context, ("person", username), lambda: display_names({username}).get(username, username))


def once_a_page(context: template.Context, key: Hashable, find: Callable[[], str]) -> str:
    """Return what `find` returned the first time that this page asked for the key.

    Args:
        key: begins with what is looked for: an owner may be called as anything else is.
    """
    known: dict[Hashable, str] = context.dicts[0].setdefault("_once", {})
    if key not in known:
        known[key] = find()
    return known[key]


# -- What changes in a text or a note, as marks.

register.simple_tag(drawn_fragment, name="drawn_texts")
register.simple_tag(marks.line)


@register.simple_tag
def moved_line(item: diff_mode.Passage, *, with_signs: bool = False) -> SafeString:
    """Return a line of a redline that was moved, with what changed in it where it is now.

    Args:
        with_signs: show a sign for each blank, tab and line end.
    """
    draw = marks.signs if with_signs else marks.marked
    if item.inside:
        drawn = (marks.changed(each.kind, draw(each.text)) for each in item.inside)
        return SafeString(f'<ins class="moved">{"".join(drawn)}</ins>')
    text = item.item.text if isinstance(item.item, Paragraph) else ""
    tag = "del" if item.moved == "from" else "ins"
    return SafeString(f'<{tag} class="moved">{draw(text.rstrip())}</{tag}>')


@register.simple_tag
def moved_here(inside: Iterable[Segment]) -> SafeString:
    """Return a line that was moved, as a cell: with what changed in it."""
    return marks.moved("added", marks.line(inside))


@register.simple_tag
def drawn(segments: Iterable[Segment]) -> SafeString:
    """Return a small change as its page draws it: bold words, lists and cells as such, and what changed marked."""
    segments = tuple(segments)
    old, new = ("".join(each.text for each in segments if each.kind != other) for other in ("added", "removed"))
    return drawn_fragment(old, new)


@register.simple_tag
def excerpt(parts: Sequence[Sequence[str]]) -> SafeString:
    """Return the stored excerpt of a change: segments without marks of Markdown, and gaps where text was left out."""
    return SafeString(
        "".join(marks.segment(kind, rendering.without_marks(text)) for kind, text in summary.excerpt_shown(parts))
    )


@register.simple_tag
def source(segments: Iterable[Segment]) -> SafeString:
    """Return segments with a sign for each blank, tab and line end."""
    return SafeString("".join(_with_signs(segment) for segment in segments))


def _with_signs(segment: Segment) -> SafeString:
    if segment.move:  # a blank line beside what was moved: that is said there
        tag = "del" if segment.kind == "removed" else "ins"
        return SafeString(f'<{tag} class="moved">{marks.signs(segment.text)}</{tag}>')
    return marks.changed(segment.kind, marks.signs(segment.text))


@register.inclusion_tag("components/redline.html")
def redline_of(before: str, after: str) -> dict[str, Any]:
    """Return the word-level redline from one text to another, with the unchanged paragraphs folded."""
    return {"redline": diff_mode.redline(worddiff.diff(before, after)), "prefix": "own-"}


@register.simple_tag
def words(added: int, removed: int, moved: int = 0, *, is_short: bool = False) -> SafeString:
    """Return how much was added, removed and moved, if anything. Numbers say which by their sign, not by their colour.

    Args:
        moved: paragraphs.
        is_short: leave out of what was moved that it is paragraphs, where there is little room.
    """
    parts = []
    if added or removed:
        plus = f'<span class="words-added">+{number(added)}</span> ' if added else ""
        minus = f'<span class="words-removed">−{number(removed)}</span> ' if removed else ""
        what = ngettext("word", "words", added + removed)
        parts.append(f"{plus}{minus}{html.escape(what)}")
    if moved:
        in_full = ngettext("%(number)s paragraph moved", "%(number)s paragraphs moved", moved)
        said = _("%(number)s moved") if is_short else in_full
        parts.append(html.escape(said % {"number": number(moved)}))
    return SafeString(f'<span class="words">{", ".join(parts)}</span>' if parts else "")


@register.simple_tag
def words_of(proposal: Proposal, *, is_short: bool = False) -> SafeString:
    """Return how much a proposal adds, removes and moves."""
    moved = summary.moved_paragraphs(proposal.excerpt)
    return words(proposal.words_added, proposal.words_removed, moved, is_short=is_short)


@register.simple_tag
def words_in(segments: Sequence[Segment]) -> SafeString:
    """Return how much a change as it is shown adds, removes and moves: of an approval, what was approved."""
    return words(*worddiff.count_words(segments), worddiff.count_moved(segments))


@register.filter
def type_name(type_: str) -> str:
    """Return the name of a type of notes."""
    return str(notes_page.TYPE_NAMES.get(type_) or invisible.plain(type_))


@register.filter
def source_name(source: str) -> str:
    """Return who wrote a note, in words."""
    return str(notes_page.SOURCE_NAMES.get(source) or invisible.plain(source))


@register.simple_tag
def field_value(name: str, value: str | datetime) -> str:
    """Return a field of a note for a table: times in the viewer's zone, types by name, confidence in percent."""
    if isinstance(value, datetime):
        return when(value)
    if name == "confidence" and value:
        return _("%(percent)s%%") % {"percent": f"{float(value) * 100:.6g}"}
    if name == "type":
        return type_name(value)
    return source_name(value) if name == "source" else bdi(value)


# -- A proposal: its address, its row, its warnings, its outcome, its thread, the rule that let it in; and the link from
# wherever a session is named to the conversation kept of it. Who may read a page that names a session may read that
# owner's conversations, `permissions.may_read` answers both.

register.simple_tag(url_of_target, name="target_url")
register.simple_tag(new_batch, name="new_batch")  # so that sending a form twice decides once
register.simple_tag(everybodys_agent)
register.simple_tag(trust.kind_in_words, name="kind_words")
register.filter("risk_title", summary.risk_title)
register.filter("thread", thread_summary)


@register.simple_tag
def proposal_url(proposal: Proposal, list_query: str = "", page: str = "proposal", **more: object) -> str:
    """Return the address of a proposal with the list it is opened from; `more` are parameters of the page.

    Args:
        page: the name of another page of it, such as `edit`.
    """
    url = reverse(page, args=[proposal.pk])
    parameters = ({"list": list_query} if list_query else {}) | more
    return f"{url}?{urlencode(parameters)}" if parameters else url


@register.inclusion_tag("proposal/tick.html")
def tick(boxes: dict[str, Any], number: int, *, of_note: bool = False) -> dict[str, Any]:
    """Return the box of one change of a block, or of one note of an import, by its number."""
    id_ = boxes["ids"][number - 1]
    ticked, outdated = boxes["ticks"].is_on(id_), id_ in boxes["outdated"]
    return boxes | {"id": id_, "number": number, "of_note": of_note, "ticked": ticked, "outdated": outdated}


@register.simple_tag
def expires_soon(proposal: Proposal) -> str:
    """Return in how many days an undecided proposal is closed, where that is soon."""
    left = proposal.expires_at - timezone.now()
    if left > BEFORE_EXPIRY:
        return ""
    if left.days < 1:
        return _("expires today")
    return ngettext("expires in %(days)d day", "expires in %(days)d days", left.days) % {"days": left.days}


@register.simple_tag
def list_url_of(proposal: Proposal, listing: Listing) -> str:
    """Return the list narrowed to the target of a proposal."""
    return url_of(listing.parameters | {"owner": proposal.owner, "target": proposal.target})


@register.filter
def headline(proposal: Proposal) -> SafeString:
    """Return a proposal on one line: its reason, or where none was given what it does."""
    if proposal.reasoning:
        return bdi(opening(proposal.reasoning))
    return format_html("{}: {}", capfirst(Kind(proposal.kind).label), bdi(opening(proposal.target_title)))


@register.filter
def is_seen_first(proposal: Proposal) -> bool:
    """Whether it has a warning for which a person is asked, whatever a rule says."""
    return bool(trust.SEEN_FIRST.intersection(proposal.risks))


@register.inclusion_tag("components/risk.html")
def risk_text(risk: Risk) -> dict[str, Any]:
    """Return a flag's title, its sentence and what was found."""
    found = {"count": 0, "said": 0, "examples": [], **risk.params}
    added, more = found["count"] - found["said"], found["count"] - len(found["examples"])
    return found | {"risk": risk, "title": summary.risk_title(risk.key), "added": added, "more": more}


@register.simple_tag
def decided(proposal: Proposal) -> str:
    """Return the outcome in words: "Approved by Tim"."""
    who = proposal.decided_by.display_name if proposal.decided_by else ""
    outcomes = {
        Status.APPROVED: _("Approved by %(who)s"),
        Status.REJECTED: _("Rejected by %(who)s"),
        Status.WITHDRAWN: _("Withdrawn by %(agent)s"),
        Status.EXPIRED: _("Expired"),
        Status.APPLIED: _("Applied automatically"),
        Status.CHANGES_REQUESTED: _("Changes requested"),
    }
    how = {
        Approval.PART: _("Approved in part by %(who)s"),
        Approval.EDITED: _("Approved with changes by %(who)s"),
        Approval.RESOLVED: _("Approved by %(who)s after resolving a conflict"),
    }
    if proposal.approval in how:
        outcomes[Status.APPROVED] = how[Approval(proposal.approval)]
    if proposal.was_already_applied:
        by_person = _("Closed by %(who)s: already in the memory")
        outcomes[Status.REJECTED] = by_person if who else _("Closed automatically: already in the memory")
    said = outcomes.get(Status(proposal.status), Status(proposal.status).label)
    return conditional_escape(str(said) % {"who": who, "agent": proposal.agent.name})


@register.simple_tag
def reasons(form: ApproveForm | None, *, must: bool = True) -> SafeString:
    """Return the reasons to choose from of a rejection, or without `must` of a request, with the one in the form."""
    return _reasons(get_language() or "", typed(form, "reason"), must=must)


@lru_cache(maxsize=64)
def _reasons(language: str, chosen: str, *, must: bool) -> SafeString:
    """Return the reasons to choose from, of a rejection or of a request for changes.

    Kept by language: drawn for each of 25 rows, they took a third of the time of the list's rows.
    """
    offered = RejectReason if must else REASONS
    reasons = [(reason.value, reason.label) for reason in offered]
    chosen = chosen if chosen in dict(reasons) else ""
    return render_to_string("components/reasons.html", {"reasons": reasons, "chosen": chosen, "must": must})


@register.filter
def typed(form: ApproveForm | None, name: str) -> str:
    """Return the value of a field of a form; empty without a form, and for a field that only another form has."""
    if not form or name not in form.fields:  # a name the context does not have arrives as ""
        return ""
    return str(form[name].value() or "")


@register.inclusion_tag("talk/at.html", takes_context=True)
def talk_at(context: template.Context, change: int | None, *, oob: bool = False) -> dict[str, Any]:
    """Return the link from a change to the thread, with how many comments are about it; empty outside a proposal.

    Args:
        oob: it takes the place of the one that the page has.
    """
    ids = context.get("change_ids") or {}
    id_ = ids.get(change) if context.get("talk_open") else None
    return {"id": id_, "number": change, "count": (context.get("comments_at") or {}).get(change, 0), "oob": oob}


@register.simple_tag
def rule_words(rule: dict[str, Any] | TrustRule) -> str:
    """Return a rule, or what an event keeps of one, in words."""
    return trust.in_words(trust.as_data(rule) if isinstance(rule, TrustRule) else rule)


@register.simple_tag
def applied_because(proposal: Proposal) -> str:
    """Return why no person was asked about an automatic change, in a sentence."""
    applied = proposal.events.filter(what=Event.What.APPLIED).first()
    if applied and (rule := applied.data.get("rule")):
        return _("A rule of the owner let it through: %(rule)s.") % {"rule": trust.in_words(rule)}
    return _("The owner’s policy lets agents write notes without asking.")


@register.filter
def in_decisions(found: trust.Acceptance | None) -> str:
    """Return what people decided, in words: "48 of 50 approved unchanged, 1 edited, 1 rejected"."""
    if found is None or not found.total:
        return _("no decisions in the last 12 weeks")
    unchanged = _("%(n)d of %(total)d approved unchanged") % {"n": found.as_proposed, "total": found.total}
    others = (
        (found.edited, _("%(n)d edited")),
        (found.rejected, _("%(n)d rejected")),
        (found.reverted, _("%(n)d undone")),
    )
    return ", ".join([unchanged, *(words % {"n": n} for n, words in others if n)])


@register.simple_tag(takes_context=True)
def conversation_url(context: template.Context, owner: str, session_id: str) -> str:
    """Return where the conversation of a session is read; empty when no message of it is kept.

    One query per session and page, so not for lists.
    """
    if not session_id:
        return ""

    def find() -> str:
        is_kept = conversations.is_kept(owner, session_id)
        return reverse("conversation", args=[owner, session_id]) if is_kept else ""

    return once_a_page(context, ("conversation", owner, session_id), find)


@register.simple_tag(takes_context=True)
def session_link(context: template.Context, owner: str, session_id: str) -> str:
    """Return a session's name, as a link where its conversation is kept."""
    address = conversation_url(context, owner, session_id)
    return format_html('<a href="{}">{}</a>', address, bdi(session_id)) if address else bdi(session_id)
