"""What changed between two texts, word by word, for a person to read.

Belongs here: cutting texts into words (`segments`), comparing them in order (`compare`) and with lines that were moved
(`moved`), laying the result out as paragraphs or side by side (`layout`), changes one by one (`hunks`), and the most
telling ones on two lines (`excerpt`).
Not here: making or merging changes (`edits`), HTML, and any wording shown to people.
"""

from memory_app.text.worddiff.compare import Kind, Segment, common_ends
from memory_app.text.worddiff.excerpt import excerpt
from memory_app.text.worddiff.hunks import Hunk, UnknownHunk, apply_some, hunk_numbers, hunks, hunks_of
from memory_app.text.worddiff.layout import Fold, Paragraph, fold, paragraphs, side_by_side, with_replaced_paragraphs
from memory_app.text.worddiff.moved import changes_inside, count_moved, count_moved_words, count_words, diff, redlined
