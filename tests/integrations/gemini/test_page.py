"""docs/agents/gemini.md, as it stands, with a script in the place of Google's API."""

import threading
from http.server import ThreadingHTTPServer
from typing import Any

import pytest

from tests.docs.documents import document
from tests.integrations.conftest import Call, JsonHandler, RunningServer, assert_reads_and_proposes

(PROGRAM,) = document("docs/agents/gemini.md").fences("python")


class ScriptedGemini(JsonHandler):
    """Makes the calls of `script`, one for each request, and then says "done"; keeps the texts it was shown."""

    script: tuple[Call, ...] = ()
    shown: list[str] = []

    def do_POST(self) -> None:
        asked = self.asked()
        (tool,) = asked["tools"]
        offered = {each["name"]: each["parameters_json_schema"] for each in tool["functionDeclarations"]}
        assert {name for name, _ in self.script} <= offered.keys()
        parts = [part for content in asked["contents"] for part in content["parts"]]
        type(self).shown[:] = [
            part["functionResponse"]["response"]["result"] for part in parts if "functionResponse" in part
        ]
        place = len(self.shown)
        said: dict[str, Any] = {"text": "done"}
        if place < len(self.script):
            name, arguments = self.script[place]
            said = {"functionCall": {"name": name, "args": arguments}}
        candidate = {"content": {"role": "model", "parts": [said]}, "finishReason": "STOP", "index": 0}
        self.answer({"candidates": [candidate]})


def test_the_model_reads_our_text_and_its_proposal_waits(
    memory: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), ScriptedGemini) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("GEMINI_API_KEY", "none")
        monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", f"http://127.0.0.1:{server.server_port}")

        def ran(*calls: Call) -> list[str]:
            ScriptedGemini.script = calls
            exec(compile(PROGRAM, "gemini.md", "exec"), {"__name__": "page"})
            assert capsys.readouterr().out == "done\n"
            return list(ScriptedGemini.shown)

        assert_reads_and_proposes(memory, ran)
        server.shutdown()
