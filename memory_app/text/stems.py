"""Normalising words: without case, accents and curly quotes, and as the stem that inflected forms have in common.

Not here: cutting a text into words, which searches do (`search.ranking.vocabulary`).
"""

import re
import threading
import unicodedata

import Stemmer  # type: ignore[import-not-found]  # compiled, without stubs

from assent_client.text.invisible.tables import PILED

# Forms that are other words as often ("saw", "left", "found", "felt", "lay", "ground", "wound") are listed too.
_IRREGULAR = """
bear bore borne born; beat beaten; become became; begin began begun; bend bent; bind bound; bite bit bitten;
bleed bled; blow blew blown; break broke broken; breed bred; bring brought; build built; burn burnt; buy bought;
catch caught; choose chose chosen; cling clung; come came; creep crept; deal dealt; dig dug; draw drew drawn;
dream dreamt; drink drank drunk; drive drove driven; eat ate eaten; fall fell fallen; feed fed; feel felt;
fight fought; find found; flee fled; fly flew flown; forbid forbade forbidden; forget forgot forgotten;
forgive forgave forgiven; freeze froze frozen; get got gotten; give gave given; go went gone; grind ground;
grow grew grown; hang hung; hear heard; hide hid hidden; hold held; keep kept; kneel knelt; know knew known;
lay laid; lead led; learn learnt; leave left; lend lent; light lit; lose lost; make made; mean meant; meet met;
pay paid; ride rode ridden; ring rang rung; rise rose risen; run ran; say said; see saw seen; seek sought;
sell sold; send sent; sew sewn; shake shook shaken; shine shone; shoot shot; show shown; shrink shrank shrunk;
sing sang sung; sink sank sunk; sit sat; sleep slept; slide slid; speak spoke spoken; spend spent; spin spun;
spring sprang sprung; stand stood; steal stole stolen; stick stuck; sting stung; strike struck; strive strove striven;
swear swore sworn; sweep swept; swim swam swum; swing swung; take took taken; teach taught; tear tore torn;
tell told; think thought; throw threw thrown; understand understood; wake woke woken; wear wore worn;
weave wove woven; win won; write wrote written;
man men; woman women; child children; foot feet; tooth teeth; mouse mice; person people; life lives; wife wives;
knife knives; leaf leaves; half halves; good better best; bad worse worst
"""
#: Irregular form → root form: no stemmer finds that "went" is "go" or "children" is "child".
_ROOTS = {form: root for root, *forms in map(str.split, _IRREGULAR.split(";")) for form in forms}

_MARKS = re.compile("[\u0300-\u036f]+")
# Unicode's own bound (UAX 15, stream-safe text): to bring more of them in order takes the square of their number.
_PILED_UP = re.compile(f"([{PILED}]{{30}})[{PILED}]+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")

# A stemmer keeps its buffers between calls and may not be used by two threads at once.
_stemmers = threading.local()


def folded(text: str) -> str:
    """Return `text` without differences that no search should depend on: case, width, accents of Latin letters, curly
    quotes."""
    if _NOT_ASCII.search(text):
        text = unicodedata.normalize("NFKC", _PILED_UP.sub(r"\1", text)).replace("\u2019", "'")
        # Taken apart, accents are characters of their own; put together again, Hangul is whole as before.
        text = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))
    return text.casefold()


def stems(surfaces: list[str]) -> list[str]:
    """Return the term of each word: its English stem, or that of its root form where it is irregular ("bought": "buy").

    Roots lift the first hit on LoCoMo's turns (MRR of BM25 alone .501 → .513). An English
    stemmer does no harm to other languages: it cuts off the same letters in query and text. Cyrillic has its own.
    """
    if not hasattr(_stemmers, "english"):
        _stemmers.english, _stemmers.russian = Stemmer.Stemmer("english"), Stemmer.Stemmer("russian")
    stemmed: list[str] = _stemmers.english.stemWords([_ROOTS.get(word, word) for word in surfaces])
    for at, word in enumerate(surfaces):
        if "а" <= word[:1] <= "я":
            # Folding makes и of the й that endings are known by.
            stemmed[at] = _stemmers.russian.stemWord(f"{word[:-1]}й" if word.endswith(("ои", "ыи")) else word)
    return stemmed
