"""How texts, changes, times, people and proposals look on a page: tags and filters, loaded as `assent`.

Called by templates and, for texts, by the admin; a tag decides nothing and writes nothing.
"""
