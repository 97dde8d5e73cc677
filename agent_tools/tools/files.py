"""memories.md in and out: the endpoints behind `memory import` and `memory export`. No model is offered them."""

import hashlib

from pydantic import Field, field_serializer

from agent_tools.answers import refusals, representations
from agent_tools.calls.arguments import Arguments, NoteWriteArguments
from agent_tools.calls.registry import Answer, Call, endpoint
from agent_tools.tools.note_arguments import changed_by
from approvals.services import imports
from assent_client.text import memories_md
from memory_app import reads
from memory_app.reads.catalogue import portable_file

_OFFER = (
    "\nThis is no memories.md, but it has {}: send it again with items=true to bring them in as notes tagged with "
    "their heading, or keep it whole as a block (propose_memory_block)."
)


class ImportArguments(NoteWriteArguments):
    file: bytes = Field(description="The body: a memories.md in UTF-8, of at most 32 MiB.")
    items: bool = Field(
        default=False,
        description="Where the file is no memories.md, import its list items, and lines as `[2026-03-01] - …`, as "
        "notes tagged with their heading; what is known is left out.",
    )

    @field_serializer("file")
    def _named_by_hash(self, file: bytes) -> str:
        return hashlib.sha256(file).hexdigest()


@endpoint(
    # 100,000 memories, the most of one file, took 80 s when new, 160 s when each was changed; with a Dolt server,
    # on a machine at four times its load, over 300 s. The web server's threads have no limit of their own.
    timeout=600,
)
def import_file(call: Call, arguments: ImportArguments) -> Answer:
    with refusals.explained(representations.Subject.of_write(call, arguments)):
        by = changed_by(call, arguments)
        done = imports.import_file(by=by, owner=call.owner, data=arguments.file, items=arguments.items)
        found = imports.find_items(call.owner, arguments.file)[0] if done.has_none and not arguments.items else None
    proposal = done.outcome.proposal if done.outcome else None
    answered = {
        "proposal_id": proposal.pk if proposal else None,
        "status": proposal.status if proposal else "unchanged",
        "waits_because": (proposal.review_reason or None) if proposal else None,
        "commit": done.outcome.commit or None if done.outcome else None,
        "review_url": representations.review_url(proposal) if proposal else None,
        "created": done.created,
        "updated": done.updated,
        "unchanged": done.unchanged,
        "skipped": [{"line": skipped.line, "reason": skipped.reason} for skipped in done.skipped],
    }
    offer = _OFFER.format(found.counted) if found and found.memories else ""
    return Answer(_summary(done) + offer, answered)


class ExportArguments(Arguments):
    portable: bool = Field(
        default=False,
        description="For readers that know only the first four sections and mem- ids. "
        + memories_md.PORTABLE_EXPLAINED,
    )


@endpoint(is_exact=True, timeout=60)
def export_file(call: Call, arguments: ExportArguments) -> Answer:
    if arguments.portable:
        return Answer(portable_file(call.owner), {})
    return Answer(memories_md.write(reads.memories(call.owner)), {})


def _summary(done: imports.ImportOutcome) -> str:
    counts = f": {done.created} new, {done.updated} changed, {done.unchanged} unchanged"
    if done.outcome is None:
        first = f"Nothing to import{counts}."
    elif done.outcome.is_applied:
        first = f"Memories imported{counts}."
    else:
        first = f"Proposal created for the import{counts}. The user will be asked to approve this change."
        first += representations.why_it_waits(done.outcome.proposal)
    return "\n".join([first, *(f"Line {skipped.line} skipped: {skipped.reason}." for skipped in done.skipped[:20])])
