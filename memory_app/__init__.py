"""The Django project and the headless memory domain.

What an owner's memory is, how it is read, and the one way to write it. Nothing here knows about
proposals, people's decisions or agents: `approvals` decides, `agent_tools` talks to machines, and
both import from here, never the other way round.
"""
