"""Calls every operation of the OpenAPI document with generated data: `make fuzz` (ARGS='--seed 7 -n 50').

Starts the embedded edition with demo data of its own and runs schemathesis against it: no answer may be a 5xx, of an
undocumented status, shape or media type, and what the document forbids must be refused. Not part of `make test`: it
takes minutes, and finds by chance.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import httpx

# As a script: `tests` is a package of this folder.
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tests import services  # noqa: E402

CHECKS = (
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "negative_data_rejection",
)
#: Nothing is refused for being too much: what is looked for is another kind of refusal.
LIMITS = {
    "ASSENT_RATE_LIMIT": "1000000",
    "ASSENT_PENDING_CAP": "100000",
    "ASSENT_MAX_OPEN_PROPOSALS": "100000",
    # With two, no call waits for a decision: hundreds that do would take an hour.
    "ASSENT_THREADS": "2",
}


def main(arguments: list[str]) -> int:
    (port,) = services.free_ports(1)
    address = f"http://{services.HOST}:{port}"
    with tempfile.TemporaryDirectory(prefix="assent-fuzz-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        token = folder / "data" / "demo_token"
        started = services.Services(folder)
        env = os.environ | LIMITS | {"ASSENT_DATA_DIR": str(folder / "data"), "ASSENT_DEBUG": "1"}
        # By themselves: they may take longer than a server is given to start.
        for command in ("prepare", "demo"):
            subprocess.run([sys.executable, "manage.py", command], cwd=ROOT, env=env, check=True)
        try:
            started.start(
                "serve",
                [sys.executable, "manage.py", "serve", "--port", str(port)],
                ready=lambda: is_ready(f"{address}/readyz"),
                env=env | {"ASSENT_PUBLIC_URL": address},
                cwd=ROOT,
            )
            bearer = f"Bearer {token.read_text().strip()}"
            notes = httpx.get(f"{address}/api/v1/users/alice/notes/", headers={"Authorization": bearer}).json()
            # Names that are there, or hardly a call would come further than to a 403 or 404.
            named = {"user_id": "alice", "label": "goals", "note_id": notes["data"]["items"][0]["id"]}
            lines = [f'"path.{name}" = "{value}"' for name, value in named.items()]
            (folder / "schemathesis.toml").write_text("\n".join(["[parameters]", *lines, ""]))
            schemathesis: list[str | Path] = [
                Path(sys.executable).with_name("schemathesis"),
                "run",
                f"{address}/api/schema/",
            ]
            authorization = ["-H", f"Authorization: {bearer}"]
            chosen = ["--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing", "--continue-on-failure"]
            return subprocess.run(
                [*schemathesis, *authorization, *chosen, *arguments], cwd=folder, check=False
            ).returncode
        finally:
            started.stop()


def is_ready(address: str) -> bool:
    try:
        return httpx.get(address, timeout=5).status_code == 200
    except httpx.HTTPError:
        return False


if __name__ == "__main__":
    services.unwind_on_signals()
    sys.exit(main(sys.argv[1:]))
