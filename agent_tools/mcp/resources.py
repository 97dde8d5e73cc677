"""Blocks and notes as resources: `memory://alice/blocks/goals`, `memory://alice/notes/note-…`.

Each is read by the operation that reads it for the API, with its scope, its check of the owner and its audit row. An
address has nothing to decode: what is no label or id, `..` and `%2e` among them, names nothing.
"""

import re
from typing import Any

from agent_tools.answers.paging import pack
from agent_tools.calls import registry
from agent_tools.calls.arguments import LONGEST_ANSWER
from agent_tools.errors import ErrorCode
from agent_tools.http.json_rpc import RpcCode, RpcError
from agent_tools.mcp import paging
from agent_tools.mcp.exchange import Exchange
from agent_tools.tools.read import block_list, read_memory_block
from agent_tools.tools.recall import note_list, note_read
from assent_client.text import notes
from memory_app.models import LABEL, USERNAME

_MARKDOWN = "text/markdown"
_URI = re.compile(
    rf"memory://(?P<user>{USERNAME.pattern})/(?:blocks/(?P<label>{LABEL.pattern})|notes/(?P<id>{notes.ID.pattern}))"
)
#: Whose blocks and notes a template is about, where each request says.
_ANY_USER = "{user}"
_BLOCKS, _NOTES = "blocks", "notes"
#: Not there, and not to be known whether it is there.
_UNKNOWN = (ErrorCode.BLOCK_NOT_FOUND, ErrorCode.NOTE_NOT_FOUND, ErrorCode.OWNER_NOT_GRANTED)
#: Characters of a note in a list.
_TITLE = 80


def list_resources(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    """Return a page of the blocks, and after them of the notes, newest first.

    With a token that serves several owners, and an address that names none, the list is empty: the templates say how
    to ask for one.
    """
    cursor = paging.cursor_of(params) or f"{_BLOCKS} "
    kind, _, inner = cursor.partition(" ")
    if kind not in (_BLOCKS, _NOTES):
        raise paging.bad_cursor()
    owner = exchange.owner
    if owner is None:
        return {"resources": []}
    found, following = _page(exchange, owner, kind, inner)
    if kind == _BLOCKS and following is None and registry.is_on(note_list):
        if len(found) < paging.SIZE:
            more, following = _page(exchange, owner, _NOTES, "")
            found += more
        else:
            following = f"{_NOTES} "
    return {"resources": found} | ({"nextCursor": pack(following)} if following else {})


def list_templates(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    """Return how the addresses of blocks and notes are made."""
    paging.cursor_of(params)
    user = exchange.owner or _ANY_USER
    templates = [
        {
            "uriTemplate": f"memory://{user}/blocks/{{label}}",
            "name": "block",
            "title": "Memory block",
            "description": "A longer text about the user, as Markdown.",
            "mimeType": _MARKDOWN,
        }
    ]
    if registry.is_on(note_read):
        templates.append(
            {
                "uriTemplate": f"memory://{user}/notes/{{id}}",
                "name": "note",
                "title": "Note",
                "description": "A short statement about the user.",
                "mimeType": _MARKDOWN,
            }
        )
    return {"resourceTemplates": templates}


def read_resource(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    """Return the text of a block or note. Raise RpcError, which names the address, where there is none."""
    uri = params.get("uri")
    if not isinstance(uri, str):
        raise RpcError(RpcCode.INVALID_PARAMS, "params.uri must be the address of a resource.")
    named = _URI.fullmatch(uri)
    if named is None or exchange.options.user not in (None, named["user"]):
        raise _unknown(exchange, uri)
    given: dict[str, Any] = {"user_id": named["user"]}
    if exchange.options.session_id:
        given["session_id"] = exchange.options.session_id
    try:
        if named["label"]:
            given |= {"block_label": named["label"], "max_characters": LONGEST_ANSWER}
            text = exchange.run(read_memory_block, given)["data"]["body"]
        else:
            text = exchange.run(note_read, given | {"note_id": named["id"]})["data"]["content"]
    except RpcError as error:
        if exchange.outcome in (code.code for code in _UNKNOWN):
            raise _unknown(exchange, uri) from error
        error.data["uri"] = uri
        raise
    return {"contents": [{"uri": uri, "mimeType": _MARKDOWN, "text": text}]}


def _page(exchange: Exchange, owner: str, kind: str, inner: str) -> tuple[list[dict[str, Any]], str | None]:
    """Return a page of one kind, and the cursor of the next one of that kind."""
    given = {"user_id": owner, "limit": paging.SIZE} | ({"cursor": inner} if inner else {})
    if kind == _BLOCKS:
        data = exchange.run(block_list, given)["data"]
        found = [_block(owner, item) for item in data["items"]]
    else:
        data = exchange.run(note_list, given)["data"]
        found = [_note(owner, item) for item in data["items"]]
    return found, f"{kind} {data['next']}" if data["next"] else None


def _block(owner: str, item: dict[str, Any]) -> dict[str, Any]:
    described = {"description": item["description"]} if item["description"] else {}
    return {
        "uri": f"memory://{owner}/blocks/{item['label']}",
        "name": item["label"],
        "title": item["title"],
        **described,
        "mimeType": _MARKDOWN,
        "annotations": {"lastModified": item["updated_at"]},
    }


def _note(owner: str, item: dict[str, Any]) -> dict[str, Any]:
    content = " ".join(item["content"].split())
    return {
        "uri": f"memory://{owner}/notes/{item['id']}",
        "name": item["id"],
        "title": content if len(content) <= _TITLE else f"{content[:_TITLE].rstrip()}…",
        "description": f"A note of the type {item['type']}.",
        "mimeType": _MARKDOWN,
        "annotations": {"lastModified": item["updated_at"]},
    }


def _unknown(exchange: Exchange, uri: str) -> RpcError:
    """Return one answer for what is not there and for what belongs to somebody else."""
    exchange.outcome, exchange.status = ErrorCode.NOT_FOUND.code, ErrorCode.NOT_FOUND.status
    return RpcError(RpcCode.INVALID_PARAMS, "Resource not found", data={"uri": uri}, outcome=ErrorCode.NOT_FOUND.code)
