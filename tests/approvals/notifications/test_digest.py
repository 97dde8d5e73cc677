"""Digests: who is told of what, when, and in which words.

Nothing waits unseen for long: reviewers are told again, then the owner, before a proposal expires.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.core import mail as outbox
from django.core.mail import EmailMultiAlternatives
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from approvals import services
from approvals.models import Event, Mail, Proposal, RejectReason, Tutorship, User
from approvals.notifications import mail as schedule
from approvals.risks import flags
from approvals.services.close import due_at
from memory_app.reads import Block
from tests.approvals.notifications.conftest import KEY, made_earlier, pass_time, send, wants
from tests.conftest import in_a_thread, make_user
from tests.support.acts import approve
from tests.support.fixtures import MakeBlock, Propose
from tests.support.pages import words


def texts() -> tuple[str, str]:
    """The plain text and the HTML of the one mail that was sent."""
    (sent,) = outbox.outbox
    assert isinstance(sent, EmailMultiAlternatives)
    html = next(part for part, kind in sent.alternatives if kind == "text/html")
    return str(sent.body), str(html)


# -- what a mail says ---------------------------------------------------------------------------------


def test_a_mail_says_what_changes_why_who_asks_and_where_and_how_to_stop_it(
    goals: Block, told: User, propose: Propose
) -> None:
    proposal = propose(goals, "likes math", "loves algebra", reasoning="She said so <b>today</b>.")
    with override_settings(PUBLIC_URL="https://assent.example.org"):
        assert send() == 1
    text, html = texts()
    sent = outbox.outbox[0]
    assert (sent.to, sent.subject) == (["tim@example.org"], "1 proposal to review: Alice Berg")
    asked = ("Learning goals", "scribe", "She said so <b>today</b>.", f"/proposals/{proposal.pk}/", "/?owner=alice")
    for said in (*asked, "[-likes math-]{+loves algebra+}"):
        assert said in text
    for said in ("<del style=", ">likes math</del>", ">loves algebra</ins>", "&lt;b&gt;today"):
        assert said in html
    assert "https://assent.example.org/proposals/" in html
    for outside in ("<b>today</b>", "<script", "<img", "<link", "src="):
        assert outside not in html
    message = sent.message()
    assert message["List-Id"] == "Proposals to review <review.assent.example.org>"
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["List-Unsubscribe"].startswith("<https://assent.example.org/unsubscribe/")
    assert message["Auto-Submitted"] == "auto-generated"
    assert message["Message-ID"].endswith("@assent.example.org>")


def test_owners_come_one_after_the_other_each_with_a_link_to_theirs(
    goals: Block, told: User, ben: User, make_block: MakeBlock, propose: Propose
) -> None:
    Tutorship.objects.create(tutor=told, owner=ben)
    propose(goals, "math", "algebra")
    propose(make_block(ben, "goals", "Ben likes chess.\n"), "chess", "go")
    propose(goals, "B2", "C1")
    assert send() == 1
    text, _html = texts()
    assert outbox.outbox[0].subject == "3 proposals to review: Alice Berg, ben"
    assert text.index("== Alice Berg ==") < text.index("algebra") < text.index("C1") < text.index("== ben ==")
    assert "/?owner=ben" in text


def test_of_many_the_rest_is_counted(
    goals: Block, told: User, propose: Propose, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.notifications.mail.MOST_ITEMS", 2)
    for old, new in (("math", "algebra"), ("B2", "C1"), ("book", "novel"), ("June", "July")):
        propose(goals, old, new)
    assert send() == 1
    text, html = texts()
    assert "… and 2 more" in text
    assert "and 2 more" in html
    assert text.count("/proposals/") == 2


def test_the_same_change_for_many_people_is_told_once(
    told: User, goals: Block, make_block: MakeBlock, propose: Propose
) -> None:
    for number in range(28):
        student = make_user(f"student{number:02}", first_name=f"Student {number:02}")
        Tutorship.objects.create(tutor=told, owner=student)
        propose(make_block(student, "goals", f"{number}. The exam is in May.\n"), "in May", "in June")
    propose(goals, "likes math", "loves algebra")
    assert send() == 1
    text, html = texts()
    assert outbox.outbox[0].subject == "29 proposals to review: Alice Berg, Student 00, Student 01 …"
    for part in (text, html):
        assert part.count("June") == 1
        assert "Student 00, Student 01, Student 02 and 25 more" in part
        assert part.count("/together/") >= 1
        assert "algebra" in part
        assert "more" not in part.replace("and 25 more", "")


def test_what_looks_like_a_secret_is_not_sent(goals: Block, told: User, propose: Propose) -> None:
    proposal = propose(goals, "likes math", f"uses {KEY}", reasoning=f"Her key is {KEY}.")
    proposal.refresh_from_db()
    assert flags.SECRETS in proposal.risks
    removed = propose(goals, "June", "the spring", reasoning="Too private to say.")
    services.reject(actor=told, proposal_id=removed.pk, revision=1, reason=RejectReason.TOO_PRIVATE)
    assert send() == 1
    for said in (*texts(), outbox.outbox[0].message().as_string()):
        for left_out in (KEY, "Her key", "the spring", "Too private to say"):
            assert left_out not in said
    assert "It contains what looks like a key or password. Open it to see." in texts()[0]


def test_names_and_texts_put_nothing_into_the_headers(goals: Block, alice: User, told: User, propose: Propose) -> None:
    User.objects.filter(pk=alice.pk).update(first_name="Eve\r\nBcc: all@example.org", last_name="\u202ereversed\u200b")
    propose(goals, "math", "al\u200bge\u202ebra", reasoning="so\r\nX-Evil: 1")
    assert send() == 1
    message = outbox.outbox[0].message()
    assert message["Bcc"] is message["X-Evil"] is None
    assert "\n" not in outbox.outbox[0].subject
    for said in (outbox.outbox[0].subject, *texts()):
        assert not set(said) & {"\u202e", "\u200b"}


# -- who is told --------------------------------------------------------------------------------------


def test_only_those_who_may_decide_are_told(
    alice: User, told: User, ben: User, mallory: User, admin: User, algebra: Proposal
) -> None:
    for person in (alice, ben, mallory, admin):
        wants(person)
    assert send() == 3
    to = sorted(to for sent in outbox.outbox for to in sent.to)
    assert to == ["admin@example.org", "alice@example.org", "tim@example.org"]


@pytest.mark.parametrize(
    "change",
    [{"is_active": False}, {"email": ""}, {"mail": Mail.NEVER}, {"mail_failure": "550 no such user"}],
    ids=lambda change: next(iter(change)),
)
def test_who_cannot_or_does_not_want_to_be_told_is_not(change: dict[str, Any], tim: User, algebra: Proposal) -> None:
    wants(tim, **change)
    assert send() == 0
    wants(tim, is_active=True, mail_failure="")
    assert send() == 1


def test_a_new_tutor_is_told_what_already_waits_and_one_no_longer_assigned_nothing(
    goals: Block, ben: User, alice: User, algebra: Proposal, propose: Propose
) -> None:
    wants(ben, mailed_at=timezone.now() - timedelta(hours=1))
    made_earlier(algebra, days=2)
    assert send() == 0
    assigned = Tutorship.objects.create(tutor=ben, owner=alice)
    assert send(minutes=1) == 1
    propose(goals, "B2", "C1")
    assigned.delete()
    assert send(minutes=10) == 0


# -- what is told, and when ---------------------------------------------------------------------------


def test_the_same_is_told_once(goals: Block, told: User, algebra: Proposal, propose: Propose) -> None:
    assert send() == 1
    assert send(minutes=30) == 0
    propose(goals, "B2", "C1")
    assert send(minutes=60) == 1
    first, second = outbox.outbox
    assert "algebra" in first.body
    assert "algebra" not in second.body
    assert "1 more has been waiting for longer." in second.body


def test_what_comes_in_a_short_time_is_one_mail(goals: Block, told: User, algebra: Proposal, propose: Propose) -> None:
    propose(goals, "B2", "C1")
    assert send() == 1
    assert outbox.outbox[0].subject == "2 proposals to review: Alice Berg"
    propose(goals, "book", "novel")
    assert send(minutes=2) == 0
    assert send(minutes=7) == 1


def test_nothing_is_sent_when_nothing_waits(told: User, algebra: Proposal) -> None:
    approve(told, algebra)
    assert send() == 0
    assert not outbox.outbox


@pytest.mark.parametrize(
    ("event", "again"),
    [
        ({"what": Event.What.AMENDED, "actor": "scribe", "actor_kind": "agent", "revision": 2}, {"alice", "tim"}),
        # Who undoes a decision knows it.
        ({"what": Event.What.REOPENED, "actor": "tim", "actor_kind": "person", "revision": 1}, {"alice"}),
    ],
    ids=["its agent changed it", "a decision was undone"],
)
def test_what_waits_anew_is_told_again(
    told: User, alice: User, algebra: Proposal, event: dict[str, Any], again: set[str]
) -> None:
    wants(alice)
    assert send() == 2
    Event.objects.create(proposal=algebra, owner="alice", **event)
    assert send(minutes=30) == len(again)
    assert {to for sent in outbox.outbox[2:] for to in sent.to} == {f"{name}@example.org" for name in again}


@pytest.mark.pure
@pytest.mark.parametrize(
    ("mail", "zone", "now", "is_due"),
    [
        (Mail.DAILY, "Europe/Berlin", datetime(2026, 11, 24, 5, 59, tzinfo=UTC), False),  # 6:59 there
        (Mail.DAILY, "Europe/Berlin", datetime(2026, 11, 24, 6, 0, tzinfo=UTC), True),
        (Mail.DAILY, "Europe/Berlin", datetime(2026, 11, 24, 23, 0, tzinfo=UTC), True),
        (Mail.DAILY, "Nowhere/Land", datetime(2026, 11, 24, 6, 59, tzinfo=UTC), False),  # taken for UTC
        (Mail.DAILY, "Nowhere/Land", datetime(2026, 11, 24, 7, 0, tzinfo=UTC), True),
        (Mail.WEEKLY, "UTC", datetime(2026, 11, 29, 20, tzinfo=UTC), False),
        (Mail.WEEKLY, "UTC", datetime(2026, 11, 30, 7, tzinfo=UTC), True),  # a Monday
    ],
)
def test_it_goes_out_in_the_morning_where_its_reader_is(mail: Mail, zone: str, now: datetime, is_due: bool) -> None:
    told = datetime(2026, 11, 23, 7, 0, 10, tzinfo=UTC)  # the Monday before
    person = User(username="x", mail=mail, mailed_at=told, time_zone=zone)
    assert schedule.is_due(person, now, hour=7) is is_due


def test_a_day_without_news_is_over_without_a_mail(goals: Block, tim: User, propose: Propose) -> None:
    # It is noon where tim is: the hour at which digests go out does not come while this runs.
    ahead = 12 - datetime.now(UTC).hour
    told = timezone.now() - timedelta(days=3)
    wants(tim, Mail.DAILY, mailed_at=told, time_zone=f"Etc/GMT{-ahead:+d}")
    assert send() == 0
    tim.refresh_from_db()
    assert tim.mailed_at is not None
    assert tim.mailed_at > told
    propose(goals, "math", "algebra")
    assert send() == 0  # tomorrow
    wants(tim, Mail.DAILY, mailed_at=None)  # as somebody new
    assert send() == 0
    assert send(days=1) == 1


# -- being told again -------------------------------------------------------------------------------


def reminders(proposal: Proposal) -> list[str]:
    return [event.data["to"] for event in proposal.events.filter(what=Event.What.REMINDED).order_by("id")]


def test_reviewers_are_told_again_after_seven_days_and_the_owner_after_fourteen(
    alice: User, told: User, algebra: Proposal, as_tim: Client
) -> None:
    wants(alice)
    assert send() == 2
    assert services.remind() == 0
    pass_time(days=8)
    assert services.remind() == 1
    assert services.remind() == 0
    assert reminders(algebra) == ["reviewers"]
    assert "Reminded Assent" in words(as_tim.get(algebra.get_absolute_url()))
    assert send() == 1
    assert outbox.outbox[-1].to == ["tim@example.org"]
    assert "It has waited for 8 days." in outbox.outbox[-1].body
    pass_time(days=7)
    assert services.remind() == 1
    assert reminders(algebra) == ["reviewers", "owner"]
    assert send() == 1
    assert outbox.outbox[-1].to == ["alice@example.org"]
    assert send(hours=3) == 0
    approve(told, algebra)
    pass_time(days=30)
    assert services.remind() == 0


def test_an_owner_without_a_tutor_is_the_reviewer(alice: User, algebra: Proposal) -> None:
    wants(alice)
    assert send() == 1
    pass_time(days=8)
    assert services.remind() == 1
    assert send() == 1
    assert "It has waited for" in outbox.outbox[-1].body


def test_a_reminder_is_in_the_next_digest_of_the_day(tim: User, algebra: Proposal) -> None:
    wants(tim, Mail.DAILY, mailed_at=timezone.now())
    made_earlier(algebra, days=8)
    assert send(days=1) == 0
    assert services.remind() == 1
    assert send(days=1) == 1


def test_what_waits_long_comes_first_and_is_marked(
    goals: Block, tim: User, algebra: Proposal, propose: Propose
) -> None:
    wants(tim, mailed_at=timezone.now() - timedelta(minutes=10))
    made_earlier(algebra, days=8)
    propose(goals, "B2", "C1")
    services.remind()
    assert send() == 1
    body = outbox.outbox[-1].body
    assert body.index("algebra") < body.index("C1")
    assert body.count("It has waited for") == 1


def test_what_its_agent_changed_waits_anew(algebra: Proposal) -> None:
    made_earlier(algebra, days=8)
    assert services.remind() == 1
    changed = {"what": Event.What.AMENDED, "actor": "scribe", "actor_kind": "agent", "revision": 2}
    Event.objects.create(proposal=algebra, owner="alice", **changed)
    Proposal.objects.filter(pk=algebra.pk).update(current_revision_number=2)
    pass_time(days=6)
    Proposal.objects.filter(pk=algebra.pk).update(expires_at=timezone.now() + timedelta(days=25))
    assert services.remind() == 0
    pass_time(days=2)
    assert services.remind() == 1
    assert reminders(algebra) == ["reviewers", "reviewers"]


def test_of_many_runs_one_reminds(algebra: Proposal) -> None:
    made_earlier(algebra, days=20)
    threads = [in_a_thread(services.remind) for _ in range(4)]
    for thread in threads:
        thread.join(30)
    assert sorted(reminders(algebra)) == ["owner", "reviewers"]


def test_reminders_can_be_switched_off(algebra: Proposal) -> None:
    made_earlier(algebra, days=20)
    with override_settings(REMIND_AFTER=timedelta(0), REMIND_OWNER_AFTER=timedelta(0)):
        assert services.remind() == 0
    with override_settings(REMIND_AFTER=timedelta(0)):
        assert services.remind() == 1


@pytest.mark.pure
@pytest.mark.parametrize(
    ("life", "reviewers", "owner"),
    [(30, 7, 14), (20, 7, 13), (14, 7, 7), (10, 5, 5), (2, 1, 1)],
)
def test_both_are_reminded_before_it_expires(life: int, reviewers: int, owner: int) -> None:
    since = datetime(2026, 11, 1, tzinfo=UTC)
    assert due_at(since, since + timedelta(days=life)) == (
        since + timedelta(days=reviewers),
        since + timedelta(days=owner),
    )


def test_a_row_says_when_its_proposal_expires_soon(as_tim: Client, algebra: Proposal) -> None:
    assert "expires in" not in words(as_tim.get(reverse("inbox")))
    for left, said in ((timedelta(days=3, hours=1), "expires in 3 days"), (timedelta(minutes=30), "expires today")):
        Proposal.objects.update(expires_at=timezone.now() + left)
        assert said in words(as_tim.get(reverse("inbox")))
