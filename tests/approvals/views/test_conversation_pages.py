"""What was said with an owner, in the browser: listed, read, deleted, and by whom."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from approvals.models import Agent, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from approvals.views.conversations import CONVERSATIONS_ON_A_PAGE, MESSAGES_ON_A_PAGE
from memory_app import conversations
from memory_app.conversations import Turn
from memory_app.models import Message
from memory_app.reads import Block
from memory_app.search import service, store
from tests.conftest import make_user
from tests.support.fixtures import ClientOf, Propose
from tests.support.pages import has_form, words

pytestmark = pytest.mark.slow

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def said(
    *texts: str, session: str = "monday", owner: str = "alice", agent: str = "scribe", start: datetime = NOON
) -> list[Message]:
    """Keep messages a minute apart, person and assistant in turn; they as they are kept."""
    turns = [
        Turn("assistant" if number % 2 else "user", text, at=start + timedelta(minutes=number))
        for number, text in enumerate(texts)
    ]
    kept = conversations.keep(owner, session, turns, agent=agent)
    return list(Message.objects.filter(owner=owner, message_id__in=kept.new).order_by("pk"))


def list_url(owner: str = "alice") -> str:
    return reverse("conversations", args=[owner])


def url(session: str = "monday", owner: str = "alice") -> str:
    return reverse("conversation", args=[owner, session])


def delete_url(message: Message | None = None, session: str = "monday") -> str:
    if message is None:
        return reverse("conversation_delete", args=["alice", session])
    return reverse("message_delete", args=[message.owner, message.session_id, message.pk])


# -- the list ---------------------------------------------------------------------------------------


def test_each_conversation_is_listed_with_its_beginning_its_times_and_who_handed_it_in(as_alice: Client) -> None:
    said("I moved to Kiel.", "Noted.", agent="scribe")
    conversations.keep("alice", "monday", [Turn("user", "In May.", at=NOON + timedelta(hours=1))], agent="planner")
    page = words(as_alice.get(list_url()))
    assert "I moved to Kiel." in page
    assert "3 messages 1 Mar 2026, 12:00 to 1 Mar 2026, 13:00 stored by planner, scribe Session monday" in page
    assert "Noted." not in page
    assert "Each message is deleted 90 days after it was stored." in page


def test_the_memory_leads_to_its_conversations_the_one_spoken_in_last_first(as_alice: Client) -> None:
    for name in ("memory", "notes", "automatic"):
        assert f'href="{list_url()}"' in as_alice.get(reverse(name, args=["alice"])).content.decode()
    said("The later one.", session="late", start=NOON + timedelta(days=1))
    said("The earlier one.", session="early")  # though handed in later
    page = words(as_alice.get(list_url()))
    assert page.index("The later one.") < page.index("The earlier one.")


@pytest.mark.parametrize("start", [NOON, datetime(1900, 1, 1, tzinfo=UTC), datetime(2199, 12, 31, tzinfo=UTC)])
def test_many_conversations_come_page_by_page_each_once(as_alice: Client, start: datetime) -> None:
    """Those of one time too, and of any time an agent can claim: none hides on a page that cannot be turned to."""
    number = 2 * CONVERSATIONS_ON_A_PAGE + 3
    for each in range(number):
        said(f"Talk {each:03}.", session=f"s{each}", start=start + timedelta(microseconds=each // 2))
    client, address, seen = as_alice, list_url(), []
    for _ in range(3):
        response = client.get(address)
        seen.append([session.opening for session in response.context["sessions"]])
        address = f"{list_url()}?before={response.context['older']}"
    assert [len(page) for page in seen] == [CONVERSATIONS_ON_A_PAGE, CONVERSATIONS_ON_A_PAGE, 3]
    assert sorted(opening for page in seen for opening in page) == [f"Talk {each:03}." for each in range(number)]
    assert response.context["older"] is None


def test_a_page_nobody_was_sent_to_shows_the_first(as_alice: Client) -> None:
    said("Hello.")
    for before in ("x", "1-", "-1", "0", "9" * 30, "99999999999999999-1", "5-99999999999999999999"):
        assert "Hello." in words(as_alice.get(list_url(), {"before": before})), before
    past = words(as_alice.get(list_url(), {"before": "5-5"}))
    assert "No older conversations." in past
    assert "No stored conversations" not in past


def test_an_empty_list_says_what_would_be_there_and_for_how_long(as_alice: Client, as_tim: Client) -> None:
    own = words(as_alice.get(list_url()))
    assert "No stored conversations" in own
    assert "When an agent stores a conversation with you" in own
    with override_settings(CONVERSATION_DAYS=1):
        assert "Each message is deleted 1 day after it was stored." in words(as_alice.get(list_url()))
    with override_settings(CONVERSATION_DAYS=0):
        assert "They are kept until someone deletes them." in words(as_alice.get(list_url()))
    assert "No stored conversations with Alice Berg" in words(as_tim.get(list_url()))


def test_the_list_takes_as_many_queries_for_many_conversations_as_for_one(
    as_alice: Client, django_assert_max_num_queries: Any
) -> None:
    for number in range(20):
        said("Hello.", "Hi.", session=f"s{number}", agent=f"agent-{number}")
    as_alice.get(list_url())
    with django_assert_max_num_queries(8):
        as_alice.get(list_url())
    with django_assert_max_num_queries(9):
        as_alice.get(url("s3"))


# -- one conversation -------------------------------------------------------------------------------


def test_a_conversation_is_read_in_the_order_it_was_said(as_alice: Client, alice: User) -> None:
    late = said("And in June.", start=NOON + timedelta(days=1))[0]
    first = said("I moved to Kiel.", "Noted.")[0]
    response = as_alice.get(url())
    turns = ["Alice Berg 1 Mar 2026, 12:00 I moved to Kiel.", "assistant 1 Mar 2026, 12:01 Noted.", "And in June."]
    assert sorted(turns, key=words(response).index) == turns
    for message in (first, late):
        assert f'id="message-{message.pk}"' in response.content.decode()
    User.objects.filter(pk=alice.pk).update(time_zone="Asia/Tokyo")
    assert "1 Mar 2026, 21:00" in words(as_alice.get(url()))


def test_each_message_names_its_agent_where_several_handed_in(as_alice: Client) -> None:
    said("One.", agent="scribe")
    assert words(as_alice.get(url())).count("stored by scribe") == 1
    said("Two.", agent="planner", start=NOON + timedelta(hours=1))
    page = words(as_alice.get(url()))
    assert "One. stored by scribe" in page
    assert "Two. stored by planner" in page


def test_hidden_characters_are_shown_and_markup_is_text(as_alice: Client) -> None:
    evil = "<script>alert(1)</script>Ignore\u200b all\u202e of it"
    conversations.keep("alice", "m\u202ey", [Turn("user", evil, author="Ali\u200bce<b>", at=NOON)], agent="scribe")
    [message] = Message.objects.all()
    for address in (list_url(), url("m\u202ey"), delete_url(message), delete_url(session="m\u202ey")):
        page = as_alice.get(address).content.decode()
        assert "&lt;script&gt;" in page
        assert not set("\u200b\u202e") & set(page)
        assert '<span class="mark">' in page
        assert "<b>" not in page


def test_whatever_an_agent_calls_it_a_conversation_is_read_and_deleted(as_alice: Client) -> None:
    for session in ("..", ".", "a b", "a?b#c%d&e", "ü\u200b", "new\nline", " x"):
        message, _reply = said("Hello there.", "Hi.", session=session)
        page = as_alice.get(list_url()).content.decode()
        assert f'href="{url(session)}"' in page.replace("&amp;", "&")
        assert not {"", ".", ".."} & set(url(session).strip("/").split("/"))  # a browser would take these out
        assert "Hello there." in words(as_alice.get(url(session)))
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
        assert "Line 000." in words(as_alice.get(url(), {"page": page}))
    assert "Line 051." in words(as_alice.get(url(), {"page": "9"}))
    back = f'href="{url()}?page=2#message-{messages[-1].pk}"'
    assert back in as_alice.get(delete_url(messages[-1])).content.decode()
    assert as_alice.post(delete_url(messages[-1])).headers["Location"] == f"{url()}?page=2"


def test_a_conversation_that_is_not_there_is_not_found(as_alice: Client) -> None:
    [message] = said("Hello.")
    assert as_alice.get(url("tuesday")).status_code == 404
    assert as_alice.get(delete_url(session="tuesday")).status_code == 404
    for number in (message.pk + 1, 10**30):
        assert as_alice.get(reverse("message_delete", args=["alice", "monday", number])).status_code == 404
    assert as_alice.get(reverse("message_delete", args=["alice", "tuesday", message.pk])).status_code == 404


# -- deleting ---------------------------------------------------------------------------------------


def found(words_: str = "Kiel") -> set[str | None]:
    return {hit.message_id for hit in service.search("alice", words_, sources=("conversation",)).results}


def test_one_message_is_deleted_once_confirmed_and_search_forgets_it(as_alice: Client) -> None:
    one, other = said("I moved to Kiel.", "Kiel is a nice place.")
    store.reindex("alice")
    assert found() == {one.message_id, other.message_id}
    assert f'href="{delete_url(one)}"' in as_alice.get(url()).content.decode()
    asked = as_alice.get(delete_url(one))
    assert "I moved to Kiel." in words(asked)
    assert "in a proposal stays with that proposal" in words(asked)
    assert has_form(asked, delete_url(one))
    assert Message.objects.count() == 2  # asking deletes nothing
    response = as_alice.post(delete_url(one))
    assert response.headers["Location"] == url()
    assert "The message is deleted. Agents no longer find it." in words(as_alice.get(response.headers["Location"]))
    assert Message.objects.get().pk == other.pk
    assert found() == {other.message_id}


def test_a_whole_conversation_is_deleted_once_confirmed_whoever_handed_it_in(as_alice: Client) -> None:
    said("I moved to Kiel.", agent="scribe")
    said("To Kiel?", agent="planner", start=NOON + timedelta(hours=1))
    said("Not about that city.", session="tuesday")
    store.reindex("alice")
    asked = as_alice.get(delete_url())
    assert "Delete all 2 messages" in words(asked)
    assert has_form(asked, delete_url())
    response = as_alice.post(delete_url())
    assert response.headers["Location"] == list_url()
    page = words(as_alice.get(list_url()))
    assert "The conversation is deleted: 2 messages. Agents no longer find them." in page
    assert "Not about that city." in page
    assert {message.session_id for message in Message.objects.all()} == {"tuesday"}
    assert found() == set()


def test_pressing_twice_is_no_error_and_with_its_last_message_a_conversation_is_gone(as_alice: Client) -> None:
    one, other = said("Hello.", "Hi.")
    as_alice.post(delete_url(one))
    assert "The message was deleted already." in words(as_alice.post(delete_url(one), follow=True))
    assert as_alice.post(delete_url(other)).headers["Location"] == list_url()
    assert "No stored conversations" in words(as_alice.get(list_url()))
    assert "The conversation was deleted already." in words(as_alice.post(delete_url(), follow=True))


def test_evidence_already_beside_a_proposal_stays(as_alice: Client, goals: Block, propose: Propose) -> None:
    said("I like mathematics.")
    turn = {"role": "user", "content": "I like mathematics."}
    proposal = propose(goals, "math", "mathematics", evidence=[turn])
    as_alice.post(delete_url())
    assert "1 message quoted by" in words(as_alice.get(proposal.get_absolute_url()))
    assert not Message.objects.exists()


def test_wherever_a_session_is_named_its_conversation_is_linked_while_it_is_kept(
    as_tim: Client, goals: Block, propose: Propose
) -> None:
    said("I like mathematics.")
    turn = {"role": "user", "content": "I like mathematics."}
    kept = propose(goals, "math", "mathematics", evidence=[turn], session_id="monday")
    lost = propose(goals, "math", "sums", evidence=[turn], session_id="tuesday")
    link = f'href="{reverse("conversation", args=["alice", "monday"])}"'
    page = as_tim.get(kept.get_absolute_url()).content.decode()
    assert page.count(link) == 2
    assert "Show the whole conversation" in page
    page = as_tim.get(lost.get_absolute_url()).content.decode()
    assert "tuesday" in page
    assert "/conversations/" not in page
    assert "Show the whole conversation" not in page


def test_the_page_of_a_note_links_the_conversation_it_comes_from(as_alice: Client, scribe: Agent) -> None:
    said("I like mathematics.")
    by = ChangeContext(actor=scribe, may_apply=True, session_id="monday")
    done = notes.save(by=by, owner="alice", content="Likes mathematics.")
    page = as_alice.get(reverse("note", args=["alice", done.note_id])).content.decode()
    assert f'href="{reverse("conversation", args=["alice", "monday"])}"' in page


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


def test_what_was_deleted_is_logged_by_name_and_number(as_alice: Client, caplog: pytest.LogCaptureFixture) -> None:
    said("My secret.", "Noted.")
    with caplog.at_level("INFO", logger="approvals"):
        as_alice.post(delete_url())
    [line] = [record.getMessage() for record in caplog.records if "messages_deleted" in record.getMessage()]
    for part in ("alice", "monday", "2"):
        assert part in line
    assert "secret" not in line


# -- who ------------------------------------------------------------------------------------------


def test_staff_delete_for_an_owner_who_asks(alice: User, client_of: ClientOf) -> None:
    clerk = make_user("clerk", is_staff=True)
    one, _other = said("I moved to Kiel.", "Noted.")
    client = client_of(clerk)
    assert f'href="{delete_url(one)}"' in client.get(url()).content.decode()
    client.post(delete_url(one))
    assert Message.objects.count() == 1
    client.post(delete_url())
    assert not Message.objects.exists()


# -- found by search ----------------------------------------------------------------------------------


def search(client: Any, query: str, owner: str = "alice") -> str:
    page: str = client.get(reverse("memory_search", args=[owner]), {"q": query}).content.decode()
    return page.replace("<mark>", "").replace("</mark>", "")


def test_search_finds_what_was_said_and_leads_to_that_message(as_alice: Client) -> None:
    messages = said(*(f"Line {number:03}." for number in range(MESSAGES_ON_A_PAGE)), "One of my migraines again.")
    page = search(as_alice, "migraines")
    assert "In conversations" in page
    address = f"{url()}?message={messages[-1].pk}"
    assert f'href="{address}#message-{messages[-1].pk}"' in page
    there = as_alice.get(address).content.decode()
    assert "One of my migraines again." in there, "on the second page"
    assert f'id="message-{messages[-1].pk}"' in there
    for number in ("0", "x", str(messages[-1].pk + 1), "9" * 20):
        assert "Line 000." in words(as_alice.get(url(), {"message": number}))


def test_search_shows_a_tutor_what_was_said_and_nobody_else(as_tim: Client, as_mallory: Client, as_ben: Client) -> None:
    said("One of my migraines again.")
    assert "migraines again" in search(as_tim, "migraines")
    assert as_mallory.get(reverse("memory_search", args=["alice"]), {"q": "migraines"}).status_code == 404
    page = search(as_ben, "migraines", owner="ben")
    assert "migraines again" not in page
    assert "In conversations" not in page


def test_search_of_a_deleted_message_finds_nothing(as_alice: Client) -> None:
    [message] = said("One of my migraines again.")
    assert "In conversations" in search(as_alice, "migraines")
    Message.objects.filter(pk=message.pk).delete()  # by another process, before its index knows
    assert "Nothing found" in search(as_alice, "migraines")


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
