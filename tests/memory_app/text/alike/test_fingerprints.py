"""Small rewordings have the fingerprint of what was rejected; other statements about the same subject have another."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory_app.text import alike
from memory_app.text.alike import Said, terms

pytestmark = pytest.mark.pure

SECRET = b"a secret of an installation, 32b"

#: Made up while the rules were.
REWORDED = [
    ("She likes tea.", "she likes tea"),
    ("She likes tea.", "She really likes tea!"),
    ("She likes tea.", "Likes tea"),
    ("She likes tea.", "The user likes tea."),
    ("She likes tea.", "- She likes  tea"),
    ("Her exam is on 3 May.", "Her exam is on May 3rd."),
    ("Her exam is on 3 May.", "On 3 May is her exam"),
    ("She studies best in the morning before school.", "In the morning before school she studies best."),
    ("She studies best in the morning before school.", "She studies best in the early morning before school."),
    ("She studies best in the early morning before school.", "She studies best in the morning before school."),
    ("She does not like being corrected in front of others.", "She doesn't like being corrected in front of others!"),
    ("She no longer eats meat.", "No longer eats meat"),
    (
        "Wants to pass the maths exam with a good grade in June.",
        "Wants to pass the maths exam with a very good grade in June.",
    ),
    ("Prefers long explanations with many worked examples.", "Prefers long explanations, with many worked examples"),
    ("Prefers long explanations with many worked examples.", "She prefers long explanation with many worked example"),
    ("She moved from Berlin to Paris last year.", "Last year she moved from Berlin to Paris."),
    ("She likes tea. She hates coffee.", "She likes tea and hates coffee."),
    ("She likes tea and hates coffee.", "She hates coffee. She likes tea."),
    (
        "Her brother Tim plays the violin in the school orchestra.",
        "Her brother Tim is playing the violin in the school orchestra.",
    ),
    ("Budget is 1,000 € a month.", "Budget: 1000 € a month"),
    ("Meets her tutor at 17:30 on Mondays.", "On Mondays, she meets her tutor at 17:30"),
    ("Allergic to peanuts, hazelnuts and shellfish.", "Allergic to hazelnuts, peanuts, and shellfish"),
    ("她喜欢喝绿茶。", "她很喜欢喝绿茶"),
    ("她每天早上在图书馆学习数学和物理。", "她每天早上都在图书馆学习数学和物理"),
    ("試験は5月3日です。", "試験は5月3日"),
    ("彼女は毎朝図書館で数学を勉強します。", "彼女は毎朝、図書館で数学を勉強します"),
    ("그녀는 매일 아침 도서관에서 수학을 공부한다.", "그녀는 매일 아침 도서관에서 수학을 공부한다"),
    ("Sie trinkt morgens immer grünen Tee.", "Morgens trinkt sie immer grünen Tee!"),
    ("A café in Zürich", "a cafe in zurich"),
    ("“She said she wants more homework”", "She said she wants more homework."),
    ("Likes reading.", "She likes to read."),
]

#: Made up afterwards: the rules found 19 of 20 at once, the other is in `NOT_FOUND`.
REWORDED_LATER = [
    ("Wants feedback in writing, not by phone.", "She wants feedback in writing, not by phone"),
    (
        "Her little sister is starting primary school in September.",
        "Her little sister starts primary school in September.",
    ),
    (
        "Finds fractions difficult and needs more time for them.",
        "She finds fractions difficult, and needs more time for them.",
    ),
    ("Plays handball twice a week in the evening.", "Twice a week she plays handball in the evening."),
    (
        "Her parents are separated; she spends weekends with her father.",
        "Her parents are separated. She spends weekends with her father.",
    ),
    ("Takes medication for ADHD every morning.", "She takes her medication for ADHD every morning"),
    ("Is saving money for a trip to Japan in 2028.", "Saves money for a trip to Japan in 2028."),
    ("Does not want to be called Allie.", "She doesn't want to be called “Allie”."),
    ("Uses a screen reader on her laptop at school.", "Uses the screen reader on the laptop at school."),
    ("Goal: read one English book a month until summer.", "Goal: read 1 English book a month until summer"),
    ("Understands graphs better than formulas.", "She understands graphs much better than formulas."),
    (
        "Wrote her best essay about the water cycle last term.",
        "Last term she wrote her best essay about the water cycle.",
    ),
    (
        "Prefers being asked before photos are taken of her work.",
        "She prefers to be asked before photos are taken of her work.",
    ),
    (
        "Gets nervous when the teacher calls on her without warning.",
        "She easily gets nervous when the teacher calls on her without warning.",
    ),
    ("他住在上海，在一家银行工作。", "他现在住在上海，在一家银行工作。"),
    ("彼女はピアノを十年間習っています。", "彼女はピアノを十年間習っています！"),
    ("Er möchte Tierarzt werden, wenn er groß ist.", "Er möchte wirklich Tierarzt werden, wenn er groß ist."),
    (
        "A budget of 250 EUR for books was agreed with her mother.",
        "A budget of 250 EUR for books was agreed on with her mother.",
    ),
    ("Reads the summary first and the details later.", "First she reads the summary, later the details."),
]

#: Made up while the rules were.
OTHER = [
    ("She likes tea.", "She does not like tea."),
    ("She likes tea.", "She likes coffee."),
    ("She likes tea.", "She never likes tea."),
    ("She likes tea.", "She liked tea."),
    ("She likes tea.", "She dislikes tea."),
    ("She likes tea.", "She likes green tea."),
    ("She likes tea but not coffee.", "She likes coffee but not tea."),
    ("Exam on 3 May.", "Exam on 4 May."),
    ("Exam on 3 May.", "Exam on 3 June."),
    ("Exam on 3 May.", "Exam on 13 May."),
    ("Exam on 3 May at 10.", "Exam on 10 May at 3."),
    ("Her exam in math is on 3 May in room 12.", "Her exam in math is on 3 May in room 14."),
    ("Her exam in math is on Monday morning at school.", "Her exam in math is on Monday afternoon at school."),
    ("Her exam in math is on Monday at school with Tim.", "Her exam in math is on Monday at school with Tom."),
    ("She moved from Berlin to Paris last year.", "She moved from Paris to Berlin last year."),
    ("She always does her homework before dinner.", "She always does her homework after dinner."),
    ("She always does her homework before dinner.", "She never does her homework before dinner."),
    ("She always does her homework before dinner.", "She does her homework before dinner."),
    ("She lives in Berlin with her mother.", "She lived in Berlin with her mother."),
    ("She is vegetarian.", "She was vegetarian."),
    ("She is vegetarian.", "She is not vegetarian."),
    ("She is vegetarian.", "She will be vegetarian."),
    ("She can swim.", "She can't swim."),
    ("She got an A in maths.", "She got a B in maths."),
    ("She got an A in maths in her final year at school.", "She got a B in maths in her final year at school."),
    ("Budget is 1,000 € a month.", "Budget is 1,000 $ a month."),
    ("Budget is 1,000 € a month.", "Budget is 10,000 € a month."),
    ("Temperature below -5 °C hurts.", "Temperature below 5 °C hurts."),
    ("Needs more than 8 hours of sleep.", "Needs less than 8 hours of sleep."),
    ("- [ ] Hand in the essay", "- [x] Hand in the essay"),
    ("Writes in C.", "Writes in C++."),
    ("Only her mother may call the school.", "Her mother may call the school."),
    ("Her mother may call the school in an emergency.", "Her father may call the school in an emergency."),
    ("She wants to be reminded of homework every day.", "She wants to be reminded of homework every week."),
    ("She wants to be reminded of homework every day.", "She wants not to be reminded of homework every day."),
    ("2 cats and 3 dogs live with her.", "3 cats and 2 dogs live with her."),
    ("Takes the bus unless it rains.", "Takes the bus when it rains."),
    ("她喜欢喝绿茶。", "她不喜欢喝绿茶。"),
    ("她喜欢喝绿茶。", "她喜欢喝红茶。"),
    ("考试在五月三日。", "考试在五月四日。"),
    ("試験は5月3日です。", "試験は5月4日です。"),
    ("試験は5月3日です。", "試験は3月5日です。"),
    ("彼女は毎朝図書館で数学を勉強します。", "彼女は毎朝図書館で数学を勉強しません。"),
    ("彼女は毎朝図書館で数学を勉強します。", "彼女は毎晩図書館で数学を勉強します。"),
    ("Sie mag grünen Tee am Morgen sehr.", "Sie mag keinen grünen Tee am Morgen."),
    ("Sie war Mitglied im Ruderverein der Schule in Köln.", "Sie ist Mitglied im Ruderverein der Schule in Köln."),
    ("Grade 4 in chemistry, 5 in physics.", "Grade 5 in chemistry, 4 in physics."),
    ("Her therapist is Dr. Meyer.", "Her therapist is Dr. Mayer."),
    ("She is good at chess.", "She is best at chess."),
    (
        "Stopped smoking two years ago in spring after the operation.",
        "Smoking two years ago in spring after the operation.",
    ),
]

#: Made up afterwards: the rules told 31 of 34 apart at once, and 32 since "than" is bound. Two are listed below.
OTHER_LATER = [
    ("Wants feedback in writing, not by phone.", "Wants feedback by phone, not in writing."),
    ("Her little sister starts primary school in September.", "Her little brother starts primary school in September."),
    ("Finds fractions difficult.", "Finds fractions easy."),
    ("Plays handball twice a week in the evening.", "Plays handball once a week in the evening."),
    ("She spends weekends with her father.", "She spends weekends without her father."),
    ("Takes medication for ADHD every morning.", "Takes medication for ADHD every evening."),
    ("Saves money for a trip to Japan in 2028.", "Saves money for a trip to Japan in 2029."),
    ("Wants to be called Allie.", "Does not want to be called Allie."),
    ("Read one English book a month until summer.", "Read two English books a month until summer."),
    ("Understands graphs better than formulas.", "Understands formulas better than graphs."),
    (
        "Prefers being asked before photos are taken of her work.",
        "Prefers being asked after photos are taken of her work.",
    ),
    ("Her grandmother in Lisbon is ill.", "Her grandmother in Lisbon was ill."),
    ("Works at Siemens since 2019.", "Worked at Siemens until 2019."),
    ("Has two brothers.", "Has two sisters."),
    ("Meeting at 9:30 in room B.", "Meeting at 9:30 in room C."),
    ("Meeting at 9:30 on Tuesday with Ben in room B.", "Meeting at 8:30 on Tuesday with Ben in room B."),
    ("Lactose intolerant.", "Not lactose intolerant."),
    ("Her phone number ends in 4411.", "Her phone number ends in 4414."),
    ("She agreed to share grades with her father.", "She has not agreed to share grades with her father."),
    ("She agreed to share grades with her father.", "She agreed to share grades with her mother."),
    ("Enjoys maths.", "Hates maths."),
    ("Drinks no alcohol.", "Drinks alcohol."),
    ("Sleeps at least 7 hours.", "Sleeps at most 7 hours."),
    ("他住在上海，在一家银行工作。", "他住在北京，在一家银行工作。"),
    ("彼女はピアノを十年間習っています。", "彼女はピアノを五年間習っています。"),
    ("Er möchte Tierarzt werden.", "Er möchte nicht Tierarzt werden."),
    ("Her visa expires on 2027-03-01.", "Her visa expires on 2027-01-03."),
    (
        "Needs reminders for homework every day in the week before exams.",
        "Needs reminders for homework every day in the week after exams.",
    ),
    ("Email her mother about absences.", "Email her mother and father about absences."),
    ("Likes working with Mia and Zoe.", "Likes working with Mia, Zoe and Finn."),
    ("Has a cat called Mimi at home.", "Has a cat called Momo at home."),
    ("Allergic to nuts.", "Allergic to nuts and milk."),
]

#: Rewordings that no rule here finds: synonyms, and other ways to say it.
NOT_FOUND = [
    ("Her grandmother in Lisbon is seriously ill.", "Her grandmother in Lisbon is ill."),
    ("She likes tea.", "She enjoys tea."),
    ("She no longer eats meat.", "She doesn't eat meat any more."),
    ("Her exam takes place on 3 May.", "Her exam is scheduled for 3 May."),
    ("Lives with her aunt.", "Her home is with her aunt."),
]

#: What the rules cannot tell apart: who does what to whom, what belongs to which, an adjective more.
TAKEN_FOR_THE_SAME = [
    ("Speaks French at home and German at school.", "Speaks German at home and French at school."),
    ("Only drinks water at school.", "Drinks only at school water."),
    ("Alice teaches Ben.", "Ben teaches Alice."),
    ("Her exam in maths is in June at school.", "Her final exam in maths is in June at school."),
    ("He likes tea.", "She likes tea."),
]


def rejected(*texts: str, before: str = "") -> list[alike.Fingerprint]:
    return alike.fingerprints([said(text, before=before) for text in texts], "", SECRET)


def said(text: str, *, before: str = "") -> Said:
    change = alike.changed(before, text)
    return Said(change.added, change.removed, where="goals")


def found(kept: list[alike.Fingerprint], *asked: Said, secret: bytes = SECRET) -> bool:
    keys = alike.probes(asked, secret)
    return alike.share_found(each for each in kept if each.key in keys) >= alike.MOST_OF_IT


def is_same(one: str, other: str) -> bool:
    return found(rejected(one), said(other))


@pytest.mark.parametrize(("one", "other"), REWORDED + REWORDED_LATER)
def test_a_small_rewording_is_the_same(one: str, other: str) -> None:
    assert is_same(one, other)
    assert is_same(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER + OTHER_LATER)
def test_another_statement_about_the_same_is_another(one: str, other: str) -> None:
    assert not is_same(one, other)
    assert not is_same(other, one)


@pytest.mark.parametrize(("one", "other"), NOT_FOUND)
def test_what_is_said_with_other_words_is_not_found(one: str, other: str) -> None:
    assert not is_same(one, other)


@pytest.mark.parametrize(("one", "other"), TAKEN_FOR_THE_SAME)
def test_what_differs_in_order_alone_is_taken_for_the_same(one: str, other: str) -> None:
    assert is_same(one, other)


# -- changes --------------------------------------------------------------------------------------


GOALS = "# Goals\n\nShe likes math.\nShe wants to pass the exam in June.\n\n- one book a month\n"


def test_only_what_a_change_adds_counts_wherever_it_stands() -> None:
    kept = rejected(GOALS.replace("math.", "math. She rows on Sundays."), before=GOALS)
    assert found(kept, said(f"{GOALS}- rows on Sundays\n", before=GOALS))
    assert not found(kept, said(f"{GOALS}- sails on Sundays\n", before=GOALS))
    assert not found(kept, said(GOALS, before=""))


def test_most_of_what_was_rejected_among_other_things_is_found() -> None:
    kept = rejected("She rows on Sundays.")
    assert found(kept, said("She has a dog. She rows on Sundays. Her brother is called Max."))


def test_a_part_of_what_was_rejected_is_not() -> None:
    kept = rejected("She rows on Sundays. Her brother is called Max. She has a dog. She is from Lisbon.")
    assert not found(kept, said("She has a dog. She is from Lisbon."))


def test_each_of_several_notes_counts_alone() -> None:
    kept = rejected("She rows on Sundays.", "Her brother is called Max.")
    assert found(kept, said("Her brother's called Max"))


def test_halves_of_two_notes_make_no_whole() -> None:
    kept = rejected("She rows on Sundays. She has a dog.", "Her brother is called Max. She is from Lisbon.")
    assert not found(kept, said("She has a dog. She is from Lisbon."))


def test_a_removal_counts_where_it_was_and_only_where_nothing_is_added() -> None:
    kept = rejected(GOALS.replace("She likes math.\n", ""), before=GOALS)
    assert found(kept, said(GOALS.replace("She likes math.\n", "").replace("one book", "one  book"), before=GOALS))
    assert not found(kept, said(GOALS.replace("likes math", "loves physics"), before=GOALS))
    elsewhere = alike.changed(GOALS, GOALS.replace("She likes math.\n", ""))
    assert not found(kept, Said(removed=elsewhere.removed, where="student"))


def test_the_other_half_of_a_replacement_is_no_rewording() -> None:
    before = "Her exam in math is on Monday morning.\n"
    kept = rejected("Her exam in math is on Monday.\n", before=before)
    assert not found(kept, said("Her exam in math is on Monday afternoon.\n", before=before))


def test_moving_and_formatting_say_nothing_new() -> None:
    moved = "\n".join(reversed(GOALS.split("\n")))
    for other in (moved, GOALS.replace("- one", "* **one**"), GOALS.replace("She likes", "she likes")):
        assert alike.changed(GOALS, other) == alike.Changed((), ())


def test_of_what_is_exact_only_the_same_words_in_the_same_order_count() -> None:
    kept = alike.fingerprints([said("She rows on Sundays.")], "", SECRET, is_exact=True)
    assert found(kept, said("She rows  on\nSundays."))
    assert not found(kept, said("On Sundays she rows."))


def test_reasoning_is_compared_like_a_statement() -> None:
    kept = alike.fingerprints([said("She rows.")], "She said so today.", SECRET)
    assert alike.reasoning_key("today, she said so!", SECRET) in {each.key for each in kept}
    assert alike.reasoning_key("Her mother said so.", SECRET) not in {each.key for each in kept}


# -- properties -----------------------------------------------------------------------------------

_WORDS = st.lists(st.sampled_from("alice tim rows sails green tea exam math june dog paris book".split()), min_size=1)
_TEXTS = st.text(max_size=200)


@given(_TEXTS)
def test_whatever_is_proposed_again_as_it_was_is_found(text: str) -> None:
    if terms(text):
        assert is_same(text, text) or not alike.statements_of(text)


@given(_WORDS, st.randoms(use_true_random=False))
def test_case_order_and_punctuation_change_nothing(words: list[str], order: random.Random) -> None:
    shuffled = [word.upper() for word in words]
    order.shuffle(shuffled)
    assert terms(" ".join(words)) == terms(f"- {', '.join(shuffled)}!")


@given(_WORDS)
def test_a_negation_is_never_the_same(words: list[str]) -> None:
    text = " ".join(words)
    assert not is_same(text, f"not {text}")
    assert not is_same(f"not {text}", text)


@given(_WORDS, st.integers(0, 99), st.integers(0, 99))
def test_another_number_is_never_the_same(words: list[str], one: int, other: int) -> None:
    text = " ".join(words)
    assert is_same(f"{text} {one}", f"{text} {other}") == (one == other)


@given(_TEXTS, _TEXTS)
def test_any_change_can_be_read(before: str, after: str) -> None:
    change = alike.changed(before, after)
    assert all(each.terms for each in (*change.added, *change.removed))


@given(_TEXTS)
def test_with_another_secret_no_key_is_the_same(text: str) -> None:
    kept = rejected(text)
    assert not found(kept, said(text), secret=b"another secret of the same length")


def test_a_key_is_of_a_statement_and_never_of_one_word_of_it() -> None:
    kept = {each.key for each in rejected("She drinks green tea with lemon before every exam.")}
    for word in "drinks green tea lemon exam".split():
        assert not kept & alike.probes([said(word)], SECRET).keys()


def test_a_hundred_thousand_characters_are_read_in_a_second() -> None:
    text = " ".join(f"She rows on day {number} of the long summer." for number in range(2_500))
    began = time.perf_counter()
    rejected(text)
    assert time.perf_counter() - began < 1
