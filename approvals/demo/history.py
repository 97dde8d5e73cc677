"""What happened before today: the blocks as they were made, and proposals that were decided."""

from __future__ import annotations

from approvals.demo.steps import Approved, Created, Edited, Expired, Proposed, Rejected, Step, Turn, Withdrawn, ago
from approvals.demo.texts import log_entries
from approvals.models import Confidence, RejectReason
from memory_app.text.edits import Replace

HISTORY: tuple[Step, ...] = (
    Created(ago(70), "alice", "alice", "profile"),
    Created(ago(69, hours=23), "alice", "alice", "goals"),
    Created(ago(69, hours=22), "alice", "alice", "preferences"),
    Created(ago(66), "alice", "alice", "lerntagebuch"),
    Created(ago(64), "alice", "alice", "weekly_plan"),
    Created(ago(63), "alice", "alice", "vocabulary"),
    Created(ago(62), "alice", "alice", "sticking_points"),
    Created(ago(61), "admin", "alice", "accommodations"),
    Created(ago(60), "alice", "alice", "study_log", until="2026-09-22"),
    Proposed(
        ago(52),
        "exam-date-guessed",
        "alice",
        "goals",
        (
            Replace(
                "| Analysis III, written exam | February 2027 | date to be announced |",
                "| Analysis III, written exam | 2 February 2027 | announced |",
            ),
        ),
        "The room plan of the institute lists “Analysis III” for 2 February, 10:00 to 13:00.",
        confidence=Confidence.LOW,
    ),
    Rejected(
        ago(51),
        "exam-date-guessed",
        "tim",
        RejectReason.WRONG,
        "That is a room booking, not the exam. The date is not fixed; please wait until Prof. Wieland announces it.",
    ),
    Proposed(
        ago(47),
        "migraine",
        "alice",
        "profile",
        (
            Replace(
                "A good first question is “what would you try if it did not have to work?”.",
                "A good first question is “what would you try if it did not have to work?”.\n\nHas migraines in weeks "
                "with little sleep and then cannot look at a screen.",
            ),
        ),
        "Alice explained why she had missed Thursday's session. It may matter for planning.",
        session_id="session-2026-10-05",
        evidence=(Turn("user", "sorry about thursday, I had one of my migraines and couldn't look at the laptop", 35),),
    ),
    Rejected(
        ago(46, hours=20),
        "migraine",
        "alice",
        RejectReason.TOO_PRIVATE,
        "I said that to explain one bad week, not to have it written down. Please leave my health out of this.",
    ),
    Proposed(
        ago(45),
        "log-begin",
        "alice",
        "study_log",
        (log_entries("2026-09-22", "2026-10-06"),),
        "Adds the preparatory course and the evening of reading ahead.",
        confidence=Confidence.HIGH,
    ),
    Approved(ago(44), "log-begin", "alice"),
    Proposed(
        ago(41, hours=5),
        "satz-misspelled",
        "alice",
        "vocabulary",
        (
            Replace(
                "| widerlegen | to disprove | eine Vermutung *widerlegen* |",
                "| widerlegen | to disprove | eine Vermutung *widerlegen* |\n| der Satz, -e | theorem | |",
            ),
        ),
        "Alice asked what *Satz* means in “Satz von Fubini”.",
    ),
    Withdrawn(ago(41, hours=4), "satz-misspelled", "The plural was wrong (die Sätze). A corrected proposal follows."),
    Proposed(
        ago(41, hours=3),
        "satz",
        "alice",
        "vocabulary",
        (
            Replace(
                "| widerlegen | to disprove | eine Vermutung *widerlegen* |",
                "| widerlegen | to disprove | eine Vermutung *widerlegen* |\n"
                "| der Satz, die Sätze | theorem; also sentence | der *Satz* von Fubini |",
            ),
        ),
        "Alice asked what *Satz* means in “Satz von Fubini”; she knew it only as “sentence”.",
    ),
    Approved(ago(40), "satz", "alice"),
    Created(ago(40), "ben", "ben", "profile"),
    Created(ago(39, hours=23), "ben", "ben", "goals"),
    Proposed(
        ago(38),
        "voice-messages",
        "alice",
        "preferences",
        (
            Replace(
                "- No reminders on Saturdays.",
                "- No reminders on Saturdays.\n- Reminders may also come as voice messages.",
            ),
        ),
        "She answered a voice message faster than a written one, once.",
        confidence=Confidence.LOW,
    ),
    Proposed(
        ago(36),
        "log-first-week",
        "alice",
        "study_log",
        (log_entries("2026-10-06", "2026-10-16"),),
        "Adds the first week of lectures, as agreed every Friday after the tandem.",
        confidence=Confidence.HIGH,
    ),
    Approved(ago(34), "log-first-week", "tim", "Good summary of Wednesday."),
    Proposed(
        ago(33),
        "exam-date",
        "alice",
        "goals",
        (
            Replace(
                "| Analysis III, written exam | February 2027 | date to be announced |",
                "| Analysis III, written exam | 12 February 2027 | announced |",
            ),
            Replace("The written exam is in February; admission", "The written exam is on 12 February; admission"),
        ),
        "Prof. Wieland announced the date at the beginning of the lecture; Alice photographed the board.",
        confidence=Confidence.HIGH,
    ),
    Approved(ago(32, hours=18), "exam-date", "tim", "Correct, it is on the institute's page now."),
    Proposed(
        ago(29),
        "log-second-week",
        "alice",
        "study_log",
        (log_entries("2026-10-16", "2026-10-23"),),
        "Adds the second week: sheets 1, outer measure, the session with Tim.",
        confidence=Confidence.HIGH,
    ),
    Approved(ago(28), "log-second-week", "alice"),
    Edited(
        ago(26),
        "alice",
        "alice",
        "lerntagebuch",
        (("Die Küche ist gemütlich, aber es gibt", "Unsere Küche ist gemütlich, aber es gibt"),),
        "Klingt besser so.",
    ),
    Proposed(
        ago(22),
        "log-third-week",
        "alice",
        "study_log",
        (log_entries("2026-10-23", "2026-10-30"),),
        "Adds the third week, including the supremum proof she was proud of.",
        confidence=Confidence.HIGH,
    ),
    Approved(ago(21), "log-third-week", "tim"),
    Proposed(
        ago(19),
        "independence-blunt",
        "alice",
        "sticking_points",
        (
            Replace(
                "were understood at once, then forgotten twice.",
                "were understood at once, then forgotten twice. Fails to apply it under pressure.",
            ),
        ),
        "Came up again in exercise 3 of sheet 2.",
    ),
    Rejected(
        ago(18),
        "independence-blunt",
        "tim",
        RejectReason.BADLY_WORDED,
        "Alice reads this. Write what happened and what helped, not what she “fails” at.",
    ),
    Proposed(
        ago(17, hours=20),
        "independence",
        "alice",
        "sticking_points",
        (
            Replace(
                "were understood at once, then forgotten twice.",
                "were understood at once, then forgotten twice (last on sheet 2, exercise 3, with the clock running; "
                "writing down all eight products helped).",
            ),
        ),
        "Came up again in exercise 3 of sheet 2. Reworded after the last rejection: what happened and what helped.",
    ),
    Approved(ago(17), "independence", "tim", "Yes, like this."),
    Created(ago(16), "ben", "ben", "study_log"),
    Proposed(
        ago(15),
        "log-fourth-week",
        "alice",
        "study_log",
        (log_entries("2026-10-30", "2026-11-06"),),
        "Adds the fourth week and All Saints' Day.",
        confidence=Confidence.HIGH,
    ),
    Approved(ago(14), "log-fourth-week", "alice", "The bit about the onions comes next week, I hope."),
    Proposed(
        ago(12),
        "points-same-day",
        "alice",
        "preferences",
        (
            Replace(
                "- No reminders on Saturdays.",
                "- No reminders on Saturdays.\n- Enter the points of a sheet on the day they are known, no remarks.",
            ),
        ),
        "She asked for the sum twice this week and was annoyed that Monday's points were missing.",
        confidence=Confidence.LOW,
    ),
    Approved(ago(11), "points-same-day", "alice"),
    Proposed(
        ago(10, hours=6),
        "spanish-course",
        "alice",
        "goals",
        (
            Replace(
                "4. **Read one page of Arabic",
                "4. **Refresh Spanish to A2** in the Monday course.\n5. **Read one page of Arabic",
            ),
        ),
        "The list of language courses shows her name for Spanish A2, Mondays at 18:00.",
    ),
    Rejected(
        ago(10),
        "spanish-course",
        "alice",
        RejectReason.OUTDATED,
        "I cancelled it before it began. Monday evenings are free and stay free.",
    ),
    Proposed(
        ago(8, hours=3),
        "ben-units",
        "ben",
        "profile",
        (
            Replace(
                "Einheiten lässt er beim Rechnen weg und setzt sie am Ende wieder ein, oft die falschen.",
                "Einheiten lässt er beim Rechnen gern weg; seit Anfang November schreibt er sie in die erste Zeile.",
            ),
        ),
        "In den letzten drei Sitzungen standen die Einheiten von Anfang an da.",
    ),
    Approved(ago(8), "ben-units", "ben", "stimmt 💪"),
    Expired(ago(7, hours=23), "voice-messages"),
)
