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
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tests import services
from tests.support.sites import serving

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
    with tempfile.TemporaryDirectory(prefix="assent-fuzz-", ignore_cleanup_errors=True) as name:
        os.environ |= {"ASSENT_DATA_DIR": name, "ASSENT_DEBUG": "1"}
        with serving(Path(name), **LIMITS) as site:
            authorization = f"Bearer {site.token}"
            notes = httpx.get(f"{site.address}/api/v1/users/alice/notes/", headers={"Authorization": authorization})
            # Names that are there, or hardly a call would come further than to a 403 or 404.
            named = {"user_id": "alice", "label": "goals", "note_id": notes.json()["data"]["items"][0]["id"]}
            lines = [f'"path.{name}" = "{value}"' for name, value in named.items()]
            (site.folder / "schemathesis.toml").write_text("\n".join(["[parameters]", *lines, ""]))
            schemathesis = str(Path(sys.executable).with_name("schemathesis"))
            address = [f"{site.address}/api/schema/", "-H", f"Authorization: {authorization}"]
            chosen = ["--checks", ",".join(CHECKS), "--phases", "examples,coverage,fuzzing", "--continue-on-failure"]
            command = [schemathesis, "run", *address, *chosen, *arguments]
            return subprocess.run(command, cwd=site.folder, check=False).returncode


if __name__ == "__main__":
    services.unwind_on_signals()
    sys.exit(main(sys.argv[1:]))
