"""Counts of notes: of the list a reader narrows, and of a file that may be imported. Reads only."""
