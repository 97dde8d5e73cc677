"""HTTP for machines: bodies, pages of lists, request ids, answers as JSON, and the OpenAPI document.

Called by `agent_tools.views`; tools know none of it.
"""
