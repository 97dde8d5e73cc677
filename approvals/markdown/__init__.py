"""Markdown of memories as HTML that is safe to show, within limits that hold for any author.

Called by templates and pages.
"""
