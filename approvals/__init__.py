"""Proposals, decisions and every human page.

`services` has the use cases, each one function with an `actor`; `views` load, call one service and
render. May import `memory_app`, never `agent_tools`.
"""
