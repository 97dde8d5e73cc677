"""Which owners a token serves. No other module decides that, so that an owner not granted is never read."""

from django.db.models import QuerySet

from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import AgentToken, Scope
from approvals.models import Proposal, ProposalQuerySet, User
from memory_app.databases.prepared import Prepared
from memory_app.models import USERNAME

_OWNER = Prepared(lambda name: _active(name), name=str)
_SERVED = Prepared(lambda name, token: _active(name).filter(agent_tokens=token), name=str, token=int)


def _active(name: str) -> QuerySet[User, int]:
    return User.objects.filter(username=name, is_active=True).order_by().values_list("pk", flat=True)


def require_scope(token: AgentToken, *scopes: Scope) -> None:
    """Raise `missing_scope` unless the token has one of them; the first is the one asked for."""
    if has_scope(token, *scopes):
        return
    raise ApiError(
        ErrorCode.MISSING_SCOPE,
        f"This token does not have the scope {' or '.join(scope.value for scope in scopes)}.",
        details={"required": scopes[0].value, "granted": list(token.scopes)},
    )


def has_scope(token: AgentToken, *scopes: Scope) -> bool:
    """Whether the token has one of them."""
    return any(scope.value in token.scopes for scope in scopes)


def owner_for(token: AgentToken, user_id: object) -> str:
    """Return the owner a call is about.

    Args:
        user_id: as the caller gave it, or None. It may be left out when the token serves one owner.

    Raises:
        ApiError: `invalid_arguments` when it is missing or no username; `owner_not_granted` when the token
            does not serve that owner, whether there is one of that name or not.
    """
    if user_id is None:
        return _only_owner(token)
    if not isinstance(user_id, str) or not USERNAME.fullmatch(user_id):
        raise _bad_user_id("must be a username: 1 to 64 of a-z, 0-9, dot, underscore and dash")
    served = _OWNER.first(name=user_id) if token.all_owners else _SERVED.first(name=user_id, token=token.pk)
    if served is None:
        raise ApiError(
            ErrorCode.OWNER_NOT_GRANTED,
            f"This token does not serve user_id '{user_id}'.",
            help=[_whom_it_serves(token)],
            details={"user_id": user_id},
        )
    return user_id


def _whom_it_serves(token: AgentToken) -> str:
    owner = sole_owner(token)
    return f"It serves {owner}: leave user_id out." if owner else "GET /api/v1/token/ says whom it serves."


def sole_owner(token: AgentToken) -> str | None:
    """Return whom the token serves where that is one owner; None where it serves several, everyone or nobody."""
    usernames = [] if token.all_owners else _served(token)
    return usernames[0] if len(usernames) == 1 else None


def owners_beginning(token: AgentToken, beginning: str, most: int) -> list[str]:
    """Return the first owners the token serves whose username begins so, in the order of the alphabet."""
    owners = _ACTIVE if token.all_owners else _ACTIVE.filter(agent_tokens=token)
    found = owners.filter(username__startswith=beginning).order_by("username")
    return list(found.values_list("username", flat=True)[:most])


def visible_proposals(token: AgentToken, owner: str | None = None) -> ProposalQuerySet:
    """Return the proposals of the token's agent, made with any of its tokens, for owners this token serves."""
    proposals = Proposal.objects.filter(agent=token.agent_id, owner__in=served_owners(token))
    return proposals if owner is None else proposals.of_owner(owner)


def served_owners(token: AgentToken) -> QuerySet[User, str]:
    """Return the usernames of the owners this token serves, as a part of a query."""
    owners = _ACTIVE if token.all_owners else _ACTIVE.filter(agent_tokens=token)
    return owners.order_by().values_list("username", flat=True)


def visible_proposal(token: AgentToken, proposal_id: int) -> Proposal | None:
    """Return that one of `visible_proposals`, with who decided and its agent."""
    asked = {"pk": proposal_id, "agent": token.agent_id}
    return _ONE.first(**asked) if token.all_owners else _ONE_OF_SERVED.first(**asked, token=token.pk)


def _one(pk: int, agent: int, owners: QuerySet[User]) -> ProposalQuerySet:
    visible = Proposal.objects.filter(agent=agent, owner__in=owners.order_by().values("username"))
    return visible.filter(pk=pk).select_related("decided_by", "agent").order_by()


_ACTIVE = User.objects.filter(is_active=True)
_NAMED = Prepared(
    lambda token: _ACTIVE.filter(agent_tokens=token).order_by().values_list("username", flat=True)[:2], token=int
)
_ONE = Prepared(lambda pk, agent: _one(pk, agent, _ACTIVE), pk=int, agent=int)
_ONE_OF_SERVED = Prepared(
    lambda pk, agent, token: _one(pk, agent, _ACTIVE.filter(agent_tokens=token)), pk=int, agent=int, token=int
)


def agents_serving(owner: str) -> set[int]:
    """Return the ids of the agents with a usable token for an owner; for `approvals.review.trust`."""
    return set(AgentToken.objects.usable().serving(owner).order_by().values_list("agent_id", flat=True))


def _only_owner(token: AgentToken) -> str:
    if token.all_owners:
        raise _bad_user_id("is required: this token serves every owner")
    usernames = _served(token)
    if len(usernames) == 1:
        return usernames[0]
    raise _bad_user_id(f"is required: this token serves {'several owners' if usernames else 'nobody'}")


def _served(token: AgentToken) -> list[str]:
    """Return the first two of the owners named for the token."""
    return _NAMED.all(token=token.pk)


def _bad_user_id(reason: str) -> ApiError:
    return ApiError(
        ErrorCode.INVALID_ARGUMENTS,
        f"Invalid arguments: user_id {reason}.",
        text=f"Error: invalid arguments: user_id {reason}.",
        details={"fields": {"user_id": reason}},
    )
