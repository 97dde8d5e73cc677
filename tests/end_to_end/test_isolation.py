"""Nobody sees anything of somebody else: every tool, endpoint, page and command, asked as alice for what is ben's.

All of ben's texts hold one made-up word. It may be in no answer alice or her agent gets, errors included, and no
id of ben's either, unless the request itself named it. What is asked comes from the registry, the URL resolver
and the command itself, so something new is asked too, or fails here until it is told how to be asked.
"""

import itertools
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import httpx2
import pytest
from click.testing import CliRunner
from django.test import Client, override_settings
from django.urls import NoReverseMatch, URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from agent_tools import (
    auth,
    tools,  # noqa: F401 - `tools` fills the registry
)
from agent_tools.calls import registry
from agent_tools.mcp.methods import METHODS
from agent_tools.models import AgentToken, EventType, Scope, WebhookDelivery, WebhookEndpoint
from agent_tools.views import api
from agent_tools.webhooks import endpoints, outbox
from approvals import services
from approvals.models import Agent, Attention, Batch, Event, Kind, Proposal, TrustRule, User
from approvals.services import notes
from assent_client import Assent, AssentError
from assent_client.cli.commands import memory
from memory_app import conversations, reads
from memory_app.models import Message
from memory_app.search import store
from memory_app.text.edits import Replace
from tests.agent_tools.mcp.peer import MODERN, OLD, Peer
from tests.clients.conftest import URL, transport
from tests.conftest import make_user

MARK = "zebrafinch"  # in all of ben's texts, nowhere else
WORD = "parrot"  # in everybody's texts, for searches
#: So many addresses at least show something to whom it belongs.
ENOUGH = 60

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("fresh_databases")]


class Things:
    """What one owner has, all texts with the mark: blocks, notes, proposals, conversations, history and webhooks.

    Each attribute is something that requests name.
    """

    def __init__(self, user: User, agent: Agent, mark: str, tag: str) -> None:
        self.owner = owner = user.username
        self.person_pk = user.pk
        self.label, self.new_label = f"{tag}-journal", f"{tag}-new"
        self.session_id, self.message_id = f"{tag}-session", f"{tag}-message"
        self._write(user, mark)
        self._propose(user, agent, mark)
        said = conversations.Turn("user", f"{mark} {WORD} speaks", id=self.message_id, author=mark)
        conversations.keep(owner, self.session_id, [said])
        self.message_pk = Message.objects.get(owner=owner).pk
        store.reindex(owner)
        self.rule_id = services.create_rule(actor=user, owner=owner, block=self.label, needs="ask").pk
        self._hook(user, agent, mark)
        own = Agent.objects.create(name=f"{tag}-agent", created_by=user)
        token = auth.issue(agent=own, owners=[user], scopes=["memory:read"], created_by=user).token
        self.token_id = token.pk
        self.commit = reads.head("alice")

    def _write(self, user: User, mark: str) -> None:
        fields = services.BlockFields(f"{mark} plan", f"{mark} about", f"# {WORD}\n\n{mark} {WORD} one\n", 20_000)
        owner, label = self.owner, self.label
        services.create_block(actor=user, owner=owner, label=label, fields=fields, comment=f"{mark} made it")
        by = notes.ChangeContext(actor=user, session_id=self.session_id, reasoning=f"{mark} why")
        more: dict[str, Any] = {"tags": [f"{mark}-tag"], "category": mark, "rationale": mark}
        self.note_id = notes.save(by=by, owner=owner, content=f"{mark} {WORD} likes seeds", **more).note_id
        self.superseded_id = notes.save(by=by, owner=owner, content=f"{mark} {WORD} likes nuts", **more).note_id
        ids = {"note_id": self.superseded_id, "replacement_id": self.note_id}
        notes.supersede(by=by, owner=owner, reason=mark, **ids)

    def _propose(self, user: User, agent: Agent, mark: str) -> None:
        of: dict[str, Any] = {"agent": agent, "owner": self.owner, "reasoning": f"{mark} reason"}
        turn = {"role": "user", "content": f"{mark} said"}
        edits = [Replace(f"{WORD} one", f"{WORD} two {mark}")]
        edit = services.propose(label=self.label, edits=edits, kind=Kind.EDIT, evidence=[turn], **of).proposal
        block = {"title": f"{mark} title", "body": f"{mark} {WORD} new", "description": f"{mark} about"}
        new = services.propose_block(label=self.new_label, **block, **of).proposal
        careful = notes.ChangeContext(actor=agent, reasoning=mark, evidence=[turn])
        waiting = notes.save(by=careful, owner=self.owner, content=f"{mark} {WORD} waits")
        assert waiting.proposal
        self.waiting_id, self.note_proposal_id = waiting.note_id, waiting.proposal.pk
        self.proposal_id, self.new_proposal_id = edit.pk, new.pk
        items = [[edit.pk, 1, None], [new.pk, 1, None]]
        of = {"person": user, "comment": mark, "items": items, "results": [["refused", mark]] * 2}
        Batch.objects.create(pk=batch_of(self.owner), action="reject", finished_at=timezone.now(), **of)
        services.comment(actor=user, proposal_id=edit.pk, text=f"{mark} asks")
        services.comment(actor=agent, proposal_id=edit.pk, text=f"{mark} answers")
        services.assign(actor=user, proposal_id=edit.pk, to=self.owner)

    def _hook(self, user: User, agent: Agent, mark: str) -> None:
        # An address that no test reaches, with the mark where an address has its secrets.
        events = [EventType.APPROVED, EventType.COMMENTED]
        hook = endpoints.create(actor=user, agent=agent, url=f"https://10.0.0.1/{mark}", events=events)
        body = outbox.body_of(EventType.APPROVED, hook.created_at, {"agent": mark})
        sent = outbox.make(hook, EventType.APPROVED, body, event=self.proposal_id)
        sent.next_at += timedelta(days=1)  # or a test that alice sends would have it sent too
        sent.save()
        self.webhook_pk, self.delivery_pk = hook.pk, sent.pk


@dataclass(frozen=True)
class World:
    alice: Things
    ben: Things
    token: str
    person: Any

    @property
    def agent(self) -> Client:
        return Client(headers={"Authorization": f"Bearer {self.token}"}, raise_request_exception=False)

    def sign_in(self) -> Client:
        """Return a browser in which alice is signed in."""
        client = Client(raise_request_exception=False)
        client.force_login(self.person)
        return client

    @property
    def secrets(self) -> list[str]:
        ben = self.ben
        ids = [ben.note_id, ben.superseded_id, ben.waiting_id, ben.session_id, ben.message_id]
        return [MARK, ben.label, ben.new_label, *ids]


@pytest.fixture
def world(alice: User, scribe: Agent, token: str) -> Iterator[World]:
    ben = make_user("ben", first_name=MARK)
    # Both owners talk with the same agent: even its proposals for one are not to be seen through the other.
    made = Things(alice, scribe, "alpha", "alices"), Things(ben, scribe, MARK, "bens")
    with override_settings(RATE_LIMIT=1_000_000):
        yield World(*made, token=token, person=alice)


@contextmanager
def nothing_of_ben_changes() -> Iterator[None]:
    before = [note.sha256 for note in reads.notes("ben")], reads.blocks("ben")
    yield
    assert ([note.sha256 for note in reads.notes("ben")], reads.blocks("ben")) == before


def check(world: World, response: Any, *asked: object, of: str) -> None:
    """Nothing of ben's in the body, the headers or the cookies that the request did not say itself."""
    request = " ".join(map(str, asked))
    said = response.getvalue().decode(errors="replace") + str(response.headers) + str(response.cookies)
    for secret in world.secrets:
        if secret in said and (secret == MARK or secret not in request):
            raise AssertionError(f"{of} tells {secret!r} of ben's:\n{said[:2_000]}")
    assert response.status_code < 500, f"{of}: {response.status_code}\n{said[:2_000]}"


# -- tools ----------------------------------------------------------------------------------------


_EDIT = {"old_string": "one", "new_string": "three"}
_PROPOSING: dict[str, dict[str, Any]] = {
    "propose_memory_edits": {"edits": [_EDIT]},
    "propose_memory_append": {"content": WORD},
    "propose_memory_prepend": {"content": WORD},
    "propose_memory_insert": {"insert_line": 99, "content": WORD},
    "propose_section_update": {"section_header": "# nothing", "new_content": WORD},
    "propose_memory_rewrite": {"content": WORD},
}
_FILES: dict[str, dict[str, Any]] = {
    "edit_file": _EDIT,
    "append_to_file": {"content": WORD},
    "prepend_to_file": {"content": WORD},
    "update_section": {"section_header": f"# {WORD}", "new_content": WORD},
    "write_file": {"content": WORD},
}


def arguments_of(of: Things) -> dict[str, list[dict[str, Any]]]:
    """How each tool is asked for what somebody has."""
    why = {"reasoning": "r"}
    notes_ = [{"note_id": id_} for id_ in (of.note_id, of.superseded_id, of.waiting_id)]
    proposals = [{"proposal_id": pk} for pk in (of.proposal_id, of.new_proposal_id, of.note_proposal_id)]
    amends, amends_new, amends_note = proposals
    labels = (of.label, of.new_label, "alices-journal")
    block_files = [{"path": f"/memories/blocks/{label}.md"} for label in labels]
    note_files = [{"path": f"/memories/notes/{each['note_id']}.md"} for each in notes_]
    files: list[dict[str, Any]] = block_files + note_files
    amended = [each | more for each in block_files for more in (amends, amends_new)]
    amended += [each | more for each in note_files for more in (amends_new, amends_note)]
    return {
        "list_memory_blocks": [{}],
        "read_memory_block": [
            {"block_label": of.label},
            {"block_label": of.label, "as_of": of.commit},
            {"block_label": of.new_label},
        ],
        "propose_memory_edit": [
            {"block_label": of.label} | _EDIT | why | more for more in ({}, {"old_string": "not there"}, amends)
        ]
        + [{"block_label": "alices-journal"} | _EDIT | why | amends],
        **{
            name: [
                {"block_label": label} | why | given | more
                for label in (of.label, "alices-journal")
                for more in ({}, amends)
            ]
            for name, given in _PROPOSING.items()
        },
        "propose_memory_block": [
            {"label": label, "title": WORD, "body": WORD} | why | more
            for label in (of.label, of.new_label, "alices-new")
            for more in ({}, amends_new, amends)
        ],
        "propose_block_deletion": [
            {"block_label": label} | why | more
            for label in labels
            for more in ({}, amends, {"expected_sha256": "0" * 64})
        ],
        "list_files": [{}, {"path": "/memories/blocks"}, {"path": "/memories/notes"}],
        "view_file": files,
        **{name: [each | given for each in files + amended] for name, given in _FILES.items()},
        "list_proposals": [{}, {"status": "open"}, {"block_label": of.label}, {"decided_since": ""}],
        "get_proposal": proposals,
        "withdraw_proposal": [amends, amends_note],
        "comment_on_proposal": [each | {"comment": f"{WORD} so"} for each in (amends, amends_note)],
        "memory_search": [
            {"query": WORD, "top_k": 20},
            {"query": WORD, "as_of": of.commit},
            {"query": WORD, "include_conversation": True, "session_id": of.session_id},
            {"query": WORD, "sources": ["conversation", "memory_block", "user_memory"]},
        ],
        "memory_save": [{"content": f"{WORD} new"}, {"content": WORD} | amends_note],
        "memory_update": [each | {"content": f"{WORD} changed"} for each in notes_]
        + [{"note_id": of.note_id, "content": WORD} | amends_note],
        "memory_delete": notes_,
        "remember": [{"content": f"{WORD} new fact", "session_id": of.session_id}],
        "recall": [
            {"min_confidence": 0, "include_superseded": True},
            {"query": WORD, "include_superseded": True},
            {"query": WORD, "match": "text"},
            {"scope": "session", "session_id": of.session_id},
        ],
        "forget": [{"memory_id": each["note_id"]} for each in notes_]
        + [{"memory_id": of.note_id, "replacement_id": of.superseded_id}],
        "prime_memories": [{"budget": 0}, {"format": "json"}],
        "memory_list_sessions": [{}],
        "memory_read_session": [{"session_id": of.session_id}],
    }


@pytest.mark.parametrize("name", list(registry.TOOLS))
def test_no_tool_tells_anything_of_another_owner(world: World, name: str) -> None:
    versions = itertools.cycle((OLD[-1], MODERN))
    with nothing_of_ben_changes():
        for arguments in [*arguments_of(world.ben)[name], *arguments_of(world.alice)[name]]:
            for_ben = arguments | {"user_id": "ben"}
            for given in (arguments, for_ben):
                answer = world.agent.post(f"/api/v1/tools/{name}/", json.dumps(given), content_type="application/json")
                check(world, answer, given, of=f"{name} {given}")
                assert given is arguments or answer.status_code == 403, answer.content
            for given, query in ((arguments, "user=alice"), (arguments, "user=ben"), (for_ben, "")):
                by_mcp(world, next(versions), "tools/call", {"name": name, "arguments": given}, query=query)


def by_mcp(world: World, version: str, method: str, params: dict[str, Any], *, query: str = "") -> None:
    """Ask as alice's agent by the Model Context Protocol; nothing of ben's may be in what comes."""
    answer = Peer(world.token, version, query=query).ask(method, params)
    check(world, answer, params, of=f"{method} {params} {query} in {version}")


# -- addresses ------------------------------------------------------------------------------------


def addresses(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, URLPattern]]:
    """The name and pattern of every address, those of the admin included."""
    for name, pattern, _parts in addresses_with_parts(resolver, prefix):
        yield name, pattern


def addresses_with_parts(
    resolver: URLResolver, prefix: str = "", before: tuple[str, ...] = ()
) -> Iterator[tuple[str, URLPattern, tuple[str, ...]]]:
    """The same, with the names of the parts, also of what stands before it."""
    for each in resolver.url_patterns:
        parts = (*before, *each.pattern.regex.groupindex)
        if isinstance(each, URLResolver):
            yield from addresses_with_parts(each, f"{prefix}{each.namespace}:" if each.namespace else prefix, parts)
        elif each.callback is not api.unknown_endpoint:
            yield f"{prefix}{each.name}", each, parts


def values_of(owner: Things, of: Things) -> dict[str, list[Any]]:
    """What the parts of addresses are filled with, to ask in `owner`'s memory for what is `of`'s."""
    return {
        "user_id": [owner.owner],
        "owner": [owner.owner],
        "label": [of.label],
        "commit": [of.commit],
        "note_id": [of.note_id, of.superseded_id, of.waiting_id],
        "proposal_id": [of.proposal_id, of.note_proposal_id],
        "pk": [of.proposal_id, of.note_proposal_id, of.rule_id, of.webhook_pk, of.token_id],
        "session_id": [of.session_id],
        "message_id": [of.message_id],
        "number": [of.message_pk],
        "name": ["list_memory_blocks"],  # the tools are asked above
        "object_id": [of.note_id],
        "content_type_id": ["1"],
        "app_label": ["approvals"],
        "uidb64": ["Mg"],
        "token": ["x-y"],
        "url": ["x/"],
        "id": ["1"],
        "agent": ["scribe"],
        # The true addresses of ben's feed and mails would tell of ben: who has them may read them.
        "feed_key": [f"{of.person_pk}-a-key-of-somebody-else"],
        "signed": ["x:y:z"],
        "batch": [batch_of(of.owner)],
        "delivery": [of.delivery_pk],
        "provider_id": ["school"],
        "key": [f"the-import-of-{of.owner}"],  # of an import, made up by who asks for it
    }


def batch_of(owner: str) -> str:
    """The id of a decision about several of an owner's proposals."""
    return owner.encode().hex().ljust(32, "0")


def own_paths(world: World) -> list[str]:
    """Every address, filled with what is alice's."""
    return _paths((world.alice, world.alice))


def paths(world: World) -> list[str]:
    """Every address, once for each way of asking."""
    return _paths((world.alice, world.alice), (world.alice, world.ben), (world.ben, world.ben))


def _paths(*asked: tuple[Things, Things]) -> list[str]:
    found: dict[str, None] = {}
    for owner, of in asked:
        values = values_of(owner, of)
        for name, _pattern, names in addresses_with_parts(get_resolver()):
            missing = [each for each in names if each not in values]
            assert not missing, f"say in values_of() what {missing} of {name} may be"
            for chosen in itertools.product(*(values[each] for each in names)):
                try:
                    found[reverse(name, kwargs=dict(zip(names, chosen, strict=True)))] = None
                except NoReverseMatch:
                    # Catch-alls, apps without models there, and redirects of former addresses, which have no name.
                    assert name == "None" or name.startswith("admin:"), name
    return list(found)


def queries(world: World, path: str) -> list[str]:
    """Asked of addresses about an owner; what one does not take it refuses, which must tell nothing either."""
    if path.startswith("/proposals/") and path.count("/") == 3:
        return ["", "?revision=1&since=1"]
    if path.startswith("/api/v1/proposals/"):
        return ["", "?wait=1", "?wait=1&since=now"]
    if not path.startswith(("/api/v1/users/", "/memory/")):
        return [""]
    commit = world.ben.commit
    if "/blocks/" in path:
        return ["", f"?as_of={commit}", f"?v={commit}", f"?from={commit}", f"?a={commit}&b=now", "?s=0", "?strip=1-9"]
    asked = ["", f"?q={WORD}", f"?q={WORD}&include_conversation=true", f"?as_of={commit}", "?include_superseded=true"]
    if "/notes/" in path:
        asked += [f"?do=delete&note={world.ben.note_id}", f"?do=retag&all=1&q={WORD}"]
    return asked


def is_page(path: str) -> bool:
    """Whether it is an address for people, where a token counts for nothing."""
    return not path.startswith(("/api/v1/", "/mcp"))


#: Every other address, as all of them take half a minute.
HALVES = pytest.mark.parametrize("half", [0, 1])


def test_every_address_answers_its_owner(world: World) -> None:
    browser, opened = world.sign_in(), 0  # no address signs out by being read
    for path in own_paths(world):
        answer = browser.get(path) if is_page(path) else world.agent.get(path)
        check(world, answer, path, of=f"GET {path}")
        opened += answer.status_code == 200
    assert opened > ENOUGH


@HALVES
def test_no_address_tells_anything_of_another_owner(world: World, half: int) -> None:
    browser = world.sign_in()
    for path in [*paths(world)][half::2]:
        asked = queries(world, path)
        for query in asked[:1] if is_page(path) else asked:
            check(world, world.agent.get(path + query), path, query, of=f"GET {path}{query} as the agent")
        for query in asked if is_page(path) else ():
            check(world, browser.get(path + query), path, query, of=f"GET {path}{query} as alice")


@HALVES
def test_no_address_lets_another_owners_things_be_written(world: World, half: int) -> None:
    (first, *_), said = reads.notes("ben"), said_and_set_up_for_ben()
    body = json.dumps({"body": f"{WORD} x", "reasoning": "r"})
    turns = json.dumps({"messages": [{"role": "user", "content": WORD}]})
    fields = {"revision": "1", "reason": "wrong", "content": WORD, "type": "note", "comment": "c"}
    fields |= {"text": WORD, "accepted": "0" * 12, "rest": "agent", "seen_sha256": "0" * 64, "tick": "none"}
    fields |= {"grace": "none", "scopes": "memory:read", "days": ""}
    fields |= {"said": WORD, "nonce": "a" * 32, "to": "alice", "span": "day", "needs": "apply"}
    deletes = {"action": "delete", "seen": f"{world.ben.note_id} {first.sha256}"}
    waiting = Proposal.objects.filter(owner="ben").values_list("pk", flat=True)
    rejects = {"action": "reject"} | {f"item-{pk}": f"{pk}:1:-" for pk in waiting}
    with nothing_of_ben_changes():
        for path in [*paths(world)][half::2]:
            for content in ("{}",) if is_page(path) else ("{}", body, turns):
                answer = world.agent.post(path, content, content_type="application/json")
                check(world, answer, path, of=f"POST {path} {content} as the agent")
            check(world, world.agent.post(path, "# Memories\n", content_type="text/markdown"), path, of=f"POST {path}")
            check(world, world.agent.delete(path), path, of=f"DELETE {path} as the agent")
            browser = world.sign_in()
            decides = any(each in path for each in ("/proposal", "/several/", "/together/"))
            verbs = ({}, {"back": "1"}, rejects) if decides else ({}, deletes)
            for verb in verbs if is_page(path) else ():
                answer = browser.post(path, fields | verb)
                check(world, answer, path, verb, of=f"POST {path} {verb} as alice")
    assert said_and_set_up_for_ben() == said
    assert conversations.delete("ben", world.ben.session_id) == (1, 0)


def said_and_set_up_for_ben() -> list[Any]:
    """Ben's proposals, what is said about them, who looks after them and looked at them; rules, tokens and webhooks."""
    rows: list[Any] = [
        Proposal.objects.filter(owner="ben").values_list("pk", "status", "assigned_to"),
        Event.objects.filter(owner="ben").values_list("pk", "text"),
        Attention.objects.filter(proposal__owner="ben").values_list("pk", "seen_revision"),
        TrustRule.objects.filter(owner="ben").values_list("pk", "needs"),
        AgentToken.objects.filter(owners__username="ben").values_list("pk", "revoked_at", "expires_at"),
        WebhookEndpoint.objects.filter(created_by__username="ben").values(),
        WebhookDelivery.objects.filter(endpoint__created_by__username="ben").values(),
    ]
    return [list(each.order_by("pk")) for each in rows]


# -- the Model Context Protocol -------------------------------------------------------------------


def test_no_list_resource_or_prompt_tells_anything_of_another_owner(world: World) -> None:
    ben = world.ben
    for version, query in itertools.product((OLD[-1], MODERN), ("", "user=alice", "user=ben")):
        ask = partial(by_mcp, world, version, query=query)
        for method in METHODS:
            ask(method, {"protocolVersion": OLD[-1]})
        for uri in (
            *(f"memory://{owner}/blocks/{ben.label}" for owner in ("ben", "alice")),
            *(f"memory://ben/notes/{id_}" for id_ in (ben.note_id, ben.superseded_id, ben.waiting_id)),
            *(f"memory://alice/notes/{id_}" for id_ in (ben.note_id, ben.superseded_id, ben.waiting_id)),
            f"memory://alice/../ben/blocks/{ben.label}",
            f"memory://alice/blocks/..%2f..%2fben%2fblocks%2f{ben.label}",
        ):
            ask("resources/read", {"uri": uri})
        for name in ("memory_skill", "review_my_proposals"):
            ask("prompts/get", {"name": name})
        for name, typed in (("label", ""), ("label", "bens"), ("user", ""), ("user", "b")):
            reference = {"type": "ref/resource", "uri": "memory://{user}/blocks/{label}"}
            asked = {"ref": reference, "argument": {"name": name, "value": typed}}
            ask("completion/complete", asked | {"context": {"arguments": {"user": "ben"}}})


# -- the client ------------------------------------------------------------------------------------


def test_nothing_of_another_owner_comes_through_the_client(world: World) -> None:
    ben = world.ben
    with nothing_of_ben_changes(), httpx2.Client(transport=transport()) as http:
        mine = Assent(URL, world.token, http_client=http, max_retries=0)
        for client in (mine, mine.for_user("ben")):
            asked: list[tuple[str, Any]] = [
                (f"{name} {given}", partial(client.tools.call, name, **given))
                for name, calls in arguments_of(ben).items()
                for given in calls
            ]
            asked += [
                ("context", client.context.get),
                ("the file", client.notes.export_file),
                ("a wait", partial(client.proposals.wait, ben.proposal_id, timeout=1)),
                ("a wait by hand", partial(client.proposals.get, ben.proposal_id, wait=1)),
                ("decisions", lambda client=client: [*client.proposals.decisions(since="")]),
            ]
            for what, call in asked:
                try:
                    said = repr(call())
                except AssentError as error:
                    said = f"{error} {vars(error)}"
                # Not the ids: by now alice has notes and blocks that her agent named like ben's.
                assert MARK not in said, f"{what} tells it:\n{said}"
                assert client is mine or "owner_not_granted" in said, f"{what}: {said}"


# -- the command ----------------------------------------------------------------------------------


def command_lines(of: Things) -> dict[str, list[list[str]]]:
    return {
        "add": [["add", f"{WORD} new"]],
        "search": [["search", WORD, "--all"], ["search", "--all", "--format", "json"]],
        "list": [["list"], ["list", "--format", "markdown"]],
        "show": [["show", of.note_id], ["show", of.superseded_id], ["show", of.waiting_id]],
        "delete": [["delete", of.note_id], ["delete", of.waiting_id]],
        "prime": [["prime"], ["prime", "--format", "json"]],
        "init": [["init"]],
        "import": [["import", "memories.md"]],
        "export": [["export"]],
        "skill": [["skill"]],
        "mcp": [["mcp"]],  # without a server it says so; what passes through it is asked above
    }


def test_every_command_is_asked(world: World) -> None:
    assert set(command_lines(world.ben)) == set(memory.commands)


def test_no_command_tells_anything_of_another_owner(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("MEMORY_URL", "MEMORY_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("MEMORY_OWNER", "alice")
    (tmp_path / "memories.md").write_text("# Memories\n\n### mem-1-aaaa\n> parrot\n")
    with nothing_of_ben_changes():
        for line in itertools.chain.from_iterable(command_lines(world.ben).values()):
            done = CliRunner().invoke(memory, line)
            said = done.output + done.stderr
            assert not [secret for secret in world.secrets if secret in said and secret not in line], (line, said)


# -- the test itself ------------------------------------------------------------------------------


def test_ben_himself_sees_what_is_looked_for(world: World, scribe: Agent) -> None:
    """Were the mark not in these answers when the right one asks, the tests above would prove nothing."""
    ben = User.objects.get(username="ben")
    token = auth.issue(agent=scribe, owners=[ben], scopes=Scope.usual()).secret
    ben_agent = Client(headers={"Authorization": f"Bearer {token}"})
    for path in ("notes/", "notes/?include_superseded=true", f"search/?q={WORD}", "context/", "memories.md", "blocks/"):
        assert MARK in ben_agent.get(f"/api/v1/users/ben/{path}").content.decode(), path
    assert MARK in ben_agent.get("/api/v1/proposals/").content.decode()
    peer = Peer(token)
    assert MARK in json.dumps(peer.result("resources/list"))
    assert MARK in json.dumps(peer.result("resources/read", {"uri": f"memory://ben/blocks/{world.ben.label}"}))
    assert MARK in json.dumps(peer.call("read_memory_block", block_label=world.ben.label))
    assert MARK in ben_agent.get("/api/v1/proposals/decisions/").content.decode()
    browser = Client()
    browser.force_login(ben)
    pages = ("", f"session-{world.ben.session_id}/", f"session-{world.ben.session_id}/delete/")
    for page in pages:
        assert f"{MARK} {WORD} speaks" in browser.get(f"/memory/ben/conversations/{page}").content.decode(), page
