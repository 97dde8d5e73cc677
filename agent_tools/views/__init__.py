"""What answers machines at the addresses of `agent_tools.urls`: `api` what all share, the tools, the schema and health;
`memory` the same as tools by address; `mcp` the protocol. People's pages are in `agent_tools.console`."""
