"""What the tools do, one module per subject; importing this package fills the registry, in the order agents meet them.

Called by `agent_tools.calls` through the registry. A tool knows no HTTP: it takes arguments and returns plain data.
"""

from agent_tools.tools import (  # noqa: F401, I001 - the order of the list of tools
    read,
    propose,
    memory_files,
    proposals,
    search,
    notes,
    recall,
    context,
    conversations,
    files,
)
