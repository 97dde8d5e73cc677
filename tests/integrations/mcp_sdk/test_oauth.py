"""The official client connects without a token: it finds out how, registers, asks the person, and refreshes."""

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from tests.integrations.conftest import RunningServer
from tests.support.pages import form

BACK = "http://127.0.0.1:3118/callback"


class Kept(TokenStorage):
    """What a client keeps between two runs."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class Browser:
    """alice's browser, which her client opens."""

    def __init__(self, url: str) -> None:
        self.http = httpx2.AsyncClient(base_url=url, follow_redirects=True, timeout=30)
        self.opened = 0
        self.told: dict[str, list[str]] = {}

    async def post(self, page: Any, at: str, /, **fields: Any) -> Any:
        sent = form(page, at) | fields
        return await self.http.post(at, data=sent, headers={"Referer": str(page.url)}, follow_redirects=False)

    async def open(self, url: str) -> None:
        self.opened += 1
        page = await self.http.get(url)
        if "/sign-in/" in str(page.url):
            signed_in = await self.post(page, "/sign-in/", username="alice", password="demo")
            page = await self.http.get(signed_in.headers["Location"])
        assert "connect?" in page.text
        scopes = ["memory:read", "memory:propose"]
        answer = await self.post(page, "/oauth/authorize/", action="grant", scopes=scopes, name="sdk")
        self.told = parse_qs(urlsplit(answer.headers["Location"]).query)

    async def come_back(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(code=self.told["code"][0], state=self.told["state"][0])


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_a_client_connects_is_refreshed_and_is_ended_by_its_person(memory: RunningServer, mode: str) -> None:
    async def work() -> None:
        kept, browser = Kept(), Browser(memory.url)
        metadata = OAuthClientMetadata(
            client_name="Official client",
            redirect_uris=[BACK],
            grant_types=["authorization_code", "refresh_token"],
            response_types=["code"],
        )

        async def read_goals() -> str:
            auth = OAuthClientProvider(memory.mcp, metadata, kept, browser.open, browser.come_back)
            async with (
                httpx2.AsyncClient(auth=auth, timeout=30) as http,
                Client(streamable_http_client(memory.mcp, http_client=http), mode=mode) as client,
            ):
                answer = await client.call_tool("read_memory_block", {"block_label": "goals"})
            return str(answer.content[0].text)

        assert "German" in await read_goals()
        assert browser.opened == 1
        assert kept.tokens
        assert kept.tokens.refresh_token
        first = kept.tokens.access_token

        assert "German" in await read_goals()
        given = {"grant_type": "refresh_token", "refresh_token": kept.tokens.refresh_token}
        given |= {"client_id": str(kept.client and kept.client.client_id), "resource": memory.mcp}
        if kept.client and kept.client.client_secret:
            given["client_secret"] = kept.client.client_secret
        second = (await browser.http.post("/oauth/token/", data=given)).json()
        assert second["access_token"] != first
        kept.tokens = OAuthToken.model_validate(second)
        assert "German" in await read_goals()
        assert browser.opened == 1

        # alice ends it on her page; then her client has to ask her again.
        page = await browser.http.get("/agents/sdk/")
        pk = page.text.split("/revoke/")[0].rsplit("/", 1)[-1]
        asked = await browser.http.get(f"/agents/tokens/{pk}/revoke/")
        await browser.post(asked, f"/agents/tokens/{pk}/revoke/")
        assert "German" in await read_goals()
        assert browser.opened == 2
        await browser.http.aclose()

    asyncio.run(work())
