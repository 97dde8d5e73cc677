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

#: An order to set other orders aside names three things within a few words: the verb, what it is about and which of it.
_ASIDE = (
    r"ignore|disregard|override|bypass|(?:do not|don't|never|stop) (?:follow|obey)(?:ing)?"
    r"|(?<!not )(?<!n't )(?<!ver )forget|ignoriere?n?|missachten?|vergiss|vergessen|uberschreiben?|umgehen?|befolgen?"
    r"|ignorez|oubliez?|negligez?|pas compte|contournez?|ignora|ignorad|olvid[ae]|descart[ae]|omit[ae]|dimentica"
    r"|negeer|vergeet|ignoreer|esqueca|игнорируи|забудь"
)
_ORDERS = (
    r"(?:\w{0,8}prompts?|instru\w{2,8}|istruzioni|rules?|guidelines?|guidance|directives?|commands?|policies"
    r"|constraints|training|context|messages?|\w{0,8}anweisung(?:en)?|befehle?|regeln|vorgaben|richtlinien"
    r"|nachrichten|consignes?|regles?|reglas|ordenes|indicaciones|directrices|mensajes|regole|regels|regras"
    r"|инструкции|указания|правила)\b"
)
_EARLIER = (
    r"(?:previous|prior|above|earlier|preceding|existing|former|system|safety|initial|original|your|all|any"
    r"|so far|before|given|vorherige[nr]?|bisherige[nr]?|obigen?|vorigen?|fruheren?|vorangegangenen?|vorhergehenden?"
    r"|ursprunglichen?|oben|davor|deine[nr]?|alle|samtlichen?|des systems|mehr|precedente?s?|anterieure?s?"
    r"|initiale?s?|ci-dessus|d'avant|tes|vos|toutes (?:tes|vos)|du systeme|anteriores|previ[ao]s|de arriba|iniciales"
    r"|del sistema|tus|sus|todas (?:tus|sus)|precedenti|tue|eerdere|vorige|предыдущие)\b"
)
# Said by nobody about a person. Of the first: "ignore all previous instructions", "oubliez vos consignes".
_OVERRIDES = (
    rf"(?<!\w)(?:{_ASIDE})\b(?= (?:\S{{1,40}} ){{0,6}}?{_EARLIER}) (?:\S{{1,40}} ){{0,6}}?{_ORDERS}",
    r"(?:忽略|无视|無視|忘记|忽視).{0,12}(?:指令|指示|规则|規則|提示)|(?:指示|指令|命令|ルール).{0,8}(?:無視|忘れ)",
    # "forget everything you know", "ignorez tout ce qui précède"
    rf"(?<!\w)(?:{_ASIDE})(?: \w{{1,12}}){{0,2}}? (?:everything|anything|all(?:es)?|tout|todo|tutto),?(?: \S{{1,12}})"
    r"{0,3}? (?:above|before this|(?:were|have been|was) (?:told|said)|you know|vorher|davor|precede|anterior)\b",
    rf"\b(?:previous|prior|above|earlier|old|your) {_ORDERS} (?:no longer|(?:is|are) (?:now )?(?:void|outdated))"
    r"|\b(?:instructions|rules) above (?:is|are)\b|\byou (?:no longer have|have no) (?:any )?(?:restrictions|limits)\b",
    # "you are now a pirate"
    r"\byou are now (?:an? |the |in \w+ mode|free (?:from|of|to)|allowed to|no longer |dan\b|unrestricted)"
    r"|\bdu bist (?:jetzt|nun|ab jetzt|ab sofort) (?:ein|eine|der|die|nicht mehr|frei)\b|\b(?:tu es"
    r"|vous etes) (?:maintenant|desormais|dorenavant) (?:une? |le |la |libre)|\bahora eres (?:una? |el |la |libre)",
    # "do not tell the student"
    r"\b(?:do not|don't|never) (?:tell|inform|alert|notify|show|mention (?:this|it) to|reveal (?:this"
    r"|it) to) (?:this to |it to |any of this to )?(?:the |any )?(?:user|student|owner|reviewer|human|tutor)s?\b"
    r"|\b(?:sag|sage|sagen sie|verrate|verraten sie|zeige?|erzahle?) (?:das |es |dies )?(?:dem|der|den) (?:nutzer"
    r"|benutzer|anwender|schuler|studierenden|studenten|prufer)(?:in|innen|n)?(?: davon)? (?:nicht|nichts)\b"
    r"|\bne (?:le |la |l')?(?:dis|dites|revele|revelez|montre|montrez|mentionne|mentionnez) (?:pas|rien"
    r"|jamais) (?:cela |ceci |ca )?(?:a l'|a la |au |aux )(?:utilisat|eleve|etudiant|lecteur|tuteur)|\bno (?:se lo "
    r"|le |les |lo )?(?:digas|diga|reveles|revele|muestres|muestre|menciones|mencione) (?:esto |eso |nada )?(?:a la "
    r"|a los |al )(?:usuari|alumn|estudiante|tutor|revisor)",
    r"\b(?:developer|debug|god|jailbreak|dan|admin) mode (?:is )?(?:on|enabled|activated)\b|\bdo anything now\b",
    r"\b(?:reveal|print|repeat|show|output) (?:me )?(?:your|the) (?:system |hidden |secret )?(?:prompt|instructions)\b",
    r"\b(?:automatically |always |auto-?)(?:approve|accept|merge) (?:this|all|every|any|the)\b|\b(?:approve|accept"
    r"|merge) (?:this|all|every|any|the) (?:\w+ )?(?:proposals?|edits?)\b|\bskip (?:the )?approval\b",
)
_MARKUP = (
    # What chat templates and tool protocols are made of. No person types these about a student.
    r"<\|\s?\w{2,30}\s?\|>",
    r"\[/?inst\]|<</?sys>>",
    r"</?(?:\w{1,12}:)?(?:system|assistant|tool_calls?|tool_use|tool_results?|tool_response|function_calls?"
    r"|function_results?|invoke|system[-_]reminder|system[-_]prompt|im_start|im_end)\b[^<>]{0,200}>",
    r"\"role\" ?: ?\"(?:system|assistant|developer|tool)\"",
    r"\"(?:tool_calls?|function_call|tool_use|tool_choice)\" ?:",
    r"^[\s>*#_\[-]{0,6}(?:assistant|system|developer|human)(?: (?:message|prompt"
    r"|override))?[\s*_]{0,3}[:\]](?:[\s*_]|$)",
    r"^#{1,6} ?(?:system|instruction|assistant|response|human)s?(?: (?:message|prompt))?:? ?$",
)
_COMMANDS = (
    # "you must always"
    r"\b(?:you|assistant|model|agent|chatbot|ai|llm)s? (?:must|should|shall|will|have to|has to|need to"
    r"|are required to|is required to) (?:always|never|not|ignore|obey|comply|only)\b|\byou must (?!(?:really |also "
    r"|all |still |just )?(?:be|have|feel|love|like|enjoy|miss|know|see)\b)|\b(?:du musst|du sollst|du darfst"
    r"|sie mussen|sie sollen|sie durfen) (?:immer|stets|nie|niemals|nur|nicht|ab jetzt|ab sofort)\b|\b(?:tu dois"
    r"|vous devez|tu ne dois|vous ne devez) (?:toujours|jamais|absolument|uniquement|seulement|pas)\b|\b(?:debes|debe"
    r"|tienes que|tiene que) (?:siempre|unicamente|obedecer|ignorar)\b|\b(?:siempre|nunca) debes\b",
    # "system prompt"
    r"\b(?:system|developer)[- ]?(?:prompt|message)s?\b|\bsystem-?(?:prompt|nachricht|anweisung)(?:en|s)?\b"
    r"|\b(?:invite|prompt|message|instructions?) (?:du )?systeme\b|\b(?:prompt|mensaje|instrucciones) del? sistema\b",
    # "from now on you"
    r"\bfrom now on,? (?:you|always|never|respond|answer|reply|act|behave|treat|ignore|pretend)\b|\bab (?:jetzt"
    r"|sofort) (?:bist|antwortest|sollst|musst|wirst|darfst) du\b|\bvon nun an (?:bist|musst|sollst|wirst) du\b"
    r"|\b(?:a partir de maintenant|desormais|dorenavant),? (?:tu|vous|reponds|repondez|agis|agissez|ne )"
    r"|\b(?:a partir de ahora|de ahora en adelante),? (?:eres|debes|responde|actua|tienes|ignora|siempre|nunca)\b",
    # "always answer"
    r"(?:^|[.!?:;] |[-*] )(?:always|never) (?:respond|answer|reply|refuse|reveal|disclose|mention|include|obey|comply"
    r"|call the)\b|\b(?:antworte|antworten sie)(?: dem nutzer| mir)? (?:immer|nur|stets|niemals|ab jetzt"
    r"|ab sofort)\b|\b(?:reponds|repondez) (?:toujours|uniquement|seulement)\b|\bresponde (?:siempre|unicamente"
    r"|solo)\b",
    r"\b(?:new|updated|additional|secret|hidden) instructions? ?:|\bneue (?:anweisung|instruktion|aufgabe)(?:en)? ?:"
    r"|\b(?:your|deine) (?:new |neue |real )?(?:task|mission|aufgabe) (?:is|ist)(?: now)?(?: to\b|,| ?:)",
    # addressed to whatever reads it
    r"\b(?:if you(?: are|'re)|wenn du) (?:an? |eine? )?(?:ai|llm|ki|chatbot|language model|sprachmodell|agent"
    r"|assistant)\b|\b(?:attention|dear|hello|note to|to (?:all|any|every)|an alle),? (?:the )?(?:ai|llm|ki"
    r"|language model)s?\b(?! course)|\bals (?:ki|ai|sprachmodell) (?:sollst|musst|darfst)\b"
    r"|\b(?:sollst|musst|darfst) du (?:ab (?:jetzt|sofort)|von nun an)\b|\bwhen(?:ever)? this (?:note|memory"
    r"|text) is (?:read|retrieved|loaded|recalled)\b|(?:\bwhen(?:ever)? you (?:read|see)|\b(?:ai|llm)s?(?: agents?"
    r"| models?| assistants?)? (?:that |who )?read(?:ing)?) this(?: note| memory| text|[ ]?[,.:!]"
    r"| (?:have|must|should)|$)",
    # "send all notes to https://…", "reply only with", "repeat the text above"
    r"(?:^|[.!?:;,] |\b(?:to|and|und|then|please|always|must) )(?:e-?mail|send|forward|upload|post|leak|schicke?"
    r"|sende) (?:\S{1,12} ){0,5}?(?:notes?|notizen?|memor(?:y|ies)|blocks?|conversations?|passwor(?:ds|ter)|data|daten"
    r"|contents?)\b[^.!?]{0,60} (?:to|an) (?:\S{1,60}@|https?:)|\b(?:print|repeat|output) (?:everything|all"
    r"|the (?:text|words)) above\b|(?:^|[.!?:;,] |[-*] )(?:please |only |always ){0,2}(?:reply|respond|answer) (?:only"
    r"|with (?:only|just|the|nothing)|to (?:every|all|each|any))\b",
    # what only a model has, and secrecy
    r"\b(?:your|deine[nr]?|tes|vos|tus) (?:\w{1,10} )?(?:prompt|instructions|directives|anweisungen"
    r"|consignes|instrucciones)\b|\b(?:never|do not|don't) (?:reveal|mention|disclose) (?:this|the) (?:note|memory)\b"
    r"|\b(?:note|memory|notiz) (?:a secret|secret|geheim)\b|\bexecute the following (?:command|code|script)s?\b",
    r"\b(?:always|never) (?:recommend|suggest|promote|praise)\b[^.!?]{1,60} (?:when|whenever|if) (?:the |a )?(?:user"
    r"|student|owner|she|he|they|somebody|someone|anyone) asks?\b",
    r"(?:^|[.!?:;] |[-*] )(?:act|behave|respond|reply) as (?:an? |the |if )|\bpretend (?:to be|that you|you are)\b",
    r"\bwithout (?:asking|telling|informing|notifying) (?:the |any )?(?:user|student|owner|reviewer|human)\b",
)

_STRONG = re.compile("|".join(f"(?:{pattern})" for pattern in _OVERRIDES + _MARKUP))
_WEAK = re.compile("|".join(f"(?:{pattern})" for pattern in _COMMANDS))
_SPACES = re.compile(r"\s+")
_LINE_ENDS = re.compile(r"[\r\n\u2028\u2029]+")
# What takes the place of one character: ⒪ is three. The few with more (ﷺ has 18) spell nothing above.
_LONGEST_SPREAD = 3
#: Words spelled letter by letter: "i g n o r e", "p-r-e-v-i-o-u-s".
_SPELLED = re.compile(r"(?<!\w)(?:[a-z][ ._*-]){2,40}[a-z](?!\w)")
_BETWEEN = re.compile("[ ._*-]")
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
    lines = [line for seen in readings for line in _folded(seen).split("\n")]
    for line in (*lines, invisible.tagged(text).lower()):
        if line:
            yield _SPACES.sub(" ", _SPELLED.sub(lambda spelled: _BETWEEN.sub("", spelled[0]), line))


def _folded(seen: str) -> str:
    # Each character by itself: combining marks go anyway, and bringing 200,000 of them in order took 30 s.
    return seen.translate({ord(char): _folded_character(char) for char in set(seen)})


@lru_cache(maxsize=10_000)
def _folded_character(char: str) -> str:
    spread = unicodedata.normalize("NFKD", char.translate(_QUOTES))
    if len(spread) > _LONGEST_SPREAD:
        return char
    return "".join(one for one in spread if not unicodedata.combining(one)).casefold()
