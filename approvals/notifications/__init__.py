"""Telling people outside the pages what waits for them: digests by mail, a feed with a private address, reminders.

A person is told of what they may decide when they are told, and of nothing else; `news` alone asks for that. What a
proposal says in a mail or feed is `words`: no removed text, and nothing that looks like a secret.
"""
