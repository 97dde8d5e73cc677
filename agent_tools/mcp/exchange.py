"""One request and what is known of it: who asks, by which address, and what is noted about it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any

from pydantic import Field

from agent_tools import auth
from agent_tools.auth import Caller
from agent_tools.calls import execution, registry, toolsets
from agent_tools.calls.arguments import Arguments
from agent_tools.calls.execution import Audit
from agent_tools.calls.idempotency import StoredAnswer
from agent_tools.errors import ApiError
from agent_tools.http import messages
from agent_tools.http.json_rpc import RpcCode, RpcError, data_of

#: What a refusal calls the address.
CALLED = "this address"


class AddressQuery(Arguments):
    """What the query of the address chooses: `/mcp?user=alice&readonly=1&toolset=blocks`.

    The person who connects a client writes it, once; a model sees nothing of it. So a mistake is refused with each
    request.
    """

    user: Annotated[str | None, Field(description="Whose memory all calls are about.", min_length=1)] = None
    readonly: Annotated[bool, Field(description="Only tools that change nothing.")] = False
    structured: Annotated[bool, Field(description="Results also as structuredContent.")] = False
    data: Annotated[bool, Field(description="Results also as data, in _meta.")] = False
    tools: toolsets.ByName = Field(default_factory=list)
    toolset: toolsets.BySet = Field(default_factory=list)

    @property
    def chosen(self) -> frozenset[str] | None:
        """Return the names of the tools to list; None where the token says. Raise ApiError for an unknown name."""
        return toolsets.choose(self.tools, self.toolset, called=CALLED)

    def runs(self, tool: registry.Tool[Any]) -> bool:
        """Whether the address lets a tool run, whatever the token may do."""
        return not self.readonly or tool.effect is registry.Effect.READ_ONLY


@dataclass
class Exchange:
    """A request to be answered.

    Attributes:
        outcome: for the audit row: `ok`, or an error code.
        status: the same as REST would answer, for the audit row.
        headers, meta: of the request, which may say its session and its idempotency key.
    """

    caller: Caller
    options: AddressQuery
    audit: Audit
    outcome: str = "ok"
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    meta: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def owner(self) -> str | None:
        """Return whose memory all calls are about; None where each call says.

        Raises:
            ApiError: the token does not serve the user of the address.
        """
        if self.options.user is not None:
            return auth.owner_for(self.caller.token, self.options.user)
        return auth.sole_owner(self.caller.token)

    def run(self, operation: registry.ApiOperation[Any], given: dict[str, Any]) -> dict[str, Any]:
        """Run what is no tool's call, with the same checks and audit, and return its payload.

        Raises:
            RpcError: for whatever it refuses, or fails by our fault.
        """
        self.audit.tool = operation.name
        try:
            kept = self.execute(operation, given)
        except Exception as error:
            answer = messages.as_api_error(error, failing=operation.failing)
            messages.report(answer, error, self.audit)
            raise self.failure(answer) from error
        return kept.payload

    def execute(self, operation: registry.ApiOperation[Any], given: dict[str, Any]) -> StoredAnswer:
        """Run a tool or endpoint, with the session and the key that the request says beside its arguments."""
        session = self._said("session_id", execution.SESSION_HEADER) or self.options.session_id
        key = self._said("idempotency_key", execution.KEY_HEADER)
        given = execution.in_session(operation, given, session)
        return execution.execute(operation, self.caller, given, key=key, audit=self.audit)

    def _said(self, name: str, header: str) -> str | None:
        said = self.meta.get(f"assent/{name}", self.headers.get(header))
        return None if said is None else str(said)

    def failure(self, error: ApiError) -> RpcError:
        """Return the error of the protocol for a refusal of ours, and note it."""
        self.outcome, self.status = error.code.code, error.code.status
        code = RpcCode.INTERNAL_ERROR if error.code.status >= 500 else RpcCode.INVALID_PARAMS
        return RpcError(code, error.message, data=data_of(error), outcome=error.code.code)
