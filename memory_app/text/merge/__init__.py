"""Three-way merge of texts by people and agents: prose, lists, tables, one language or another.

Belongs here: cutting texts into units and finding them again in the changed texts (`units`), merging their sequence
(`sequence`), changes of one side and words inside of a unit (`changes`), what holds for the result as a whole
(`whole`), and `python -m memory_app.text.merge`, which behaves like `git merge-file -p` (`__main__`).
Not here: making edits (`edits`), showing changes (`worddiff`), and deciding conflicts.

    merge(base, ours, theirs)  # the merged str, or Conflicted

A text is taken apart step by step: paragraphs, rows and cells of tables, sentences, words. What only one side changed,
or both alike, is taken; what both changed is taken apart further. A sentence that one side rewrote and the other
touched is a conflict, never a mixture.
"""

from memory_app.text.merge.changes import Conflict, Conflicted
from memory_app.text.merge.whole import merge
