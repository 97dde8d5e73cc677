"""What a refusal of the memory is answered with: `explained` around a call of a service, `explain` for one exception.

Belongs here: the error table (`table`), and the answers that are more than a row of it: of edits that replace a passage
(`edits`), of those that name a place (`places`), and of notes (`notes`). What happens before and around a call is in
`http.exceptions`.
"""

from agent_tools.answers.refusals.table import explain, explained

__all__ = ["explain", "explained"]
