"""How to connect: for each way in, what to type or save, filled in with an address and a token.

Pure functions of the two, without Django: pages, documents and tests use the same ones. Not here: what is said around
them on a page.
"""

from agent_tools.snippets.ways import Snippet, Way, ways

__all__ = ["Snippet", "Way", "ways"]
