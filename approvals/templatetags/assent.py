"""`{% load assent %}`: all tags and filters. Each is in the module of its subject."""

from django import template

from approvals.templatetags import changes, figures, proposals, texts

register = template.Library()
for _subject in (texts, figures, changes, proposals):
    register.tags |= _subject.register.tags
    register.filters |= _subject.register.filters
