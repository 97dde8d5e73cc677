"""Node with the packages of package.json, and a model that is a script: what OpenAI's Responses API would answer."""

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.conftest import Call, JsonHandler, RunningServer

HERE = Path(__file__).resolve().parent


class ScriptedModel(JsonHandler):
    """Makes the calls of `script`, one for each request, and then says "done"; keeps the texts it was shown."""

    script: tuple[Call, ...] = ()
    shown: list[str] = []

    def do_POST(self) -> None:
        asked = self.asked()
        assert self.path == "/responses"
        assert {name for name, _ in self.script} <= {tool["name"] for tool in asked["tools"]}
        type(self).shown[:] = [
            text_of(item["output"]) for item in asked["input"] if item.get("type") == "function_call_output"
        ]
        place = len(self.shown)
        self.answer(answer(place, self.script))


def text_of(output: Any) -> str:
    """What a model reads of an output: a text, or parts that have one."""
    return output if isinstance(output, str) else "".join(part["text"] for part in output)


def answer(place: int, script: tuple[Call, ...]) -> dict[str, Any]:
    """What the Responses API answers: the call at this place of the script, or that it is done."""
    if place < len(script):
        name, arguments = script[place]
        said: dict[str, Any] = {"type": "function_call", "id": f"fc_{place}", "call_id": f"call_{place}", "name": name}
        said |= {"arguments": json.dumps(arguments), "status": "completed"}
    else:
        content = [{"type": "output_text", "text": "done", "annotations": []}]
        said = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    return {
        "id": f"resp_{place}",
        "object": "response",
        "created_at": 1,
        "model": "gpt-5",
        "status": "completed",
        "output": [said],
        "usage": usage,
    }


@pytest.fixture(scope="session")
def node() -> Path:
    """A folder with the packages; the test is skipped where there is no Node."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not there")
    folder = Path(sys.prefix) / "node"
    folder.mkdir(exist_ok=True)
    wanted = (HERE / "package-lock.json").read_text()
    if not (folder / "installed").exists() or (folder / "installed").read_text() != wanted:
        for name in ("package.json", "package-lock.json"):
            shutil.copy(HERE / name, folder / name)
        run(folder, "npm", "ci", "--no-audit", "--no-fund", "--silent")
        (folder / "installed").write_text(wanted)
    return folder


@pytest.fixture
def model() -> Iterator[str]:
    """The address of a model that makes the calls of `ScriptedModel.script`."""
    with ThreadingHTTPServer(("127.0.0.1", 0), ScriptedModel) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def run(folder: Path, *command: str, **environment: str) -> str:
    """Run a command of Node's there, and return what it says. What went wrong is the error of a failure."""
    env = os.environ | environment
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, timeout=150, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3_000:]
    return done.stdout


def for_model(memory: RunningServer, model: str) -> dict[str, str]:
    """The variables of a program that speaks to the memory and to this model."""
    return {
        "MEMORY_URL": memory.url,
        "MEMORY_TOKEN": memory.token,
        "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": model,
    }
