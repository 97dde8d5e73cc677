"""`/api/v1/tools/`: the definitions, and running one."""

from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from pydantic import Field

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.auth import grants
from agent_tools.calls import registry
from agent_tools.calls.arguments import Arguments, parse
from agent_tools.http import exceptions
from agent_tools.http.openapi import answers, describe, query
from agent_tools.views.api import ApiView, from_query


class ListQuery(Arguments):
    format: Annotated[
        Literal["native", "openai", "anthropic", "mcp"],
        Field(description="For which kind of model (openai = Chat Completions)."),
    ] = "native"


class ToolListQuery(ListQuery):
    family: Annotated[
        Literal["memory", "files", "all"],
        Field(
            description="memory: tools for blocks and notes. files: the same memory as files (view_file, edit_file …), "
            "with the tools for proposals and search. all: both. Every tool runs by its name, listed or not."
        ),
    ] = "memory"


class ToolList(ApiView):
    @describe(
        operation_id="tool_list",
        tags=["tools"],
        summary="The tools this token may use, ready to hand to a model",
        parameters=query(ToolListQuery),
        responses=answers("data.tools: the definitions.", 400),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        asked = parse(ToolListQuery, from_query(request, ToolListQuery), called="the list of tools")
        write = registry.FORMATS[asked.format]
        # A tool the token has no scope for would only teach a model to fail.
        family, token = registry.Family(asked.family), self.caller.token
        usable = [tool for tool in registry.switched_on(family) if grants.has_scope(token, *tool.scopes)]
        data: dict[str, Any] = {"format": asked.format, "family": asked.family}
        data["tools"] = [write(tool) for tool in usable]
        text = "\n".join(f"- {tool.name}: {tool.description}" for tool in usable)
        return exceptions.json_response(registry.Answer(text or "This token may use no tools.", data).payload())


class TokenDetail(ApiView):
    @describe(
        operation_id="token_read",
        tags=["tools"],
        summary="What this token may do, and for whom",
        responses=answers("data.agent, data.scopes, data.all_owners and data.owners (empty when it serves everyone)."),
    )
    def get(self, request: HttpRequest) -> HttpResponse:
        parse(Arguments, from_query(request, Arguments), called="this endpoint")
        token = self.caller.token
        owners = token.owners.filter(is_active=True).order_by("username").values_list("username", flat=True)
        data: dict[str, Any] = {
            "agent": self.caller.agent.name,
            "scopes": list(token.scopes),
            "all_owners": token.all_owners,
            "owners": [] if token.all_owners else list(owners),
        }
        whom = "everyone" if token.all_owners else ", ".join(data["owners"]) or "nobody"
        return exceptions.json_response(
            registry.Answer(f"A token of {data['agent']}, which serves {whom}.", data).payload()
        )


class ToolRun(ApiView):
    @describe(
        operation_id="tool_read",
        tags=["tools"],
        summary="The definition of one tool",
        parameters=query(ListQuery),
        responses=answers("data.tool: the definition.", 400, 404),
    )
    def get(self, request: HttpRequest, name: str) -> HttpResponse:
        asked = parse(ListQuery, from_query(request, ListQuery), called="the definition of a tool")
        tool = registry.find(name)
        registry.require_on(tool)
        grants.require_scope(self.caller.token, *tool.scopes)
        data: dict[str, Any] = {"format": asked.format, "tool": registry.FORMATS[asked.format](tool)}
        return exceptions.json_response(registry.Answer(f"{tool.name}: {tool.description}", data).payload())

    @describe(summary="Run a tool", responses=answers("What the tool says."))
    def post(self, request: HttpRequest, name: str) -> HttpResponse:
        self.audit.tool = name if name in registry.TOOLS else "unknown"
        tool = registry.find(name)
        return self.by_body(request, tool)
