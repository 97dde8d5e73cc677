"""What a refusal of the memory is answered with: `explained` around a call of a service, `explain` for one exception.

The error table is `table`; what is wrong with an edit is in `edits`. What happens before and around a call is in
`http.exceptions`.
"""

from agent_tools.answers.refusals.table import explain, explained

__all__ = ["explain", "explained"]
