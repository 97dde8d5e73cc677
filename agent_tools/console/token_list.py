"""The tokens that serve a person, as the pages list them: each with the secrets it replaced that still work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from agent_tools.auth import tokens
from agent_tools.models import AgentToken, AgentTokenQuerySet
from approvals.models import User


@dataclass(frozen=True)
class OldSecret:
    """A token that was replaced and still works.

    Args:
        replaced_at: when the next one was made.
    """

    token: AgentToken
    replaced_at: datetime

    @property
    def is_in_use(self) -> bool:
        """Whether an agent used it after it was replaced. Uses are noted once a minute."""
        return self.token.last_used_at is not None and self.token.last_used_at > self.replaced_at


@dataclass(frozen=True)
class TokenRow:
    """Args:
    old: newest first.
    """

    token: AgentToken
    old: tuple[OldSecret, ...]
    may_rotate: bool
    is_by_admin: bool

    @property
    def is_shared(self) -> bool:
        """Whether it opens the memory of others, too; not told of whom."""
        return len(self.token.owners.all()) > 1


def usable_of(viewer: User) -> AgentTokenQuerySet:
    """Return the tokens that open this person's memory now."""
    return AgentToken.objects.serving(viewer.username).usable().filter(agent__is_active=True)


def rows_of(viewer: User, *, agent_id: int | None = None) -> list[TokenRow]:
    """Return the tokens that open this person's memory now, newest first; of one agent where it is named."""
    found = usable_of(viewer).select_related("agent", "created_by", "replaced_by").prefetch_related("owners")
    if agent_id is not None:
        found = found.filter(agent=agent_id)
    families: dict[int, list[AgentToken]] = {}
    for token in found:
        families.setdefault(token.original_id, []).append(token)
    return [_row(family, viewer) for family in families.values()]


def _row(family: list[AgentToken], viewer: User) -> TokenRow:
    newest, *old = sorted(family, key=lambda token: token.pk, reverse=True)
    return TokenRow(
        newest,
        tuple(OldSecret(each, each.replaced_by.created_at) for each in old),
        may_rotate=tokens.may_rotate(newest, viewer),
        is_by_admin=newest.created_by_id != viewer.pk and not newest.all_owners,
    )
