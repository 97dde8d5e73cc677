"""Letters and signs that look like others of their own script, or are another spelling of the same one.

Belongs here: Latin letters that confusables.txt of UTS 39 takes for one of ASCII, letters that NFKC makes one, and what
NFC writes otherwise. Not here: letters of another script (`tables`).

Living languages have some of them: Turkish a dotless i, Ewe ɣ and ʋ, phonetic transcription most. A word counts only
where its language, its neighbours and a transcription do not explain it.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

#: Latin letters, and the ASCII letter that confusables.txt (Unicode 13) has for each. Without ǀ: names begin with it.
_LATIN = dict(zip("ɑƄꞴꬲꬵꞙẝꞘɡᶃƍıɩꞲƖᴑꬽꭇꭈƦƽꞟꭎꭒʋɯꞳɣᶌỿꭚ", "abBefffFgggiiJloorrRsuuuuwXyyyy", strict=True))
_LATIN |= dict(zip("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnopqrstuvwyz", strict=True))
#: Letters in another font or width, Roman numerals of one letter, and the sign of kelvin, which NFC makes a letter.
_STYLED = "\u212aℊℎℯℴ\u2160-\u217f\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d6a3"
_ODD = re.compile(f"[{''.join(_LATIN)}{_STYLED}]")

#: Letters of living alphabets (Turkish, Azeri; of West Africa, Kabyle), and what else words of these languages have.
_ALPHABETS = (
    (frozenset("ı"), frozenset("çğöşüÇĞİÖŞÜəƏ")),
    (frozenset("ɑɣɩƖʋ"), frozenset("ɖɛƒɨŋɔɓɗəɲʊƙǝƉƐƑƔŊƆƲčḍǧḥṛṣṭẓ")),
)
_SHARE = 0.25
_TURKISH_NAME = 4  # letters; "Yılmaz" stands in many an English text

#: A transcription: between slashes or brackets, or with a letter that nothing else has.
_TRANSCRIBED = re.compile(r"(?<![\w/])/[^/\n]{1,80}/(?![\w/])|\[[^\[\]\n]{1,80}\](?!\()")
_PHONETIC = re.compile(f"(?![{''.join(_LATIN)}])[ɐ-ʯʰ-ʸˈˌːˑˠˡˢˤŋðøœæβθχ]")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]")

#: What NFC writes as another sign, and "." of an abbreviation's leader: inside a Latin word or behind one.
_SIGN = re.compile("(?<=[A-Za-z])\u037e|(?<=[A-Za-z0-9])\u2024(?=[A-Za-z0-9])")
#: Another spelling of a letter or sign: nothing by itself, a message where both are there more often.
_RESPELLED = re.compile("[A-Za-z][\u0300-\u036f]|[\u037e\u0387\u1fef\u1ffd\u2024\u2126\u212a\u212b]")
_FEW = 3

_WORD = re.compile("[^\\W\\d_]+")
_APOSTROPHE = re.compile("[^\\W\\d_]+'[^\\W\\d_]+")


def places(text: str, whole: str | None) -> set[int]:
    """Return the places of letters and signs that imitate others.

    Args:
        whole: all the text around, by which words of living languages are known; None for a part of unknown context,
            where these are left alone.
    """
    found = _respelled(text, whole or text)
    found.update(match.start() for match in _SIGN.finditer(text))
    if not _ODD.search(text):
        return found
    around = text if whole is None else f"{text}\n{whole}"
    spelled = {word.casefold() for word in _WORD.findall(around) if not _ODD.search(word)}
    transcribed = {at for match in _TRANSCRIBED.finditer(text) for at in range(*match.span())}
    has_wide, native = bool(_WIDE.search(around)), _native(around)
    begin = 0
    for line in text.splitlines(keepends=True):
        known = native | _native(line) if _ODD.search(line) else native
        for match in _WORD.finditer(line):
            at = begin + match.start()
            own = {letter for letters, others in _ALPHABETS if not others.isdisjoint(match[0]) for letter in letters}
            odd = [place for place, char in enumerate(match[0]) if char not in known | own and _ODD.match(char)]
            if odd and at not in transcribed and _imitates(match[0], odd, spelled, has_wide, whole is None):
                found.update(at + place for place in odd)
        begin += len(line)
    return found


def _native(text: str) -> set[str]:
    """Return the letters of the alphabets in which three words, and a quarter of all, are spelled."""
    words = set(_WORD.findall(text))
    found = set[str]()
    for letters, others in _ALPHABETS:
        spelled = sum(not (letters | others).isdisjoint(word) for word in words)
        if spelled > 2 and spelled >= _SHARE * len(words):
            found.update(letters)
    return found


def _imitates(word: str, odd: list[int], spelled: set[str], has_wide: bool, is_part: bool) -> bool:
    """Whether a word with these odd letters stands for one in ASCII: it has both, or the other word is there too."""
    letters = {word[place] for place in odd}
    plain = sum(char.isascii() for char in word)
    is_styled = letters.isdisjoint(_LATIN)
    if not is_styled and _PHONETIC.search(word):
        return False
    has_twin = len(word) > 1 and "".join(map(_plain, word)).casefold() in spelled
    if not plain:
        return has_twin and not (is_styled and has_wide)
    if is_part and not is_styled:
        return letters != {"ı"} and plain >= 4 * len(odd)
    if letters == {"ı"}:
        return has_twin or not word[0].isupper() or len(word) < _TURKISH_NAME
    # In formulas: d𝑥, the 𝑛th.
    is_formula = all(letter >= "\U0001d400" for letter in letters) and plain < _TURKISH_NAME and len(odd) < _FEW
    return has_twin or not is_formula


@cache
def _plain(char: str) -> str:
    return _LATIN.get(char) or unicodedata.normalize("NFKC", char)


def _respelled(text: str, whole: str) -> set[int]:
    found = {match.start(): unicodedata.normalize("NFKC", match[0]) for match in _RESPELLED.finditer(text)}
    counts = {char: whole.count(char) for char in {*found.values()} if len(char) == 1}
    both = [at for at, char in found.items() if counts.get(char)]
    marks = {at + 1 if text[at].isascii() else at for at in both}
    crowd = marks if min(len(both), sum(counts.values())) > _FEW else set()
    if "\u02bc" in text:
        spelled = set(_APOSTROPHE.findall(whole.replace("’", "'")))
        for match in _WORD.finditer(text):
            if match[0].replace("\u02bc", "'") in spelled:
                crowd.update(match.start() + place for place, char in enumerate(match[0]) if char == "\u02bc")
    return crowd
