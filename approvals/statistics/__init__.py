"""What happened in the last weeks, as numbers and small pictures: the tutor's board, and how agents do.

Counting is here with the two pages that show it. Queries read indexes alone, a fixed number for any number of people.
Not here: lists of single proposals (`pages.inbox`), to which every number leads.
"""
