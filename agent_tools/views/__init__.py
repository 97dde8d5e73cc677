"""What answers at the addresses of `agent_tools.urls`: machines in `api`, `tools`, `memory`, `schema` and
`health`; people in `agents`."""
