"""The prompts: how to use the memory, and what has to be done about the agent's own proposals."""

from typing import Any

from django.conf import settings

from agent_tools.http.json_rpc import RpcCode, RpcError
from agent_tools.mcp import paging
from agent_tools.mcp.exchange import Exchange
from agent_tools.tools import guidance
from agent_tools.tools.proposals import list_proposals
from approvals.models import Status
from assent_client.text import memories_md

_SKILL, _REVIEW = "memory_skill", "review_my_proposals"
_DESCRIBED = {
    _SKILL: ("How to use the memory", "When to read what is remembered about the user, and how to propose changes."),
    _REVIEW: ("Review my proposals", "What people decided about your proposals, and what they ask you to change."),
}
#: What became of a proposal without its agent: one that it withdrew itself is no news to it.
_BY_PEOPLE = (Status.APPROVED.value, Status.REJECTED.value, Status.EXPIRED.value)
#: Proposals that are listed, of those to be changed and of those that were decided.
_MOST = 20
_ACT = """\
Go through them one by one:
- Changes are requested: read it with `get_proposal`, then answer with the same tool as before and its number as
  `proposal_id`.
- Approved: the memory says so now. Where a person used other words than yours, keep to theirs.
- Rejected: do not propose it again. Read the reason, and take it into account in what you propose next.
- Expired or a conflict: read the block again, and propose the change anew only if it is still right."""


def list_prompts(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    """Return the prompts this token has a use for."""
    paging.cursor_of(params)
    prompts = [
        {"name": name, "title": title, "description": description} for name, (title, description) in _DESCRIBED.items()
    ]
    return {"prompts": prompts}


def get_prompt(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    """Return a prompt as one message of the user. Raise RpcError for one that is not there."""
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or name not in _DESCRIBED:
        raise RpcError(RpcCode.INVALID_PARAMS, f"There is no such prompt; there are: {', '.join(_DESCRIBED)}.")
    if arguments:
        raise RpcError(RpcCode.INVALID_PARAMS, f"The prompt {name} takes no arguments.")
    text = _skill() if name == _SKILL else _proposals(exchange)
    message = {"role": "user", "content": {"type": "text", "text": text}}
    return {"description": _DESCRIBED[name][1], "messages": [message]}


def _skill() -> str:
    parts = [guidance.INSTRUCTIONS, guidance.which_tools()]
    if settings.MEMORIES_ENABLED:
        parts.append(memories_md.skill(included=False).strip())
    return "\n\n".join(parts) + "\n"


def _proposals(exchange: Exchange) -> str:
    """Return the agent's proposals that want something of it, and what to do about each."""
    about = {"user_id": exchange.owner} if exchange.owner else {}
    asked = _listed(exchange, about | {"status": Status.CHANGES_REQUESTED.value})
    # A status at a time: proposals that wait, however many, do not hide those that were decided.
    decided = [each for status in _BY_PEOPLE for each in _listed(exchange, about | {"status": status})]
    decided.sort(key=lambda each: (each[0]["decision"] or {}).get("at") or "", reverse=True)
    parts = []
    if asked:
        parts += ["These of your proposals wait for changes of yours:", *(line for _item, line in asked), ""]
    if decided:
        parts += ["These were decided:", *(line for _item, line in decided[:_MOST]), ""]
    if not parts:
        return "No person has decided about your proposals or asked you for changes. There is nothing to do.\n"
    return "\n".join([*parts, _ACT]) + "\n"


def _listed(exchange: Exchange, arguments: dict[str, Any]) -> list[tuple[dict[str, Any], str]]:
    """Return the newest proposals: each as data and as its line of the list."""
    found = exchange.run(list_proposals, arguments | {"limit": _MOST})
    lines = [line for line in found["text"].split("\n") if line.startswith("- ")]
    return list(zip(found["data"]["items"], lines, strict=True))
