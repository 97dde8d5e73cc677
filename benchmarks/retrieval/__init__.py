"""How well and how fast the search core finds: `python -m benchmarks.retrieval [quality|speed]`.

Runs `memory_app.search` in this process, without database or HTTP.
"""
