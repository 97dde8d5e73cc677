"""Everyday questions about small memories: what an agent is shown where no word is shared."""

from itertools import chain

import pytest

from tests.memory_app.search.test_finding import index_of, notes

pytestmark = pytest.mark.pure

# Of each memory its notes; what is asked, with the number of the note that answers; and what no note answers. Where an
# agent's search begins to call a note near was set by the first two: the others were only measured.
STUDENT = (
    """
    Sister Priya lives in Pune
    Comes by bicycle when it is dry
    Prefers to be called SG
    Is allergic to peanuts
    Sits the physics exam on the second Monday of March
    Works at the bakery on Saturdays
    Drinks tea, never coffee
    Her dog Rufus is eleven years old
    Reads detective novels before going to bed
    Finds fractions hard and derivatives easy
    Wants to become a marine biologist
    Shares a flat with two nurses near the station
    Learns best with worked examples
    Had her appendix out in January
    Pays 410 euros rent
    """,
    """
    family: 0; bike: 1; name: 2; what should I call her: 2; food allergies: 3; nuts: 3; test dates: 4; job: 5;
    employment: 5; favourite beverage: 6; pets: 7; hobbies: 8; books: 8; weak topics in maths: 9; career plans:
    10; where does she live: 11; roommates: 11; how does she like to be taught: 12; surgery: 13; medical
    history: 13; cost of housing: 14
    """,
    "kubernetes; favourite football team; wedding anniversary; political party; bank account; tax return",
)
OLDER = (
    """
    Takes two blue pills after breakfast, for blood pressure
    The grandson Matteo visits on Sundays
    Hearing aid batteries are in the top drawer
    Was a tram driver in Milan for thirty years
    Does not want to talk about the war
    The neighbour Mrs Keller has a spare key
    Plays bridge on Wednesday afternoons
    Grows tomatoes and basil on the balcony
    Doctor Okafor is at the clinic on Elm Street
    Cannot climb stairs without help
    Loves Verdi, above all La Traviata
    Late wife was called Giulia
    Speaks Italian with friends and English with carers
    Goes to sleep at nine
    Supermarket delivers on Tuesdays
    Watches cycling on television
    """,
    """
    medication: 0; medicine: 0; relatives: 1; grandchildren: 1; former profession: 3; career: 3; topics to
    avoid: 4; emergency contact: 5; who can open the door: 5; card games: 6; gardening: 7; plants: 7; physician:
    8; mobility: 9; walking problems: 9; music: 10; opera: 10; marriage: 11; languages: 12; bedtime: 13;
    groceries: 14; shopping: 14; sports: 15; TV: 15
    """,
    "python decorators; university degree; credit card; skiing trip; motorcycle; video games; sushi; smartphone model",
)
FOUNDER = (
    """
    Startup sells software to dentists
    Investor update goes out on the first of each month
    Burn rate is forty thousand a month
    Hired two designers in spring
    Hates slide decks, wants one page of text
    Competitor Dentova raised ten million
    Signs emails with J.
    The lawyer is Frau Beck in Cologne
    Servers stand in Frankfurt for privacy reasons
    Vegetarian lunch at the office on Wednesdays
    Customers complain about the calendar sync
    Sleeps badly before board meetings
    Speaks Dutch and a little Polish
    Gym at six in the morning
    """,
    """
    spending: 2; money: 2; recruiting: 3; new employees: 3; presentation format: 4; rivals: 5; signature: 6;
    legal counsel: 7; attorney: 7; hosting: 8; data protection: 8; meals: 9; bugs: 10; complaints: 10; insomnia:
    11; stress: 11; foreign languages: 12; workout: 13; exercise: 13; product: 0
    """,
    "sailing; grandmother; birdwatching; guitar; wedding dress; glacier; poetry; knee surgery",
)
GERMAN = (
    """
    Fährt bei schönem Wetter mit dem Rad
    Die Schwester wohnt in Graz
    Verträgt keine Milchprodukte
    Möchte mit Du angesprochen werden
    Arbeitet dienstags und donnerstags in der Bücherei
    Hat im Februar eine Prüfung in Statistik
    Der Kater heißt Moritz
    Spielt Geige im Orchester
    Braucht lange für Brüche, kann gut Geometrie
    Will Ärztin werden
    Trinkt gern grünen Tee
    Miete und Strom zahlen die Eltern
    """,
    """
    Fahrrad: 0; Wetter: 0; Geschwister: 1; Familie: 1; Laktose: 2; Milch: 2; Anrede: 3; Arbeit: 4; Bibliothek:
    4; Klausur: 5; Prüfungen: 5; Katze: 6; Musik: 7; Instrument: 7; Mathematik: 8; Beruf: 9; Arzt: 9; Getränk:
    10; Wohnkosten: 11
    """,
    "Fußball; Kubernetes; Hochzeitstag; Steuererklärung; Segelboot; Vulkan",
)
OTHER_ALPHABETS = (
    """
    每天早上七点去跑步
    对花生过敏
    数学考试在周五上午
    养了一只叫豆豆的猫
    京都の大学で物理を勉強している
    妹は看護師
    緑茶が好きでコーヒーは飲まない
    土曜日は本屋でアルバイト
    Живёт в Москве с сестрой
    Аллергия на орехи
    Кота зовут Барсик
    Боится летать на самолёте
    """,
    """
    跑步: 0; 过敏: 1; 考试什么时候: 2; 猫叫什么: 3; 大学: 4; 妹の仕事: 5; コーヒー: 6; アルバイト: 7;
    сестра: 8; аллергии: 9; кот: 10; самолёты: 11
    """,
    "足球; 钢琴课; 牙医; 护照号码; 滑雪; サッカー; パスポート番号; 結婚式; футбол; стоматолог; свадьба; лыжи",
)


@pytest.mark.parametrize(
    ("memory", "shown", "denied", "claimed"),
    [
        pytest.param(STUDENT, 18, 0, 0, id="a student"),
        pytest.param(OLDER, 20, 2, 0, id="an old man"),
        pytest.param(FOUNDER, 16, 0, 0, id="a founder"),
        pytest.param(GERMAN, 12, 0, 1, id="a German pupil"),
        pytest.param(OTHER_ALPHABETS, 11, 1, 0, id="other alphabets"),
    ],
)
def test_the_right_note_is_shown_and_not_denied(
    memory: tuple[str, str, str], shown: int, denied: int, claimed: int
) -> None:
    """`shown`: right notes among the hits, at least; `denied`: of these below "Nothing matches", and `claimed`: hits
    not marked weak for what no note answers, at most."""
    written, asked, unanswered = memory
    index = index_of(notes(*(line.strip() for line in written.strip().splitlines())))
    answers = {}
    for question in " ".join(asked.split()).split("; "):
        query, number = question.rsplit(": ", 1)
        found = index.search(query, for_agents=True)
        answers[query] = found, f"note-{number}" in [hit.item_id for hit in found.hits]
    right = [found for found, is_right in answers.values() if is_right]
    assert len(right) >= shown, [query for query, (_, is_right) in answers.items() if not is_right]
    assert sum(found.hits[0].weak and not found.is_near for found in right) <= denied
    nothing = [index.search(query, for_agents=True) for query in unanswered.split("; ")]
    assert sum(bool(found.hits) and not found.hits[0].weak for found in nothing) <= claimed
    for found in chain(nothing, (found for found, _ in answers.values())):
        assert len({hit.weak for hit in found.hits}) <= 1, "weak ones only where nothing is strong"
        assert len(found.hits) <= 3 or not found.hits[0].weak
        scores = [hit.score for hit in found.hits]
        assert scores == sorted(scores, reverse=True)
