"""What a statement says, as a set of terms: equal for small rewordings, and different as soon as the meaning may be.

A term is a stem, a number, or a word bound to the one after it ("not", "from", "before"), so that neither a negation
nor a direction gets lost with the order of words; the order of numbers is a term too. Words that change nothing
(articles, pronouns, "really") are left out.
Rules rather than a measure: a score by which "likes tea" and "likes green tea" are nearly the same cannot tell
"3 May" from "4 May".
"""

from __future__ import annotations

import re

from memory_app.text.sentences import key
from memory_app.text.stems import DEGREES, PAST_FORMS, folded, stems

#: Words without which a statement says the same.
_EMPTY = frozenset(
    """
    a an the this that these those there here i me my mine myself we us our ours you your yours he him his himself she
    her hers herself it its itself they them their theirs themselves user student learner is am are be been being do
    does has have having and also too but of in on at for with by about as to into so such then which who whom
    whose what where when how very really quite just actually currently now still rather lot lots much s re ve m d ll
    der die das den dem des ein eine einen einem einer und ist sind hat haben sehr auch er sie es im am zu mit von
    el la los las un una unos unas y es son de del en con muy tambien le les du et est sont tres il elle
    """.split()
)
#: Words that turn round or direct what follows: each is bound to the next word that counts.
_BINDING = frozenset(
    """
    no not never without nor neither nothing nobody none nowhere cannot from before after until till since under over
    above below against except unless than nicht kein keine keinen keiner nie niemals ohne vor nach bis seit
    nunca sin ni antes despues hasta desde ne pas jamais sans avant apres jusque depuis
    """.split()
)
#: Words that a statement may not gain or lose, though they stand by themselves: number, degree, time and possibility.
_WEIGHTY = frozenset(
    """
    was were had did will would shall should can could may might must only all every each some any many most more few
    fewer less least several both half always sometimes often rarely seldom usually hardly almost former formerly ex
    yet already no-longer stop quit if or off out up down fake false true maybe perhaps probably possibly allegedly
    better best worse worst nur alle manchmal immer selten oft ehemalig war waren wird solo siempre veces era fue
    """.split()
)
_NUMBERS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}

# Scripts whose words hang together: one term for each character. Thai to Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_UNSPACED += "\U00020000-\U0003134f"
#: What says nothing in them: particles, polite endings, "very".
_EMPTY_UNSPACED = re.compile(
    "非常|十分|真的|とても|すごく|本当に|정말|아주|매우|(?:です|ます|である|だ)(?=[^\\w]|$)|입니다(?=[^\\w]|$)|[的了吗呢吧很也はがをにもと은는이가을를]"
)
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")
_NEGATED_UNSPACED = "不没沒無无未别勿否안못"
_NUMERALS_UNSPACED = "〇零一二三四五六七八九十百千万萬億两兩半每毎全只"

_NEGATED = re.compile(r"\b(?:(ca|wo|sha)n't|(\w+)n't|cannot)\b")
_FULL = {"ca": "can not", "wo": "will not", "sha": "shall not"}
_NO_LONGER = re.compile(r"\b(?:no longer|not any ?more|no more)\b")
_ENGLISH_ORDINAL = re.compile(r"(?<=\d)(?:st|nd|rd|th)\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?:\D|$))")
_BOX = re.compile(r"(?:(?:[-*+•]|\d{1,9}[.)])\s*)?\[([ xX])\]")
_PIECE = re.compile(
    rf"(?P<unspaced>[{_UNSPACED}])"
    r"|(?P<number>(?:(?<![\w.,)])[-−])?\d+(?:[.,:/]\d+)*+)"
    rf"|(?P<word>(?:(?![{_UNSPACED}])[^\W\d_])++(?:\+\+|\#(?!\w))?)"
    r"|(?P<struck>~~)"
    r"|(?P<sign>[<>≤≥≠±](?=\s*\d)|[%‰$€£¥₹₩°\u2600-\u27bf\U0001f000-\U0001faff])"
)


def terms(statement: str) -> frozenset[str]:
    """Return the terms of a statement; of one that has none, its characters without white space.

    Args:
        statement: one sentence, item or heading, or a whole text.
    """
    statement = statement.lstrip()
    box = _BOX.match(statement)
    said = key(statement[box.end() :] if box else statement)
    text = _ENGLISH_ORDINAL.sub("", _THOUSANDS.sub("", folded(said)))
    text = _NO_LONGER.sub(" no longer ", _NEGATED.sub(_written_out, text))
    counted = _with_bound(_pieces(text))
    if box:
        counted.add("[x]" if box[1] != " " else "[ ]")
    return frozenset(counted or {"".join(statement.split())} - {""})


def may_be_added(term: str) -> bool:
    """Whether a statement that gains or loses this term is taken for the same, if it has several others."""
    if term in _WEIGHTY or "+" in term[1:-1] or term[-1] in "<~":
        return False
    if len(term) == 1:
        return bool(_UNSPACED_LETTER.match(term)) and term not in _NUMERALS_UNSPACED
    return not any(char.isdigit() for char in term) and term[0].isalnum()


def _written_out(found: re.Match[str]) -> str:
    if found[1]:
        return _FULL[found[1]]
    return f"{found[2]} not" if found[2] else "can not"


def _pieces(text: str) -> list[str]:
    """Return the terms in the order of the text, before any is bound."""
    words: list[str] = []
    found = [(match.lastgroup or "", match[0]) for match in _PIECE.finditer(_EMPTY_UNSPACED.sub(" ", text))]
    plain = [word for kind, word in found if kind == "word"]
    stemmed = dict(zip(plain, stems(plain), strict=True))
    for kind, piece in found:
        if kind == "word":
            if piece not in _EMPTY:
                words.append(_term(piece, stemmed[piece]))
        else:
            words.append(piece.replace("−", "-").lstrip("0") or "0" if kind == "number" else piece)
    return words


def _term(word: str, stem: str) -> str:
    """Return the term of a word: what was is another statement than what is, so the past keeps a mark."""
    if word in _BINDING or word in _WEIGHTY or word in DEGREES:
        return word
    if word in _NUMBERS:
        return _NUMBERS[word]
    is_past = word in PAST_FORMS or (word.endswith("ed") and not stem.endswith("ed"))
    return f"{stem}<" if is_past else stem


def _with_bound(words: list[str]) -> set[str]:
    """Return the terms, with each binding word together with the next one that counts."""
    counted: set[str] = set()
    bound = ""
    for word in words:
        if word in _BINDING or (len(word) == 1 and word in _NEGATED_UNSPACED):
            bound += f"{word}+"
            continue
        counted.add(bound + word)
        bound = ""
    if bound:
        counted.add(bound)
    numbers = [word for word in words if word.lstrip("-")[:1].isdigit()]
    if len(numbers) > 1:  # 2 cats and 3 dogs are not 3 cats and 2 dogs
        counted.add(" ".join(numbers))
    return counted
