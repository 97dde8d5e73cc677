"""Which questions are about everything: "what do you know about me", "user preferences", "*".

No note says what they ask for, so that likeness orders nothing: whoever asks wants the notes worth knowing first.
Belongs here: the words of such questions.
Not here: the order of the notes they are answered with (`memory_app.text.context_budget`).
"""

from __future__ import annotations

from memory_app.search.ranking.words import LONGEST_QUERY, is_stop, stems, words

#: Words that ask for what is known of somebody, and narrow nothing down.
_ASKING = """
anything background context detail everything fact get give information info know known learned learnt list memories
memory note overview person personal preference prefer profile recall remember remembered saved say show store stored
student summary summarise summarize tell thing told user
"""
_ASKING_STEMS = frozenset(stems(_ASKING.split()))


def is_broad(query: str) -> bool:
    """Return whether nothing in `query` narrows down what is looked for; a query without words does not either."""
    telling = [word for word in words(query[:LONGEST_QUERY], query=True) if not is_stop(word)]
    return _ASKING_STEMS.issuperset(stems(telling))
