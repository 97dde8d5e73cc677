"""What a note takes in a context, reckoned before its text is read."""

import json
from datetime import date

from hypothesis import example, given
from hypothesis import strategies as st

from assent_client.text import memories_md
from assent_client.text.memories_md import TYPES, Memory
from memory_app.text.context_budget import sizes_of

_TEXTS = st.text(st.sampled_from("ab \n\r\t\\\"'&#13;>éß彼女ل\u2028\U0001f40b"), max_size=40)
_TAGS = st.lists(st.text(st.sampled_from('ab,|> &#44;"é猫'), min_size=1, max_size=6), max_size=3)


@given(_TEXTS, st.sampled_from(TYPES), _TAGS)
@example("a\n\nb\r\nlike &#13;", "fact", ["a, b", "猫"])
def test_a_note_takes_what_is_reckoned(content: str, kind: str, tags: list[str]) -> None:
    memory = Memory("mem-1737372000-a1b2", kind, content, tuple(tags), date(2025, 1, 20))
    in_file = len(memories_md.write_block(memory).encode()) + len("\n")
    as_json = len(json.dumps(memory.as_json(), ensure_ascii=False).encode())
    assert sizes_of(memory.id, kind, memory.tags, content) == (in_file, as_json)
