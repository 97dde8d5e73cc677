"""What happened in the last weeks, as numbers and bars: the tutor's board, and how agents do.

`board` and `agents` count and show one page each; queries read indexes alone, a fixed number for any number of people.
Not here: lists of single proposals (`pages.inbox`), to which every number leads.
"""
