"""How many pages there are: every one that a student, a tutor and an admin reach by links is among the few named here.

A page is a template that extends `base.html` and that links lead to, beginning with Review and following every link of
every page. Tabs of one template are one page, and so are its filters and its numbers in the address. Not counted: the
own page of a form, which one comes to in order to send it; what such a form answers; pages that say what went wrong;
and the doors, which one sees signed out. Of each of these there is a list, so that no template is forgotten. The admin
and the API reference have frames of their own.
"""

import re
from collections import Counter
from html import unescape
from pathlib import Path
from urllib.parse import urldefrag, urljoin, urlsplit

import pytest
from django.test import Client
from django.urls import resolve, reverse

from agent_tools import auth
from agent_tools.models import Scope
from approvals.models import Agent, User
from tests.support import every_state
from tests.support.fixtures import ClientOf

PAGES = {
    "inbox/inbox.html",
    "inbox/together.html",
    "inbox/batch_page.html",
    "proposal/proposal.html",
    "statistics/board.html",
    "memory/memory.html",
    "memory/block.html",
    "notes/note.html",
    "conversations/conversation.html",
    "agents/agents.html",
    "agents/agent.html",
    "accounts/settings.html",
    "accounts/policies.html",
}
FORMS = {
    *(f"agents/{name}.html" for name in ("revoke", "rotate")),
    *(f"memory/block_{name}.html" for name in ("new", "edit", "delete", "restore")),
    "memory/erase.html",
    *(f"notes/note_{name}.html" for name in ("edit", "delete", "supersede", "reinstate", "bulk")),
    *(f"proposal/{name}.html" for name in ("undo", "redact")),
    *(f"webhooks/{name}.html" for name in ("rotate", "delete")),
    "conversations/conversation_delete.html",
    "notes/import.html",
    "agents/connect.html",
    "allauth/layouts/base.html",
    "registration/password_change.html",
}
ANSWERS = {
    "inbox/several_again.html",
    "notes/notes_changed.html",
    "registration/password_changed.html",
}
ERRORS = {f"{code}.html" for code in ("400", "403", "403_csrf", "404", "405", "413", "429")}
ERRORS |= {"memory/block_missing.html", "notes/unknown_revision.html", "idp/oidc/error.html"}
ERRORS |= {f"socialaccount/{name}.html" for name in ("authentication_error", "login_cancelled")}
DOORS = {f"registration/password_reset{step}.html" for step in ("", "_complete", "_confirm", "_done")}
DOORS |= {"registration/sign_in.html", "notifications/unsubscribe.html"}
DOORS |= {"registration/invitation.html", "registration/refused.html"}

#: The forms of second factors under Settings, whose templates are allauth's.
OF_LIBRARIES = "mfa/"

MOST = 13
#: Addresses of one view that are opened.
_OF_A_KIND = 3
_TEMPLATES = Path(__file__).resolve().parents[2] / "templates"


def extending_the_frame() -> set[str]:
    """Every template with our frame, directly or through another, that is not only another's frame."""
    extends = re.compile(r'{% extends "([^"]+)" %}')
    found = {path.relative_to(_TEMPLATES).as_posix(): path.read_text() for path in _TEMPLATES.rglob("*.html")}
    frames = {name: match[1] for name, text in found.items() if (match := extends.search(text)) and match[1] != name}

    def is_framed(name: str) -> bool:
        return name == "base.html" or (name in frames and is_framed(frames[name]))

    return {name for name in frames if is_framed(name)} - set(frames.values())


def pages_of(client: Client) -> dict[str, set[str]]:
    """Every template with our frame that links lead to from Review, with the views that show it."""
    found: dict[str, set[str]] = {}
    opened: Counter[str | None] = Counter()
    waiting = [reverse("inbox")]
    while waiting:
        address = waiting.pop(0)
        match = resolve(urlsplit(address).path)
        opened[match.url_name] += 1
        if match.app_names or opened[match.url_name] > _OF_A_KIND:
            continue
        answer = client.get(address, follow=True)
        names = [template.name for template in answer.templates]
        if answer.status_code != 200 or "base.html" not in names:
            continue
        found.setdefault(names[0], set()).add(match.url_name or "")
        links = re.findall(r'<a\b[^>]*?\shref="([^"]*)"', answer.content.decode())
        here = answer.request["PATH_INFO"]
        for link in dict.fromkeys(urldefrag(urljoin(here, unescape(link))).url for link in links):
            if link.startswith("/") and not link.startswith(("//", "/static/")):
                waiting.append(link)
    return found


@pytest.mark.pure
def test_every_template_is_a_page_or_says_what_else_it_is() -> None:
    known = [PAGES, FORMS, ANSWERS, ERRORS, DOORS]
    assert extending_the_frame() == set().union(*known)
    assert len(PAGES) <= MOST
    assert sum(map(len, known)) == len(set().union(*known)), "each once"


def test_a_student_a_tutor_and_an_admin_reach_no_more_pages_than_these(
    alice: User, ben: User, tim: User, admin: User, scribe: Agent, token: str, client_of: ClientOf
) -> None:
    every_state.make(alice, ben, tim, scribe)
    every_state.make_webhooks(alice, scribe)
    for person in (alice, tim, admin):
        reached = pages_of(client_of(person))
        pages = {name for name in reached.keys() - FORMS - ANSWERS if not name.startswith(OF_LIBRARIES)}
        assert pages <= PAGES, person
        assert len(pages) <= MOST, person
        # So much of them that the walk cannot have missed the rest.
        assert {"memory/block.html", "notes/note.html", "proposal/proposal.html", "agents/agent.html"} <= pages, person


@pytest.mark.parametrize(("who", "entries"), [
    ("alice", ["Review", "Memory"]), ("tim", ["Review", "Students"]), ("admin", ["Review", "People", "Agents"]),
])  # fmt: skip
def test_the_navigation_has_what_a_person_needs(
    who: str, entries: list[str], alice: User, tim: User, admin: User, scribe: Agent, client_of: ClientOf
) -> None:
    def navigation() -> list[str]:
        page = client_of({"alice": alice, "tim": tim, "admin": admin}[who]).get("/").content.decode()
        nav = re.search(r'<nav class="nav".*?</nav>', page, re.S)
        assert nav
        return re.findall(r"<a [^>]*>(\w+)", nav[0])

    auth.issue(agent=scribe, scopes=Scope.usual(), all_owners=True)
    assert navigation() == entries, "a token for everyone is nothing that one can do anything with"
    auth.issue(agent=scribe, scopes=Scope.usual(), owners=[alice, tim])
    assert navigation() == [*entries, *(["Agents"] if "Agents" not in entries else [])]
