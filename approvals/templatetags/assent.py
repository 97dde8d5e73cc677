"""`{% load assent %}`: all tags and filters but those of sessions. Each is in the module of its subject."""

from __future__ import annotations

from django import template

from approvals.templatetags import changes, figures, people, proposals, texts

register = template.Library()
for _subject in (texts, figures, people, changes, proposals):
    register.tags |= _subject.register.tags
    register.filters |= _subject.register.filters
