"""Search over one owner's memory: what the chunks are, how they are ranked, and the arrays that make it fast.

A pure core (`ranking`: values and numpy; lint keeps Django out): cutting texts into chunks, words, vectors, date cues,
ranking, and `OwnerIndex`, which holds one owner's chunks as arrays. Around it, with Django:
`store` (the table of chunks), `cache` (the indices in memory), `embedders` (which one the settings name), `service`
(what pages and tools call).
Not here: which owner may ask, and the wording of answers.

How good and how fast it is: `python -m benchmarks.retrieval`.
"""
