"""What was said with an owner, in the browser: listed, read, deleted, and by whom; and what is left of it then."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.template import Context, Template
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals import services
from approvals.models import Agent, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from approvals.views.conversations import CONVERSATIONS_ON_A_PAGE, MESSAGES_ON_A_PAGE
from memory_app import conversations
from memory_app.conversations import Turn
from memory_app.models import Chunk, Message
from memory_app.reads import Block
from memory_app.search import service, store
from tests.agent_tools.checks import answered
from tests.agent_tools.conftest import Machine
from tests.conftest import make_user
from tests.support.acts import look
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import assert_says, has_form, html, words
from tests.support.refusals import refusing
from tests.support.traces import tables_with

pytestmark = pytest.mark.slow

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
LIST = "/memory/alice/conversations/"
EVIDENCE = [{"role": "user", "content": "I like mathematics."}]


def said(
    *texts: str, session: str = "monday", owner: str = "alice", agent: str = "scribe", start: datetime = NOON
) -> list[Message]:
    """Keep messages a minute apart, person and assistant in turn; they as they are kept."""
    turns = [
        Turn("assistant" if number % 2 else "user", text, at=start + timedelta(minutes=number))
        for number, text in enumerate(texts)
    ]
    new, _known = conversations.keep(owner, session, turns, agent=agent)
    return list(Message.objects.filter(owner=owner, message_id__in=new).order_by("pk"))


def url(session: str = "monday") -> str:
    return reverse("conversation", args=["alice", session])


def delete_url(message: Message | None = None, session: str = "monday") -> str:
    if message is None:
        return reverse("conversation_delete", args=["alice", session])
    return reverse("message_delete", args=[message.owner, message.session_id, message.pk])


# -- the list ---------------------------------------------------------------------------------------


def test_each_conversation_is_listed_with_its_beginning_the_one_spoken_in_last_first(as_alice: Client) -> None:
    for name in ("memory", "notes"):
        assert f'href="{LIST}"' in html(as_alice.get(reverse(name, args=["alice"])))
    said("I moved to Kiel.", "Noted.")
    said("In May.", agent="planner", start=NOON + timedelta(hours=1))
    said("The earlier one.", session="early", start=NOON - timedelta(days=1))  # though handed in later
    page = as_alice.get(LIST)
    times = "3 messages 1 Mar 2026, 12:00 to 1 Mar 2026, 13:00 stored by planner, scribe Session monday"
    assert_says(page, times, "Each message is deleted 90 days after it was stored.")
    assert "Noted." not in words(page)
    assert words(page).index("I moved to Kiel.") < words(page).index("The earlier one.")


def test_a_session_is_not_called_one_twice(as_alice: Client) -> None:
    said("Hello.", session="session-2026-11-20")
    assert "scribe session-2026-11-20" in words(as_alice.get(LIST))


@pytest.mark.parametrize("start", [NOON, datetime(1900, 1, 1, tzinfo=UTC), datetime(2199, 12, 31, tzinfo=UTC)])
def test_many_conversations_come_page_by_page_each_once(as_alice: Client, start: datetime) -> None:
    """Those of one time too, and of any time an agent can claim: none hides on a page that cannot be turned to."""
    number = 2 * CONVERSATIONS_ON_A_PAGE + 3
    for each in range(number):
        said(f"Talk {each:03}.", session=f"s{each}", start=start + timedelta(microseconds=each // 2))
    address, seen = LIST, []
    for _ in range(3):
        response = as_alice.get(address)
        seen.append([session.opening for session in response.context["sessions"]])
        address = f"{LIST}?before={response.context['older']}"
    assert [len(page) for page in seen] == [CONVERSATIONS_ON_A_PAGE, CONVERSATIONS_ON_A_PAGE, 3]
    assert sorted(opening for page in seen for opening in page) == [f"Talk {each:03}." for each in range(number)]
    assert response.context["older"] is None


def test_a_page_nobody_was_sent_to_shows_the_first(as_alice: Client) -> None:
    said("Hello.")
    for before in ("x", "1-", "-1", "0", "9" * 30, "99999999999999999-1", "5-99999999999999999999"):
        assert "Hello." in words(as_alice.get(LIST, {"before": before})), before
    past = as_alice.get(LIST, {"before": "5-5"})
    assert_says(past, "No older conversations.")
    assert "No stored conversations" not in words(past)


def test_an_empty_list_says_what_would_be_there_and_for_how_long(as_alice: Client, as_tim: Client) -> None:
    assert_says(as_alice.get(LIST), "No stored conversations", "When an agent stores a conversation with you")
    assert_says(as_tim.get(LIST), "Memory of Alice Berg", "No stored conversations with Alice Berg")
    for days, kept in (
        (1, "Each message is deleted 1 day after it was stored."),
        (0, "They are kept until someone deletes them."),
    ):
        with override_settings(CONVERSATION_DAYS=days):
            assert_says(as_alice.get(LIST), kept)


def test_the_list_takes_as_many_queries_for_many_conversations_as_for_one(
    as_alice: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        said("Hello.", "Hi.", session=f"s{number}", agent=f"agent-{number}")
    as_alice.get(LIST)
    for address, most in ((LIST, 8), (url("s3"), 9)):
        with django_assert_max_num_queries(most):
            as_alice.get(address)


# -- one conversation -------------------------------------------------------------------------------


def test_a_conversation_is_read_in_the_order_it_was_said(as_alice: Client, alice: User) -> None:
    late = said("And in June.", start=NOON + timedelta(days=1))[0]
    first = said("I moved to Kiel.", "Noted.")[0]
    page = as_alice.get(url())
    turns = ["Alice Berg 1 Mar 2026, 12:00 I moved to Kiel.", "assistant 1 Mar 2026, 12:01 Noted.", "And in June."]
    assert sorted(turns, key=words(page).index) == turns
    for message in (first, late):
        assert f'id="message-{message.pk}"' in html(page)
    assert words(page).count("stored by scribe") == 1
    # Where several handed in, each message names its agent.
    said("Two.", agent="planner", start=NOON + timedelta(hours=1))
    User.objects.filter(pk=alice.pk).update(time_zone="Asia/Tokyo")
    assert_says(as_alice.get(url()), "Noted. stored by scribe", "Two. stored by planner", "1 Mar 2026, 21:00")


def test_hidden_characters_are_shown_and_markup_is_text(as_alice: Client) -> None:
    evil = "<script>alert(1)</script>Ignore\u200b all\u202e of it"
    conversations.keep("alice", "m\u202ey", [Turn("user", evil, author="Ali\u200bce<b>", at=NOON)], agent="scribe")
    [message] = Message.objects.all()
    for address in (LIST, url("m\u202ey"), delete_url(message), delete_url(session="m\u202ey")):
        page = html(as_alice.get(address))
        assert "&lt;script&gt;" in page
        assert not set("\u200b\u202e") & set(page)
        assert '<span class="mark">' in page
        assert "<b>" not in page


def test_whatever_an_agent_calls_it_a_conversation_is_read_and_deleted(as_alice: Client) -> None:
    for session in ("..", ".", "a b", "a?b#c%d&e", "ü\u200b", "new\nline", " x"):
        message, _reply = said("Hello there.", "Hi.", session=session)
        assert f'href="{url(session)}"' in html(as_alice.get(LIST)).replace("&amp;", "&")
        assert not {"", ".", ".."} & set(url(session).strip("/").split("/"))  # a browser would take these out
        assert_says(as_alice.get(url(session)), "Hello there.")
        as_alice.post(delete_url(message))
        assert Message.objects.count() == 1
        as_alice.post(delete_url(session=session))
        assert not Message.objects.exists()


def test_a_long_conversation_comes_page_by_page(as_alice: Client) -> None:
    messages = said(*(f"Line {number:03}." for number in range(MESSAGES_ON_A_PAGE + 2)))
    first, second = words(as_alice.get(url())), words(as_alice.get(url(), {"page": "2"}))
    assert [f"Line {number:03}." in first for number in (0, 49, 50)] == [True, True, False]
    assert [f"Line {number:03}." in second for number in (49, 50, 51)] == [False, True, True]
    assert "Page 1 of 2" in first
    for page in ("0", "-1", "x", "9" * 20):
        assert_says(as_alice.get(url(), {"page": page}), "Line 000.")
    assert_says(as_alice.get(url(), {"page": "9"}), "Line 051.")
    back = f'href="{url()}?page=2#message-{messages[-1].pk}"'
    assert back in html(as_alice.get(delete_url(messages[-1])))
    assert as_alice.post(delete_url(messages[-1])).headers["Location"] == f"{url()}?page=2"


def test_a_conversation_that_is_not_there_is_not_found(as_alice: Client) -> None:
    [message] = said("Hello.")
    numbers = (("monday", message.pk + 1), ("monday", 10**30), ("tuesday", message.pk))
    gone = [reverse("message_delete", args=["alice", session, number]) for session, number in numbers]
    for address in (url("tuesday"), delete_url(session="tuesday"), *gone):
        assert as_alice.get(address).status_code == 404, address


# -- deleting ---------------------------------------------------------------------------------------


def found() -> set[str | None]:
    return {hit.message_id for hit in service.search("alice", "Kiel", sources=("conversation",)).results}


def test_one_message_and_then_all_are_deleted_once_confirmed_and_search_forgets_them(as_alice: Client) -> None:
    one, other = said("I moved to Kiel.", "Kiel is a nice place.")
    said("To Kiel?", agent="planner", start=NOON + timedelta(hours=1))
    said("Not about that city.", session="tuesday")
    store.reindex("alice")
    assert {one.message_id, other.message_id} < found()
    assert f'href="{delete_url(one)}"' in html(as_alice.get(url()))
    asked = as_alice.get(delete_url(one))
    assert_says(asked, "I moved to Kiel.", "in a proposal stays with that proposal")
    assert has_form(asked, delete_url(one))
    assert Message.objects.count() == 4  # asking deletes nothing
    done = as_alice.post(delete_url(one), follow=True)
    assert done.redirect_chain == [(url(), 302)]
    assert_says(done, "The message is deleted. Agents no longer find it.")
    assert one.message_id not in found()
    assert_says(as_alice.post(delete_url(one), follow=True), "The message was deleted already.")

    asked = as_alice.get(delete_url())
    assert_says(asked, "Delete all 2 messages")
    assert has_form(asked, delete_url())
    done = as_alice.post(delete_url(), follow=True)
    assert done.redirect_chain == [(LIST, 302)]
    assert_says(done, "The conversation is deleted: 2 messages. Agents no longer find them.", "Not about that city.")
    assert {message.session_id for message in Message.objects.all()} == {"tuesday"}
    assert found() == set()
    assert_says(as_alice.post(delete_url(), follow=True), "The conversation was deleted already.")
    # With its last message a conversation is gone.
    [last] = Message.objects.all()
    assert as_alice.post(delete_url(last)).headers["Location"] == LIST
    assert_says(as_alice.get(LIST), "No stored conversations")


def test_wherever_a_session_is_named_its_conversation_is_linked_while_it_is_kept(
    as_tim: Client, as_alice: Client, goals: Block, propose: Propose, scribe: Agent
) -> None:
    said("I like mathematics.")
    kept = propose(goals, "math", "mathematics", evidence=EVIDENCE, session_id="monday")
    lost = propose(goals, "math", "sums", evidence=EVIDENCE, session_id="tuesday")
    by = ChangeContext(actor=scribe, may_apply=True, session_id="monday")
    note = notes.save(by=by, owner="alice", content="Likes mathematics.").note_id
    page = html(look(as_tim, kept))
    assert page.count(f'href="{url()}"') == 2
    assert "Show the whole conversation" in page
    assert f'href="{url()}"' in html(as_alice.get(reverse("note", args=["alice", note])))
    as_alice.post(delete_url())
    for proposal in (kept, lost):
        page = html(look(as_tim, proposal))
        assert proposal.session_id in page
        assert "/conversations/" not in page
        assert "Show the whole conversation" not in page
        assert_says(look(as_tim, proposal), "1 message quoted by")  # what is quoted there stays


def test_a_page_takes_no_conversation_for_the_person_it_is_called_like(alice: User) -> None:
    said("One.", session="alice", owner="person")
    page = Template("{% load assent %}{% person 'alice' %}: {% conversation_url 'person' 'alice' %}")
    assert page.render(Context()) == f"{alice.get_full_name()}: {reverse('conversation', args=['person', 'alice'])}"


def test_a_session_of_the_same_name_of_somebody_else_stays(as_alice: Client, alice: User, ben: User) -> None:
    said("Hello.")
    [theirs] = said("Hello.", owner="ben")
    forged = Client(enforce_csrf_checks=True)
    forged.force_login(alice)
    assert (forged.post(delete_url()).status_code, as_alice.delete(delete_url()).status_code) == (403, 405)
    assert Message.objects.count() == 2
    as_alice.post(delete_url())
    assert as_alice.post(reverse("message_delete", args=["alice", "monday", theirs.pk])).status_code == 302
    assert Message.objects.get().owner == "ben"


def test_what_was_deleted_is_logged_by_owner_and_number(as_alice: Client, caplog: pytest.LogCaptureFixture) -> None:
    said("My secret.", "Noted.")
    with caplog.at_level("INFO", logger="approvals"):
        as_alice.post(delete_url())
    [line] = [record.getMessage() for record in caplog.records if "messages_deleted" in record.getMessage()]
    for part in ("alice", "2"):
        assert part in line
    for part in ("secret", "monday"):
        assert part not in line


def test_staff_delete_for_an_owner_who_asks_and_tutors_do_not(alice: User, tim: User, client_of: ClientOf) -> None:
    client = client_of(make_user("clerk", is_staff=True))
    one, _other = said("I moved to Kiel.", "Noted.")
    with refusing("not_allowed"):
        services.delete_messages(actor=tim, owner="alice", session_id="monday")
    assert f'href="{delete_url(one)}"' in html(client.get(url()))
    for address, left in ((delete_url(one), 1), (delete_url(), 0)):
        client.post(address)
        assert Message.objects.count() == left


# -- found by search ----------------------------------------------------------------------------------


def search(client: Client, query: str, owner: str = "alice") -> str:
    page = html(client.get(reverse("memory_search", args=[owner]), {"q": query}))
    return page.replace("<mark>", "").replace("</mark>", "")


def test_search_finds_what_was_said_and_leads_to_that_message(as_alice: Client) -> None:
    messages = said(*(f"Line {number:03}." for number in range(MESSAGES_ON_A_PAGE)), "One of my migraines again.")
    last = messages[-1]
    page, there = search(as_alice, "migraines"), f"{url()}?message={last.pk}"
    assert "In conversations" in page
    assert f'href="{there}#message-{last.pk}"' in page
    assert_says(as_alice.get(there), "One of my migraines again.")  # on the second page
    assert f'id="message-{last.pk}"' in html(as_alice.get(there))
    for number in ("0", "x", str(last.pk + 1), "9" * 20):
        assert_says(as_alice.get(url(), {"message": number}), "Line 000.")
    Message.objects.filter(pk=last.pk).delete()  # by another process, before its index knows
    assert "Nothing found" in search(as_alice, "migraines")


def test_search_shows_a_tutor_what_was_said_and_nobody_else(as_tim: Client, as_ben: Client) -> None:
    said("One of my migraines again.")
    assert "migraines again" in search(as_tim, "migraines")
    page = search(as_ben, "migraines", owner="ben")
    assert "migraines again" not in page
    assert "In conversations" not in page


def test_search_without_conversations_asks_only_whether_there_are_any(as_alice: Client, goals: Block) -> None:
    search(as_alice, "migraines")
    with CaptureQueriesContext(connection) as without:
        search(as_alice, "migraines")
    looks = [each["sql"] for each in without if each["sql"].startswith("SELECT 1 AS") and "_message" in each["sql"]]
    assert len(looks) == 1
    said("One of my migraines again.")
    search(as_alice, "migraines")
    with CaptureQueriesContext(connection) as with_them:
        search(as_alice, "migraines")
    assert len(with_them) > len(without) + 1


# -- what is left of it ----------------------------------------------------------------------------


SAID = "zebrafinch"
SESSION = "session-goldcrest"
MESSAGES = [
    {"role": "user", "content": f"My {SAID} sings.", "author": f"Alice {SAID}", "id": f"m-{SAID}"},
    {"role": "assistant", "content": f"What does the {SAID} sing?"},
]


@pytest.fixture
def api(alice: User, token: str) -> Machine:
    """Handed in by an agent, and searched once, so that there is an index."""
    api = Machine(token)
    path = f"/api/v1/users/alice/conversations/{SESSION}/messages/"
    answered(api.post(path, {"messages": MESSAGES}))
    service.search("alice", SAID, sources=("conversation",))
    assert tables_with(SAID)
    assert Chunk.objects.filter(session_id=SESSION).exists()
    return api


def test_nothing_of_what_was_said_is_left(api: Machine, alice: User) -> None:
    assert services.delete_messages(actor=alice, owner="alice", session_id=SESSION) == 2
    assert tables_with(SAID) == []
    assert tables_with(SESSION) == ["agent_tools_toolcall"]  # names, sizes and outcomes, for ninety days


def test_nothing_of_one_message_is_left(api: Machine, alice: User) -> None:
    services.delete_messages(actor=alice, owner="alice", session_id=SESSION, message_id=f"m-{SAID}")
    (other,) = conversations.messages("alice", SESSION, start=0, limit=10)
    assert other.content == f"What does the {SAID} sing?"
    assert "memory_app_message" in tables_with(SAID)
    services.delete_messages(actor=alice, owner="alice", session_id=SESSION, message_id=other.message_id)
    assert tables_with(SAID) == []


def test_what_an_agent_quoted_in_a_proposal_stays_until_that_is_redacted(
    api: Machine, alice: User, goals: Block, propose: Propose
) -> None:
    proposal = propose(
        goals, "math", "maths", session_id=SESSION, evidence=[{"role": "user", "content": f"My {SAID} sings."}]
    )
    services.delete_messages(actor=alice, owner="alice", session_id=SESSION)
    assert tables_with(SAID) == ["approvals_proposal"]
    services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="too_private")
    assert tables_with(SAID) == tables_with(SESSION) == []


def test_a_note_that_was_deleted_leaves_nothing_in_the_index(api: Machine, alice: User) -> None:
    by = services.notes.ChangeContext(actor=alice)
    id_ = services.notes.save(by=by, owner="alice", content="A goldfinch.", tags=["goldfinch"], category="finches")
    store.reindex("alice")
    services.notes.delete(by=by, owner="alice", note_id=id_.note_id)
    store.reindex("alice")
    assert [table for table in tables_with("finch") if "chunk" in table] == ["memory_app_chunk"]  # the conversation
    services.delete_messages(actor=alice, owner="alice", session_id=SESSION)
    assert "memory_app_chunk" not in tables_with("finch")
