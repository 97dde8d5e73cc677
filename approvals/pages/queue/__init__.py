"""What the review queue shows beyond its list: what undoing would do, one change for many people, results of many.

Reads only; `views.queue` draws it.
"""
