"""The Django project and the headless memory domain.

What an owner's memory is, how it is read, and the one way to write it. Nothing here knows about
proposals, people's decisions or agents: `approvals` decides, `agent_tools` talks to machines, and
both import from here, never the other way round.
"""

import os

# Before anything loads numpy, which reads it then: request threads share the processors already, and with BLAS's own
# threads beside them a search of 17 ms took 39 ms of processor.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
