"""The skill: what an agent is told about using memories, beside the memories themselves.

The text that the format came with, as far as it is true: it says that memories are above it, which is so only where
some are. Types and tools that the format did not have at first follow after it.
"""

from __future__ import annotations

from assent_client._generated.text.memories_md.memory import TYPES

_INCLUDED = """\
Memories are automatically included in your context. Review the `# Memories` section above for:
"""
_NOT_INCLUDED = """\
No memories are shown here. Look for them when they may help; there are:
"""
_ON_REQUEST = """\
Memories are not in your context by themselves. Get those worth knowing at the start of your work, with the tool
`prime_memories` or `memory prime` on a command line; there are:
"""
_BEYOND = "For targeted recall beyond auto-injected context:"

_MORE = f"""
### Other Types and Tools

The types are {", ".join(TYPES[:-1])} and {TYPES[-1]}.

Without a command line, use the tools: `remember` (or `memory_save`) stores, `recall` (or `memory_search`) finds,
`memory_update` corrects, `forget` marks as outdated, `memory_delete` removes, `prime_memories` gives those worth
knowing at the start. Do not store passwords, keys or tokens: say where they are kept.
"""

SKILL = (
    """\
## Using Project Memories

This project uses Assent's memory system for persistent learnings across sessions.

### Reading Memories

Memories are automatically included in your context. Review the `# Memories` section above for:
- **Patterns**: How this codebase does things
- **Decisions**: Why architectural choices were made
- **Fixes**: Solutions to recurring problems
- **Context**: Project-specific knowledge

### Storing New Memories

When you discover something worth remembering:

```bash
memory add "<learning>" --type <type> --tags <tags>
```

**When to create memories:**
- You discover a codebase pattern others should follow
- You make an architectural decision with rationale
- You solve a problem that might recur
- You learn project-specific context

**Examples:**
```bash
memory add "API routes use kebab-case, handlers use camelCase" --type pattern --tags api,naming
memory add "Chose Postgres over SQLite for concurrent write support" --type decision --tags database
memory add "CORS errors mean nginx config needs update" --type fix --tags nginx,cors
```

### Searching Memories

For targeted recall beyond auto-injected context:

```bash
memory search "authentication"
memory search --type fix --tags docker
```

### Best Practices

1. **Be specific**: "Uses barrel exports" not "Has good patterns"
2. **Include context**: "Chose X because Y" not just "Uses X"
3. **Tag consistently**: Use existing tags when possible
4. **One concept per memory**: Split complex learnings into multiple memories
"""
    + _MORE
)


def skill(*, included: bool, on_request: bool = False) -> str:
    """Return the skill for a context with memories above it, or for one without any.

    Args:
        on_request: memories are never put into the context: the agent asks for them.
    """
    if included:
        return SKILL
    instead = _ON_REQUEST if on_request else _NOT_INCLUDED
    return SKILL.replace(_INCLUDED, instead).replace(_BEYOND, "For targeted recall:")
