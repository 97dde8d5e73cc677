"""A memory as files: `/memories/blocks/{label}.md` and `/memories/notes/{id}.md`.

Belongs here: what a path means (`paths`), how a file is shown (`views`), and each command of Anthropic's memory tool as
steps that call no server themselves (`commands`). Not here: the class the Anthropic package runs (`anthropic`).
"""
