"""Searching one owner's memory: what is found, in which order, and what is not."""

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pytest

from memory_app.search.ranking import chunking
from memory_app.search.ranking.chunking import chunks_of_block, chunks_of_message, chunks_of_note, row_of
from memory_app.search.ranking.dense import stored, wordllama
from memory_app.search.ranking.index import OwnerIndex
from memory_app.search.ranking.postings import ChunkFilters

pytestmark = pytest.mark.pure

NOTES = (
    "Alice wants to pass algebra by June",
    "She prefers tea over coffee",
    "Her dog is called Rex",
    "Learns best with worked examples",
    "Works on Fridays at the bakery",
)


def rows_of(chunks: Sequence[chunking.TextChunk], first: int = 0) -> list[chunking.IndexRow]:
    vectors = wordllama().embed([chunk.meaning for chunk in chunks])
    return [row_of(first + number, chunk, stored(vectors[number])) for number, chunk in enumerate(chunks)]


def index_of(chunks: Sequence[chunking.TextChunk]) -> OwnerIndex:
    return OwnerIndex(rows_of(chunks), wordllama())


def notes(*texts: str, at: datetime | None = None) -> list[chunking.TextChunk]:
    return [chunk for i, text in enumerate(texts) for chunk in chunks_of_note(note_id=f"note-{i}", content=text, at=at)]


def found(index: OwnerIndex, query: str, **options: Any) -> list[str]:
    return [hit.item_id for hit in index.search(query, **options).hits]


def session(name: str, *said: tuple[str, str], at: datetime | None = None) -> tuple[chunking.TextChunk, ...]:
    return tuple(
        chunk
        for i, (author, text) in enumerate(said)
        for chunk in chunks_of_message(name, f"{name}-{i}", text, sequence=i, author=author, at=at)
    )


def test_a_note_is_found_by_its_words_or_by_meaning_alone_and_says_why() -> None:
    index = index_of(notes(*NOTES))
    assert found(index, "algebra exam") == ["note-0"]
    (hit,) = index.search("mathematics").hits
    assert (hit.item_id, hit.words) == ("note-0", ())
    (hit,) = index_of(notes("Her dog is called Rex")).search("What is the dog called?").hits
    assert hit.words == ("dog", "called")
    assert 0 < hit.score <= 1


@pytest.mark.parametrize(
    "query", ["quantum chromodynamics", "kubernetes deployment yaml", "xyzzy", "", "  ", "?!", "\x00", "x" * 50_000]
)
def test_what_nobody_wrote_about_finds_nothing(query: str) -> None:
    assert found(index_of(notes(*NOTES)), query) == []


def test_letters_without_a_vowel_are_like_nothing_in_another_language() -> None:
    texts = ("Con Lucía habla español los domingos", "Özlem hat den Müll erklärt, gelb und blau", "測る, to measure")
    assert index_of(notes(*texts)).search("zzzz", for_agents=True).hits == ()


def test_an_empty_memory_finds_nothing() -> None:
    assert OwnerIndex().search("anything").hits == ()
    assert OwnerIndex([], wordllama()).search("anything").hits == ()


UNSPACED = ("東京で寿司を食べました", "안녕하세요 선생님", "เรียนภาษาไทยทุกวัน", "She drinks tea")
FORMS = ("She bought two mice", "He went swimming", "To be or not to be")
MARKED = ("Loves crème brûlée", "Works in a cafe", "ПРИВЕТ из Москвы")
TICKETS = ("Ticket PROJ-1234 is done", "Ticket PROJ-1235 is open", "1234 steps yesterday")
SIGNS = ("Choices: a) tea b) juice c) water", "c c c: the item c", "Writes C++ at work", "C# and .NET", "net weight")
MUSEUM = ("Alice visited the museum with her class", "Alice visited the museum last Friday")


@pytest.mark.parametrize(
    ("texts", "query", "best"),
    [
        pytest.param(NOTES, "algbra", 0, id="a letter left out"),
        pytest.param(NOTES, "cofffee", 1, id="a letter too many"),
        pytest.param(NOTES, "exmaples", 3, id="two letters swapped"),
        pytest.param(NOTES, "bakory", 4, id="another letter"),
        pytest.param(FORMS, "buy a mouse", 0, id="an irregular plural"),
        pytest.param(FORMS, "did he go swimming", 1, id="an irregular past"),
        pytest.param(FORMS, "to be or not to be", 2, id="stop words only"),
        pytest.param(UNSPACED, "東京はどこ", 0, id="a word of a Japanese question"),
        pytest.param(UNSPACED, "寿司", 0, id="a Japanese word"),
        pytest.param(UNSPACED, "京", 0, id="half a Japanese word"),
        pytest.param(UNSPACED, "안녕하세요", 1, id="Korean"),
        pytest.param(UNSPACED, "ภาษาไทย", 2, id="Thai"),
        pytest.param(MARKED, "creme brulee", 0, id="no accents"),
        pytest.param(MARKED, "CAFÉ", 1, id="another case, and an accent"),
        pytest.param(MARKED, "привет", 2, id="another case in Cyrillic"),
        pytest.param(TICKETS, "PROJ-1234", 0, id="exactly that compound name"),
        pytest.param(SIGNS, "C++", 2, id="a letter with signs"),
        pytest.param(SIGNS, "c#", 3, id="a letter with another sign"),
        pytest.param(SIGNS, ".NET", 3, id="a word with a dot"),
        pytest.param(MUSEUM, "When did Alice visit the museum?", 1, id="a time where a time is asked for"),
        pytest.param(NOTES, "algebra " + "lorem ipsum dolor " * 3_000, 0, id="the beginning of 50 kB"),
    ],
)
def test_what_was_meant_is_found_first(texts: Sequence[str], query: str, best: int) -> None:
    assert found(index_of(notes(*texts)), query)[0] == f"note-{best}"


def test_a_common_word_is_not_taken_for_a_misspelling_of_another() -> None:
    assert found(index_of(notes("The horse stands in the meadow")), "house") == []


def test_an_id_finds_its_note_first() -> None:
    named, naming = "mem-1700000000-ab12", "mem-1700000000-cd34"
    chunks = [
        *chunks_of_note(note_id=named, content="Her dog is called Rex"),
        *chunks_of_note(note_id=naming, content=f"What {named} says is out of date"),
    ]
    assert found(index_of(chunks), named) == [named, naming]


def test_equal_messages_are_listed_once_and_top_k_is_kept() -> None:
    said = ["Her dog is called Rex"] * 40 + ["The dog is old", "A dog barks"]
    index = index_of([chunk for n, text in enumerate(said) for chunk in session(f"s{n}", ("ann", text))])

    assert len(found(index, "dog", top_k=5)) == 3
    assert len(found(index, "dog", top_k=2)) == 2
    assert found(index, "dog", top_k=0) == []


def test_the_newer_of_two_equally_good_notes_comes_first() -> None:
    chunks = [
        *chunks_of_note(note_id="old", content="tea", type="fact", at=datetime(2024, 1, 1, tzinfo=UTC)),
        *chunks_of_note(note_id="new", content="tea", tags=["tea"], at=datetime(2025, 1, 1, tzinfo=UTC)),
    ]
    index = OwnerIndex([row_of(i, chunk) for i, chunk in enumerate(chunks)])

    assert found(index, "tea", filters=ChunkFilters(include_superseded=True))[0] == "new"


def test_filters_leave_only_what_they_name() -> None:
    chunks = [
        *chunks_of_note(note_id="a", content="dog one", type="fact", tags=["pets"], category="home", session_id="s1"),
        *chunks_of_note(note_id="b", content="dog two", type="risk", tags=["work", "pets"], session_id="s2"),
        *chunks_of_note(note_id="c", content="dog three", type="fact", superseded=True),
        *chunks_of_block(label="goals", title="Goals", body="walk the dog"),
        *session("s1", ("Alice", "my dog")),
    ]
    index = index_of(chunks)

    def only(**fields: Any) -> set[str]:
        return set(found(index, "dog", top_k=20, filters=ChunkFilters(**fields)))

    assert only() == {"a", "b", "goals", "s1-0"}
    assert only(sources=frozenset({"user_memory"})) == {"a", "b"}
    assert only(sources=frozenset({"conversation", "memory_block"})) == {"goals", "s1-0"}
    assert only(types=frozenset({"fact", "decision"})) == {"a"}
    assert only(tags=frozenset({"work"})) == {"b"}
    assert only(tags=frozenset({"work", "pets"})) == {"a", "b"}
    assert only(category="home") == {"a"}
    assert only(session_id="s1") == {"a", "s1-0"}
    assert only(include_superseded=True, types=frozenset({"fact"})) == {"a", "c"}
    assert only(tags=frozenset({"never used"})) == set()


def test_a_block_is_found_by_title_label_description_and_section() -> None:
    body = "intro\n\n# Languages\n\nFrench on Mondays\n\n# Sports\n\nSwimming"
    index = index_of(chunks_of_block(label="study_plan", title="Timetable", body=body, description="weekly lessons"))

    assert all(found(index, query) for query in ("timetable", "study_plan", "lessons"))
    (hit, *_) = index.search("languages").hits
    assert hit.chunk_id == 1


def test_an_answer_is_found_by_the_question_before_it() -> None:
    chunks = session(
        "s",
        ("Ben", "The weather was awful, we stayed inside all day and watched old films."),
        ("Ben", "What breed is the puppy you adopted?"),
        ("Alice", "A spaniel! She is eleven weeks old and chews everything she can find."),
        ("Ben", "Lovely, mine is a cat person, as you know from our trip to the lake."),
    )
    assert found(index_of(chunks), "Which breed of puppy did Alice adopt?")[0] == "s-2"


def test_a_named_day_prefers_what_was_said_then() -> None:
    then, later = datetime(2023, 5, 8, tzinfo=UTC), datetime(2023, 9, 1, tzinfo=UTC)
    chunks = [
        *session("later", ("Alice", "We had dinner with Maria at the harbour"), at=later),
        *session("then", ("Alice", "We had dinner with Tim at the harbour"), at=then),
    ]
    index = index_of(chunks)

    assert found(index, "Who came to dinner at the harbour on 7 May 2023?")[0] == "then-0"
    assert found(index, "dinner at the harbour last month", today=date(2023, 10, 4))[0] == "later-0"


ENGLISH_DAYS = (
    "the landlord came, concert with Priya, dentist at ten, thesis draft handed in, rent goes up, flight to Oslo, "
    "boiler repaired, choir rehearsal, lunch with Tom, the car failed its inspection"
).split(", ")
GERMAN_DAYS = (
    "Zahnarzt, Umzug nach Graz, Prüfung in Statistik, Oma wird achtzig, Steuerbescheid kam, Treffen mit Herrn Maier, "
    "Impfung, Probe im Chor, Abgabe der Hausarbeit, Urlaub beginnt"
).split(", ")
MONTHS = "Januar Februar März April Mai Juni Juli August September Oktober November Dezember".split()
NOTATIONS = (
    lambda day: day.isoformat(),
    lambda day: f"{day.day}.{day.month}.{day.year}",
    lambda day: f"{day.day} {day:%B} {day.year}",
    lambda day: f"{day:%B} {day.day}, {day.year}",
    lambda day: f"{day.day}. {MONTHS[day.month - 1]} {day.year}",
    lambda day: f"{day.day}. {MONTHS[day.month - 1][:3]}.",
    lambda day: f"{day:%d/%m/%Y}",
)


@pytest.mark.parametrize(
    ("texts", "days", "asked"),
    [
        (ENGLISH_DAYS, [date(2026, m, d) for m in (11, 12) for d in (2, 11, 12, 20, 21)], "what happened on {}?"),
        (GERMAN_DAYS, [date(2026, m, d) for m in (3, 5) for d in (3, 4, 13, 14, 30)], "Was war am {}?"),
    ],
)
def test_a_day_is_found_in_another_notation(texts: Sequence[str], days: Sequence[date], asked: str) -> None:
    written = [NOTATIONS[number % 5](day) for number, day in enumerate(days)]
    index = index_of(notes(*(f"{day}: {text}" for day, text in zip(written, texts, strict=True))))
    for number, day in enumerate(days):
        for notation in NOTATIONS:
            for query in (asked.format(notation(day)), notation(day)):
                assert found(index, query) == [f"note-{number}"], f"{query}, where the note says {written[number]}"


def test_vectors_of_another_embedder_are_left_out() -> None:
    index = OwnerIndex([row_of(0, notes("Her dog is called Rex")[0], b"\x00\x3c" * 3)], wordllama())

    assert found(index, "dog") == ["note-0"]
    assert found(index, "puppy") == []
    assert found(index_of(notes("Her dog is called Rex")), "puppy") == ["note-0"]


def test_of_two_notes_with_the_same_words_the_one_that_opens_with_what_is_asked_comes_first() -> None:
    index = index_of(notes("Tom took the train to Paris with Anna", "Anna took the train to Paris with Tom"))

    assert found(index, "Where did Anna go?") == ["note-1", "note-0"]
    assert found(index, "Where did Tom go?") == ["note-0", "note-1"]

    later = notes("Rome", "Oslo", "Tom took the train to Paris with Zoe", "Zoe took the train to Paris with Tom")
    index.add(rows_of(later[2:], first=10))
    assert found(index, "Where did Zoe go?") == ["note-3", "note-2"]


def test_of_notes_that_say_the_same_one_is_found_and_names_the_others_the_newest_first() -> None:
    long = " ".join(f"Likes painting number {number}." for number in range(120))
    texts = ["Likes tea.", "likes tea", "Likes tea!", "Likes C.", "Likes C++.", long, long, f"{long} Now."]
    made = [
        chunk
        for number, text in enumerate(texts)
        for chunk in chunks_of_note(
            note_id=f"note-{number}", content=text, at=datetime(2026, 1, 1 + number, tzinfo=UTC)
        )
    ]
    assert len(made) == len(texts) + 3, "a long note has several chunks"
    index = index_of(made)

    def said(query: str, **options: Any) -> list[list[str]]:
        hits = index.search(query, top_k=20, **options).hits
        assert all(list(hit.same) == sorted(hit.same, reverse=True) for hit in hits)
        return sorted(sorted([hit.item_id, *hit.same]) for hit in hits)

    assert said("likes") == [["note-0", "note-1", "note-2"], ["note-3"], ["note-4"], ["note-5", "note-6"], ["note-7"]]
    assert set(index.rank_items("likes")) == {f"note-{number}" for number in range(len(texts))}, "a list has them all"
    index.remove([2])
    index.add(rows_of(chunks_of_note(note_id="old", content="Likes tea.", superseded=True), first=50))
    assert said("tea") == [["note-0", "note-1"]], "what is outdated says nothing"
    assert said("tea", filters=ChunkFilters(include_superseded=True)) == [["note-0", "note-1"], ["old"]]


def test_to_a_question_about_everything_the_newest_and_most_recalled_notes_follow() -> None:
    days = (1, 2, 3, 20)
    texts = [*NOTES[:3], NOTES[2].upper()]
    made = [
        chunk
        for number, (day, text) in enumerate(zip(days, texts, strict=True))
        for chunk in chunks_of_note(note_id=f"note-{number}", content=text, at=datetime(2026, 1, day, tzinfo=UTC))
    ]
    index = index_of(made)
    asked = {"query": "What do you know about me?", "for_agents": True}
    assert found(index, recalled={}, **asked) == ["note-3", "note-1", "note-0"]  # note-2 says what note-3 does
    assert found(index, recalled={"note-0": 20, "gone": 9}, top_k=2, **asked) == ["note-0", "note-3"]
