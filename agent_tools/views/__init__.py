"""What answers machines at the addresses of `agent_tools.urls`: `api` the tools, by name and by address, the schema and
health; `mcp` the protocol. People's pages are in `agent_tools.console`."""
