"""`/llms.txt`: what a language model has to know to use this installation, in the form of llmstxt.org.

The same for everyone: it has the address and the tools that are switched on, and nothing of any memory. What a token
may use is asked of `/api/v1/tools/`. Not here: answering it (`views.llms`).
"""

from typing import Any

from django.urls import reverse

from agent_tools import tools  # noqa: F401 - fills the registry
from agent_tools.calls import registry

_PAGE = """\
# Assent

> Assent keeps what AI agents remember about a person. Agents read that memory and propose changes; a person sees each
> change with its reason, and approves or rejects it. Every change is a version, with who proposed it and who decided.

## Signing in

Send `Authorization: Bearer <token>` with every request. A person creates a token at {agents}; it serves
certain people and has scopes. `GET {token}` says whom it serves and what it may do.

## How to work

1. Read first: `GET {address}/api/v1/users/<user_id>/context/` has {what} and how to use them. Or call
   `list_memory_blocks` and `read_memory_block`.
2. Propose with the smallest tool that fits, such as `propose_memory_edit`, and give a `reasoning` people can judge.
   A proposal is not in the memory: the answer has its number and its `review_url`.
3. A person decides, now or days later. Go on with your work; do not propose the same again.
4. Learn from decisions: answers carry those you have not been told (`data.decisions`), `list_proposals` with
   `decided_since` lists them. Where the status is `changes_requested`, call the same tool with `proposal_id`.{notes}

## Calling a tool

`POST {address}/api/v1/tools/<name>/` with the arguments as JSON. `user_id` may be left out when the token serves one
person. `GET {tools}?format=openai` (or `responses`, `anthropic`, `mcp`, `native`; with `&strict=1` for models held to a
schema) has the definitions of what your token may use; {schema} has every argument and answer, without a token. Say:

    curl -s {address}/api/v1/tools/propose_memory_edit/ \\
      -H "Authorization: Bearer $MEMORY_TOKEN" -H "Content-Type: application/json" -d '{{"block_label": "goals",
      "old_string": "German B1", "new_string": "German B2", "reasoning": "She said that she passed B1."}}'

In Python, `assent_client` of Assent's source (`pip install ./clients/python`) has a method for each tool, and tools for
Agno, Anthropic, OpenAI Agents and LangChain.

## Tools

In brackets what may not be left out.

{list}

A list has ten of these unless it is asked for others: `{tools}?toolset=all`, `blocks`, `notes` or `files`. Each runs by
its name all the same. Those for a model that works on files (`?toolset=files`):

{files}

## Answers and errors

A success is `{{"ok": true, "text": "…", "data": {{…}}}}`. A failure, at every address, is
`{{"ok": false, "text": "Error: …", "error": {{"code": "…", "message": "…", "details": {{…}}}}}}`. The text says
what would work: 400 and 422, change the call; 401 and 403, the token; 404, not there or not for you; 409, read again;
429, 503 and 504, try again after `Retry-After`. Send an `Idempotency-Key` with a change: repeated, it is done once.

## Links

- [API]({docs}): every endpoint, argument and error code
- [Schema]({schema}): the same as OpenAPI
- [MCP]({mcp}): the Model Context Protocol by streamable HTTP, with the same token
- [Agents]({agents}): where a person creates tokens, with snippets for each way in
- `docs/agents/README.md` in Assent's source: a page for each framework; `docs/tools.md`: the tools
"""

_NOTES = """
5. Short statements (a fact, a preference, a decision) are notes: `memory_search` finds them, `memory_save` keeps one.
   The person's policy says whether a note is saved at once or waits."""

#: Names of addresses, by what the page calls them.
_ADDRESSES = {"agents": "agents", "mcp": "mcp"} | {name: f"api_{name}" for name in ("token", "tools", "docs", "schema")}


def page(address: str) -> str:
    """Return the whole text.

    Args:
        address: of the installation, without a slash at the end.
    """
    has_notes = registry.is_on(registry.TOOLS["memory_save"])
    named = {name: address + reverse(url) for name, url in _ADDRESSES.items()}
    there = registry.switched_on()
    return _PAGE.format(
        address=address,
        what="blocks, notes" if has_notes else "blocks",
        notes=_NOTES if has_notes else "",
        list=_lines([tool for tool in there if tool.name not in registry.FILE_TOOLS]),
        files=_lines([tool for tool in there if tool.name in registry.FILE_TOOLS]),
        **named,
    )


def _lines(offered: list[registry.Tool[Any]]) -> str:
    return "\n".join(f"- `{tool.name}`{_needs(tool)}: {tool.first_sentence}" for tool in offered)


def _needs(tool: registry.Tool[Any]) -> str:
    """Return the arguments that may not be left out: with them a call can be written from this page alone."""
    required = ", ".join(f"`{name}`" for name in tool.schema["required"])
    return f" ({required})" if required else ""
