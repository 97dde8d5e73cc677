"""What tools answer: representations of blocks, notes and proposals, and the exact sentences of each refusal.

Called by `agent_tools.tools` and by views; reads, never writes.
"""
