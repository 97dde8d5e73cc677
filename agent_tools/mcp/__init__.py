"""The Model Context Protocol over the registry: what `/mcp` answers, method by method.

Called by `agent_tools.views.mcp`. A tool is run by `agent_tools.calls.execution`, as REST runs it: nothing here decides
what a token may do. Not here: sockets and bodies (`agent_tools.http`), and what tools do (`agent_tools.tools`).
"""
