"""Characters that a reader does not see, or takes for others, and how to show them.

Belongs here: finding them, telling ordinary use from abuse, and cutting a text into parts that a page can show. Not
here: HTML, wording, and how dangerous a find is (`approvals.risks.flags`).

They matter because a person approves what they see: zero-width characters and tags carry text only a machine reads,
bidirectional controls show words in another order than they are stored, and "Тіm" is not "Tim".
"""

from assent_client.text.invisible.parts import (
    HARMLESS,
    Hidden,
    InvisibleMark,
    Kind,
    Letters,
    VisibleText,
    Whitespace,
    find,
    inked,
    mark_whitespace,
    plain,
    tagged,
    visible,
)
from assent_client.text.invisible.tables import Stray, stray_letters

__all__ = [
    "HARMLESS",
    "Hidden",
    "InvisibleMark",
    "Kind",
    "Letters",
    "Stray",
    "VisibleText",
    "Whitespace",
    "find",
    "inked",
    "mark_whitespace",
    "plain",
    "stray_letters",
    "tagged",
    "visible",
]
