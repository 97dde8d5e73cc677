"""The words for the flags of `risks`: a short title for lists, a sentence for the proposal's page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from approvals.risks.flags import Risk

_TITLES: Mapping[str, Any] = {
    "secrets": _("reads like a secret"),
    "hidden_characters": _("hidden characters"),
    "mixed_scripts": _("mixed alphabets"),
    "reads_like_instructions": _("reads like instructions"),
    "deletes_much": _("large deletion"),
    "links_added": _("links added"),
    "contacts_added": _("contact details added"),
}


def title(key: str) -> str:
    """Return two or three words; the key itself where it is an old one."""
    return str(_TITLES.get(key, key))


def sentence(risk: Risk) -> str:
    """Return what was found and why it may matter."""
    count = risk.params.get("count", 0)
    match risk.key:
        case "secrets":
            return _of_secrets(added=count - risk.params.get("said", 0), said=risk.params.get("said", 0))
        case "hidden_characters" if "hide_others" not in risk.params:
            return ngettext(
                "%(count)d character that cannot be seen is added. It is marked in the text.",
                "%(count)d characters that cannot be seen are added. They are marked in the text.",
                count,
            ) % {"count": count}
        case "hidden_characters":
            return ngettext(
                "%(count)d character that cannot be seen, or hides others, is added. It is marked in the text.",
                "%(count)d characters that cannot be seen, or hide others, are added. They are marked in the text.",
                count,
            ) % {"count": count}
        case "mixed_scripts":
            return ngettext(
                "%(count)d new word has letters of another alphabet, which look like the ones expected. "
                "They are marked in the text.",
                "%(count)d new words have letters of another alphabet, which look like the ones expected. "
                "They are marked in the text.",
                count,
            ) % {"count": count}
        case "reads_like_instructions":
            return str(_("This text gives instructions to an AI. An agent reading this memory may follow them."))
        case "deletes_much":
            return str(_("This removes %(percent)d%% of the text.")) % {"percent": risk.params["percent"]}
        case "links_added":
            if risk.level == "danger":
                return str(_("A new link does not lead where it says, or runs a script."))
            return ngettext("%(count)d new link.", "%(count)d new links.", count) % {"count": count}
        case "contacts_added":
            return ngettext("%(count)d new address or number.", "%(count)d new addresses or numbers.", count) % {
                "count": count
            }
    return ""


def _of_secrets(*, added: int, said: int) -> str:
    sentences = []
    if added:
        sentences.append(
            ngettext(
                "%(count)d key, token, password or card number is added. Every agent that reads this memory would see "
                "it: a password manager is the place for it.",
                "%(count)d keys, tokens, passwords or card numbers are added. Every agent that reads this memory would "
                "see them: a password manager is the place for them.",
                added,
            )
            % {"count": added}
        )
    if said:
        sentences.append(
            ngettext(
                "%(count)d key, token, password or card number is in the agent’s reason or in a message it quotes. "
                "Approving saves it in the history: reject the proposal as too private to remove it.",
                "%(count)d keys, tokens, passwords or card numbers are in the agent’s reason or in messages it quotes. "
                "Approving saves them in the history: reject the proposal as too private to remove them.",
                said,
            )
            % {"count": said}
        )
    return " ".join(sentences)
