"""What a mail or a feed says of a proposal, as plain text and as HTML that brings its few styles along.

Texts leave the site here. So nothing is said of a proposal in which something looks like a key or password, and what
cannot be seen is written out.
"""

from __future__ import annotations

import html
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.timesince import timesince
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.models import Kind, Proposal
from approvals.notifications.news import NewsItem
from approvals.pages import risk_wording
from approvals.review.summary import excerpt_shown
from approvals.risks import flags
from memory_app.models import TargetKind
from memory_app.text import invisible
from memory_app.text.first_words import first_words

_REASON = 400
_TITLE = 80
_STYLES = {
    "removed": "color:#86201a;background:#fbe2df;text-decoration:line-through",
    "added": "color:#0d4d26;background:#d9f2e1;text-decoration:underline",
    "moved": "color:#3d4450;background:#eceef1;text-decoration:underline dotted",
}


@dataclass(frozen=True)
class ProposalWords:
    """One proposal in words, plain; `redline_html` alone is HTML.

    Args:
        held_back: why its texts are not here; empty where they are.
        age: how long it has waited.
    """

    title: str
    kind: str
    reason: str
    held_back: str
    redline_text: str
    redline_html: str
    warnings: str
    agent: str
    age: str
    is_reminder: bool
    url: str


def words_of(item: NewsItem) -> ProposalWords:
    proposal = item.proposal
    is_secret = flags.SECRETS in proposal.risks or proposal.is_redacted
    kind = capfirst(str(Kind(proposal.kind).label))
    # The title of a block that exists is not part of the change. That of a note is its text.
    is_of_block = proposal.target_kind == TargetKind.BLOCK and proposal.kind != Kind.CREATE_BLOCK
    is_shown = is_of_block or not is_secret
    excerpt = [] if is_secret else excerpt_shown(proposal.excerpt)
    return ProposalWords(
        title=one_line(proposal.target_title, _TITLE) if is_shown else kind,
        kind=kind,
        reason="" if is_secret else one_line(proposal.reasoning, _REASON),
        held_back=_("It contains what looks like a key or password. Open it to see.") if is_secret else "",
        redline_text="".join(_as_text(kind, text) for kind, text in excerpt),
        redline_html="".join(_as_html(kind, text) for kind, text in excerpt),
        warnings=", ".join(risk_wording.title(key) for key in proposal.risks if key != flags.SECRETS),
        agent=proposal.agent.name,
        age=_age(item),
        is_reminder=item.is_reminder,
        url=url_of(proposal),
    )


def _age(item: NewsItem) -> str:
    if item.is_reminder:
        days = (timezone.now() - item.since).days
        return ngettext("%(days)d day", "%(days)d days", days) % {"days": days}
    return timesince(item.since, timezone.now(), depth=1).replace("\xa0", " ")


def url_of(proposal: Proposal) -> str:
    """Return the address of a proposal on the site's public address."""
    return settings.PUBLIC_URL.rstrip("/") + proposal.get_absolute_url()


def one_line(text: str, longest: int) -> str:
    """Return the beginning of a text on one line, with what cannot be seen written out."""
    return first_words(" ".join(invisible.plain(text[: 4 * longest]).split()), longest)


def _as_text(kind: str, text: str) -> str:
    shown = invisible.plain(text)
    if kind == "removed":
        return f"[-{shown}-]"
    if kind == "moved":
        return f"{{{_('moved:')} {shown}}}"
    return f"{{+{shown}+}}" if kind == "added" else shown


def _as_html(kind: str, text: str) -> str:
    shown = html.escape(invisible.plain(text))
    if kind == "moved":
        shown = f"{html.escape(_('moved:'))} {shown}"
    tag = {"removed": "del", "added": "ins", "moved": "ins"}.get(kind)
    return f'<{tag} style="{_STYLES[kind]}">{shown}</{tag}>' if tag else shown
