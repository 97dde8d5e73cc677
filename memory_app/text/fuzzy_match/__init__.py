"""Which passage of a text an agent meant when its old_string is not there.

Belongs here: finding the passage, saying why it differs when that can be said, and the old_string that would have
worked.
Not here: making edits (`memory_app.text.edits` matches exactly, always) and the wording of answers.
"""

from memory_app.text.fuzzy_match.differences import Differences
from memory_app.text.fuzzy_match.search import Nearest, Why, nearest, without_line_numbers

__all__ = ["Differences", "Nearest", "Why", "nearest", "without_line_numbers"]
