"""The versions of a block as pictures: a strip of its changes, and its text by who made it say what it says.

Reads only. The walk through the versions is `memory_app.reads.blame`; drawing is the templates'.
"""
