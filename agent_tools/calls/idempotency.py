"""The same call twice has one effect and one answer.

The unique row (token, key) is inserted before the work. A call at the same time is told to wait; a later one gets the
kept answer; one after a crash resumes with the same operation id, which `approvals.services.proposing` turns into the
same proposal. A key is leased, and a call that takes longer renews the lease: with a lease as long as its time limit, a
killed import was answered "try again shortly" for ten minutes. Where the proposal of the operation is no longer
PREPARING, only the answer is missing, and the next call makes it at once.

A key belongs to a token and to those that replace it: a call whose answer was lost may be sent again with the new
secret, and is still done once.

Refusals that follow from the arguments and the memory (4xx) are answers too and are kept. Not kept: 429 and 5xx, which
say "try again".
"""

import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from agent_tools.calls import execution
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import AgentToken, IdempotencyKey, ToolCall
from approvals.models import Proposal, Status
from memory_app.databases import clock
from memory_app.runtime import background, deadlines

log = structlog.get_logger(__name__)

#: Which proposals a kept answer names.
_NAMED = IdempotencyKey.proposals.through

#: Completes the payload of a success.
Finish = Callable[[dict[str, Any]], dict[str, Any]]

#: Seconds between two renewals of a lease, at the least: a lease lasts three of them.
BEAT = 2.0


@dataclass(frozen=True)
class StoredAnswer:
    """An answer as it was sent, or is to be sent."""

    status: int
    payload: dict[str, Any]
    replayed: bool = False
    retry_after: int | None = None


def fingerprint(tool: str, owner: str, arguments: dict[str, Any]) -> str:
    """Return the sha256 of what was asked, with defaults filled in and aliases resolved."""
    canonical = json.dumps([tool, owner, arguments], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def once(
    token: AgentToken,
    key: str,
    arguments_sha256: str,
    work: Callable[[str], dict[str, Any]],
    *,
    seconds: float = 0,
    finish: Callable[[], Finish | None] = lambda: None,
) -> StoredAnswer:
    """Do `work` unless it was done under this key; return its answer either way.

    Args:
        work: takes the operation id, returns the payload of a success or raises ApiError.
        seconds: how long that may take. Where it is more than a lease, the lease is renewed until then.
        finish: asked after the work for what completes its payload, in the transaction that keeps it.

    Raises:
        ApiError: what `work` raises; `idempotency_key_reused`, `idempotency_in_progress`.
    """
    lease = max(settings.LEASE, timedelta(seconds=3 * BEAT))
    row = _claim(token, key, arguments_sha256, lease)
    if row.status is not None:
        return StoredAnswer(row.status, json.loads(row.response), replayed=True)
    try:
        with _renewed(row, lease) if seconds > lease.total_seconds() else nullcontext():
            payload = work(row.operation)
    except ApiError as error:
        if error.code.status < 500 and error.code.status != 429:
            _keep(row, error.code.status, error.payload)
        else:
            _let_go(row)
        raise
    except BaseException:
        _let_go(row)
        raise
    return StoredAnswer(200, _keep(row, 200, payload, finish()))


def purge() -> int:
    """Forget keys older than `settings.IDEMPOTENCY_HOURS`; return how many there were."""
    old = timezone.now() - timedelta(hours=settings.IDEMPOTENCY_HOURS)
    return IdempotencyKey.objects.filter(created_at__lt=old).delete()[1].get(IdempotencyKey._meta.label, 0)


def _claim(token: AgentToken, key: str, arguments_sha256: str, lease: timedelta) -> IdempotencyKey:
    """Return the row to work under (status None), or the one with the answer."""
    now = clock.now()
    # Here too, and not only in `purge`: without Celery beat keys have to expire as well.
    old = now - timedelta(hours=settings.IDEMPOTENCY_HOURS)
    IdempotencyKey.objects.filter(token=token.original_id, key=key, created_at__lt=old).delete()
    try:
        with transaction.atomic():
            return IdempotencyKey.objects.create(
                token_id=token.original_id,
                key=key,
                arguments_sha256=arguments_sha256,
                operation=uuid.uuid4().hex,
                lease_expires_at=now + lease,
                created_at=now,
            )
    except IntegrityError:
        row = IdempotencyKey.objects.filter(token=token.original_id, key=key).first()
    if row is None:  # purged in between
        return _claim(token, key, arguments_sha256, lease)
    if row.arguments_sha256 != arguments_sha256:
        message = "This idempotency key was used with other arguments. Use a new key for a new call."
        raise ApiError(ErrorCode.IDEMPOTENCY_KEY_REUSED, message, details={"idempotency_key": key})
    if row.status is not None:
        return row
    free = IdempotencyKey.objects.filter(pk=row.pk, status=None, lease_expires_at=row.lease_expires_at)
    if not _is_done(row.operation):
        free = free.filter(lease_expires_at__lte=now)
    if free.update(lease_expires_at=now + lease):
        row.lease_expires_at = now + lease
    else:
        left = round((row.lease_expires_at - now).total_seconds())
        wait = min(max(1, left), 2)  # most calls take milliseconds; the whole lease only counts after a crash
        message = "The first call with this idempotency key is not done yet. Try again shortly."
        details = {"idempotency_key": key}
        raise ApiError(ErrorCode.IDEMPOTENCY_IN_PROGRESS, message, details=details, retry_after=wait)
    return row


def _is_done(operation: str) -> bool:
    """Whether the work of a call is known to be done, even if the call failed afterwards."""
    return Proposal.objects.filter(operation=operation).exclude(status=Status.PREPARING).exists()


@contextmanager
def _renewed(row: IdempotencyKey, lease: timedelta) -> Iterator[None]:
    """Renew the lease of a long call until it is done."""
    held = row.lease_expires_at

    def renew() -> bool:
        """Renew the lease that was written last, so that what ends the call is not undone."""
        nonlocal held
        until = clock.now() + lease
        mine = IdempotencyKey.objects.filter(pk=row.pk, status=None, lease_expires_at=held)
        try:
            if not mine.update(lease_expires_at=until):  # done, or it ran out and another call has it
                return False
            held = until
        except DatabaseError as error:  # the next beat tries again
            log.warning("idempotency_lease_not_renewed", error=type(error).__name__)
        return True

    with background.while_it_lasts(f"renew key {row.pk}", renew, every=lease.total_seconds() / 3):
        yield


def _keep(row: IdempotencyKey, status: int, payload: dict[str, Any], finish: Finish | None = None) -> dict[str, Any]:
    deadlines.extend()
    try:
        with transaction.atomic():
            payload = finish(payload) if finish else payload
            response = json.dumps(payload, ensure_ascii=False)
            # A refusal may name a proposal that does not exist.
            there = Proposal.objects.filter(pk__in=named_proposals(payload)).values_list("pk", flat=True)
            _NAMED.objects.bulk_create(
                [_NAMED(idempotencykey=row, proposal_id=number) for number in there], ignore_conflicts=True
            )
            IdempotencyKey.objects.filter(pk=row.pk).update(status=status, response=response)
    except DatabaseError:
        _let_go(row)
        raise
    return payload


def _let_go(row: IdempotencyKey) -> None:
    """Free the key for the next attempt, which resumes the same operation.

    Where even that cannot be written, the lease runs out by itself.
    """
    deadlines.extend()
    try:
        IdempotencyKey.objects.filter(pk=row.pk).update(lease_expires_at=clock.now())
    except DatabaseError as error:
        log.warning("idempotency_key_not_freed", error=type(error).__name__)


def named_proposals(payload: object) -> set[int]:
    """Return the number of each proposal that an answer names, at any depth."""
    if isinstance(payload, list):
        return set().union(*map(named_proposals, payload))
    if not isinstance(payload, dict):
        return set()
    own = payload.get("proposal_id")
    return named_proposals(list(payload.values())) | ({own} if isinstance(own, int) else set())


def remove(proposal: Proposal) -> None:
    """Forget what was answered about the proposal, and the session it came from; for `approvals.services.texts`.

    A call sent again under its key is answered anew: its operation is found, and says that the texts are gone. So are
    all refused calls of the agent, which did nothing: a refused edit is answered with the call that would work, new
    text and all.
    """
    of_agent = IdempotencyKey.objects.filter(token__agent=proposal.agent, status__isnull=False)
    about = Q(pk__in=_NAMED.objects.filter(proposal=proposal).values("idempotencykey")) | Q(status__gte=400)
    of_agent.filter(about).update(status=None, response="", lease_expires_at=clock.now())
    if proposal.session_id:
        _forget_session(proposal)
        transaction.on_commit(partial(_forget_session_of_what_came_now, proposal))


def remove_of(owner: str, kind: str, target: str) -> None:
    """Forget every refusal, and what was answered without a proposal or with one of the owner's: they may quote the
    text. Of an owner everything, the sessions of calls too; for `approvals.services.erasing`."""
    of_owner = Q(pk__in=_NAMED.objects.filter(proposal__owner=owner).values("idempotencykey"))
    may_quote = Q(status__gte=400) | Q(proposals=None) | of_owner
    answered = IdempotencyKey.objects.filter(may_quote, status__isnull=False).values("pk")
    IdempotencyKey.objects.filter(pk__in=answered).update(status=None, response="", lease_expires_at=clock.now())
    if not kind:
        execution.settle()
        ToolCall.objects.filter(owner=owner).update(session_id="")


def _forget_session_of_what_came_now(proposal: Proposal) -> None:
    """Forget it once more: the row of a call at the same time may have waited for the transaction."""
    execution.settle()
    _forget_session(proposal)


def _forget_session(proposal: Proposal) -> None:
    calls = ToolCall.objects.filter(agent=proposal.agent, owner=proposal.owner, session_id=proposal.session_id)
    calls.update(session_id="")
