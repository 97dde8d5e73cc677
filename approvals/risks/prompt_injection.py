"""Text that reads as if it were addressed to a model rather than being about a person.

Belongs here: the patterns, in the languages our users write (English, German, French, Spanish), and the folding
that keeps accents, look-alike forms and unseen characters from hiding a phrase. Not here: deciding whether it
is new (`flags`).

A memory is full of sentences about rules and instructions ("he forgets the instructions"), so a pattern wants both the
imperative and its object. What is missed is still shown to a person word for word.
"""

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from assent_client.text import invisible

# A snippet is a reminder of where to look; the change itself is on the same page.
_LONGEST_SNIPPET = 80

# All patterns meet text without accents and in lower case, with single spaces, one line at a time. No repetition is
# without bounds where the words after it may be its own: 100,000 characters of "ignore your your your" took 25 s.
# One pattern for what is asked for, in every language that says it in words of its own.
_OVERRIDES = (
    # "ignore all previous instructions", "disregard the rules above", "forget everything you know"
    r"\b(?:ignore|disregard|forget|override|bypass|(?:do not|don't|never|stop) (?:follow|following|obey|obeying))"
    r"(?: (?:all|any|every|everything|of|in|the|those|these|and|or|your|my)){0,6}"
    r" (?:previous|prior|above|earlier|preceding|existing|former|system|safety|initial|original|other|your|all|any)"
    r"(?: (?:previous|prior|above|earlier|system|safety|of|the|your|and|or|content)){0,6}"
    r" (?:instructions?|prompts?|messages?|rules?|guidelines?|directives?|commands?|policies|constraints"
    r"|training|context)\b",
    r"\b(?:ignore|disregard|forget|override|bypass) (?:(?:all |any )?(?:the |these |those )?(?:instructions?|prompts?"
    r"|rules?|messages?) (?:above|before|so far|you (?:were|have been|got)|given to you)"
    r"|(?:everything|anything|all) (?:above|before this|you (?:were|have been|know)|that was said))\b",
    # "ignoriere alle bisherigen Anweisungen"
    r"\b(?:ignoriere?n?|missachten?|vergiss|vergessen|uberschreiben?|umgehen?)(?: sie)?(?: bitte)?"
    r"(?: (?:alle[rsn]?|samtliche[rsn]?|jede|die|den|deine[rsn]?|ihre[rsn]?|diese|bitte)){0,6}"
    r" (?:vorherigen?|bisherigen?|obigen?|vorigen?|fruheren?|vorangegangenen?|vorhergehenden?|ursprunglichen?"
    r"|deine|alle|samtliche)"
    r" ?(?:system)?-?(?:anweisung(?:en)?|instruktion(?:en)?|befehle?|regeln|vorgaben|prompts?|richtlinien"
    r"|nachrichten)\b",
    # "oublie toutes les consignes précédentes", "ignorez vos règles"
    r"\b(?:ignor(?:e|ez)|oubli(?:e|ez)|neglig(?:e|ez)|(?:ne )?(?:tiens|tenez|tenir) pas compte(?: de)?"
    r"|contourn(?:e|ez))"
    r"(?:(?: (?:toutes?|tous|de|les|ces|des)){0,6} ?(?:tes|vos|les|ces|des)? (?:instructions?|consignes?|regles?"
    r"|directives?|messages?|prompts?)"
    r" (?:precedente?s?|anterieure?s?|initiale?s?|ci-dessus|d'avant|que tu as|que vous avez|du systeme)"
    r"| (?:toutes (?:les|tes|vos)|tes|vos) (?:instructions|consignes|regles|directives)\b)",
    # "olvida todas las reglas anteriores", "ignora tus instrucciones"
    r"\b(?:ignora|ignore|ignorad|olvida|olvide|descarta|descarte|omite|omita)"
    r"(?:(?: (?:todas?|todos|por completo)){0,6}(?: (?:las|los|tus|sus|estas|esas))?"
    r" (?:instrucciones|reglas|ordenes|indicaciones|directrices|mensajes|prompts?)"
    r" (?:anteriores|previas|previos|de arriba|iniciales|del sistema|que (?:te|le) )"
    r"| (?:todas (?:las|tus|sus)|tus|sus) (?:instrucciones|reglas|ordenes|directrices)\b)",
    # "you are now a pirate"
    r"\byou are now (?:an? |the |in \w+ mode|free (?:from|of|to)|allowed to|no longer |dan\b|unrestricted)"
    r"|\bdu bist (?:jetzt|nun|ab jetzt|ab sofort) (?:ein|eine|der|die|nicht mehr|frei)\b"
    r"|\b(?:tu es|vous etes) (?:maintenant|desormais|dorenavant) (?:une? |le |la |libre)"
    r"|\bahora eres (?:una? |el |la |libre)",
    # "do not tell the student"
    r"\b(?:do not|don't|never) (?:tell|inform|alert|notify|show|mention (?:this|it) to|reveal (?:this|it) to)"
    r" (?:this to |it to |any of this to )?(?:the |any )?(?:user|student|owner|reviewer|human|tutor)s?\b"
    r"|\b(?:sag|sage|sagen sie|verrate|verraten sie|zeige?|erzahle?) (?:das |es |dies )?(?:dem|der|den)"
    r" (?:nutzer|benutzer|anwender|schuler|studierenden|studenten|prufer)(?:in|innen|n)?(?: davon)? (?:nicht"
    r"|nichts)\b"
    r"|\bne (?:le |la |l')?(?:dis|dites|revele|revelez|montre|montrez|mentionne|mentionnez) (?:pas|rien|jamais)"
    r" (?:cela |ceci |ca )?(?:a l'|a la |au |aux )(?:utilisat|eleve|etudiant|lecteur|tuteur)"
    r"|\bno (?:se lo |le |les |lo )?(?:digas|diga|reveles|revele|muestres|muestre|menciones|mencione)"
    r" (?:esto |eso |nada )?(?:a la |a los |al )(?:usuari|alumn|estudiante|tutor|revisor)",
    r"\b(?:developer|debug|god|jailbreak|dan|admin) mode (?:is )?(?:on|enabled|activated)\b|\bdo anything now\b",
    r"\b(?:reveal|print|repeat|show|output|leak) (?:me )?(?:your|the) (?:system |hidden |secret "
    r"|initial )?(?:prompt|instructions)\b",
    r"\b(?:automatically |always |auto-?)(?:approve|accept|merge) (?:this|all|every|any|the)\b"
    r"|\b(?:approve|accept|merge) (?:this|all|every|any) (?:\w+ )?(?:proposals?|edits?)\b",
)
_MARKUP = (
    # What chat templates and tool protocols are made of. No person types these about a student.
    r"<\|\s?\w{2,30}\s?\|>",
    r"\[/?inst\]|<</?sys>>",
    r"</?(?:\w{1,12}:)?(?:system|assistant|tool_calls?|tool_use|tool_results?|tool_response|function_calls?"
    r"|function_results?"
    r"|invoke|system[-_]reminder|system[-_]prompt|im_start|im_end)\b[^<>]{0,200}>",
    r"\"role\" ?: ?\"(?:system|assistant|developer|tool)\"",
    r"\"(?:tool_calls?|function_call|tool_use|tool_choice)\" ?:",
    r"^[\s>*#_-]{0,6}(?:assistant|system|developer|human)(?: (?:message|prompt))?[\s*_]{0,3}:(?:[\s*_]|$)",
    r"^#{1,6} ?(?:system|instruction|assistant|response|human)s?(?: (?:message|prompt))?:? ?$",
)
_COMMANDS = (
    # "you must always"
    r"\b(?:you|assistant|model|agent|chatbot|ai|llm)s? (?:must|should|shall|will|have to|has to|need to"
    r"|are required to|is required to)"
    r" (?:always|never|not|ignore|obey|comply|only)\b"
    r"|\byou must\b(?! be (?:tired|joking|kidding))"
    r"|\b(?:du musst|du sollst|du darfst|sie mussen|sie sollen|sie durfen) (?:immer|stets|nie|niemals|nur|nicht"
    r"|ab jetzt|ab sofort)\b"
    r"|\b(?:tu dois|vous devez|tu ne dois|vous ne devez) (?:toujours|jamais|absolument|uniquement|seulement|pas)\b"
    r"|\b(?:debes|debe|tienes que|tiene que) (?:siempre|unicamente|obedecer|ignorar)\b|\b(?:siempre|nunca) debes\b",
    # "system prompt"
    r"\b(?:system|developer)[- ]?(?:prompt|message)s?\b|\bsystem-?(?:prompt|nachricht|anweisung)(?:en|s)?\b"
    r"|\b(?:invite|prompt|message|instructions?) (?:du )?systeme\b|\b(?:prompt|mensaje|instrucciones) del? sistema\b",
    # "from now on you"
    r"\bfrom now on,? (?:you|always|never|respond|answer|reply|act|behave|treat|ignore|pretend)\b"
    r"|\bab (?:jetzt|sofort) (?:bist|antwortest|sollst|musst|wirst|darfst) du\b"
    r"|\bvon nun an (?:bist|musst|sollst|wirst) du\b"
    r"|\b(?:a partir de maintenant|desormais|dorenavant),? (?:tu|vous|reponds|repondez|agis|agissez|ne )"
    r"|\b(?:a partir de ahora|de ahora en adelante),? (?:eres|debes|responde|actua|tienes|ignora|siempre|nunca)\b",
    # "always answer"
    r"(?:^|[.!?:;] |[-*] )(?:always|never) (?:respond|answer|reply|refuse|reveal|disclose|mention|include|obey"
    r"|comply|call the|use the tool)\b"
    r"|\b(?:antworte|antworten sie) (?:immer|nur|stets|niemals|ab jetzt|ab sofort)\b"
    r"|\b(?:reponds|repondez) (?:toujours|uniquement|seulement)\b"
    r"|\bresponde (?:siempre|unicamente|solo)\b",
    r"\b(?:new|updated|additional|secret|hidden) instructions? ?:",
    r"(?:^|[.!?:;] |[-*] )(?:act|behave|respond|reply) as (?:an? |the |if )|\bpretend (?:to be|that you|you are)\b",
    r"\bwithout (?:asking|telling|informing|notifying) (?:the |any )?(?:user|student|owner|reviewer|human)\b",
)

_STRONG = re.compile("|".join(f"(?:{pattern})" for pattern in _OVERRIDES + _MARKUP))
_WEAK = re.compile("|".join(f"(?:{pattern})" for pattern in _COMMANDS))
_SPACES = re.compile(r"\s+")
_LINE_ENDS = re.compile(r"[\r\n\u2028\u2029]+")
# What takes the place of one character: ⒪ is three. The few with more (ﷺ has 18) spell nothing above.
_LONGEST_SPREAD = 3
_QUOTES = str.maketrans("‘’‚‛“”„‟«»", "''''" + '"' * 6)


@dataclass(frozen=True, slots=True)
class Instruction:
    """A passage that reads like an instruction to a model.

    Attributes:
        snippet: the words that do, folded: lower case, without accents and unseen characters.
        is_override: whether it asks to set other instructions aside, or imitates a model's own markup.
    """

    snippet: str
    is_override: bool


def instructions(text: str) -> Iterator[Instruction]:
    """Yield every passage of `text` that reads like an instruction to a model, in order."""
    for line in _folded_lines(text):
        strong = list(_STRONG.finditer(line))
        found = [(match.start(), Instruction(_snippet(match), True)) for match in strong]
        covered = {at for match in strong for at in range(*match.span())}
        found += (
            (match.start(), Instruction(_snippet(match), False))
            for match in _WEAK.finditer(line)
            if covered.isdisjoint(range(*match.span()))
        )
        yield from (instruction for _, instruction in sorted(found, key=lambda item: item[0]))


def _snippet(match: re.Match[str]) -> str:
    return match[0].strip()[:_LONGEST_SNIPPET]


def _folded_lines(text: str) -> Iterator[str]:
    """Yield the lines as the patterns want them, and one more with what tag characters spell."""
    readings = invisible.inked(_LINE_ENDS.sub("\n", text))
    for line in (*(line for seen in readings for line in _folded(seen).split("\n")), invisible.tagged(text).lower()):
        if line:
            yield _SPACES.sub(" ", line)


def _folded(seen: str) -> str:
    # Each character by itself: combining marks go anyway, and bringing 200,000 of them in order took 30 s.
    return seen.translate({ord(char): _folded_character(char) for char in set(seen)})


@lru_cache(maxsize=10_000)
def _folded_character(char: str) -> str:
    spread = unicodedata.normalize("NFKD", char.translate(_QUOTES))
    if len(spread) > _LONGEST_SPREAD:
        return char
    return "".join(one for one in spread if not unicodedata.combining(one)).casefold()
