"""docs/agents/node.md, as it stands: its programs with a scripted model, and the client generated there."""

from pathlib import Path

import pytest

from tests.docs.documents import document
from tests.integrations.conftest import Call, RunningServer, assert_reads_and_proposes
from tests.integrations.node.conftest import ScriptedModel, for_model, run

PAGE = document("docs/agents/node.md")
AI_SDK, RESPONSES = PAGE.fences("js")
(TYPED,) = PAGE.fences("ts")
TSC = ("npx", "tsc", "--strict", "--module", "nodenext", "--target", "es2022", "--types", "node")

#: What the types are for: each marked line has to be an error of the compiler's.
CHECKED = """
const read = await memory.POST("/api/v1/tools/read_memory_block/", { body: { block_label: "goals", as_of: null } });
if (!read.data) throw new Error(read.error.text);
const { body, lines, view_range }: { body: string; lines: number; view_range: number[] | null } = read.data.data;
// @ts-expect-error
read.data.data.boody;

const { error: refusal } = await memory.POST("/api/v1/tools/read_memory_block/", { body: { block_label: "nope" } });
if (!refusal) throw new Error("a block is there that is not");
// @ts-expect-error
const isUnknown = refusal.error.code === "no_such_code";

// @ts-expect-error
await memory.POST("/api/v1/tools/propose_memory_append/", { body: { block_label: "goals" } });

const proposal_id = data.data.proposal_id;
const one = await memory.GET("/api/v1/proposals/{proposal_id}/", { params: { path: { proposal_id } } });
const op: string | undefined = one.data?.data.edits[0]?.op;
const reason: string | null | undefined = one.data?.data.decision?.reason;
const said = [body.length > 0, lines > 0, view_range, refusal.error.code, isUnknown, op, reason ?? null];
console.log(JSON.stringify(said));
"""


@pytest.mark.parametrize("program", [AI_SDK, RESPONSES], ids=["ai_sdk", "responses"])
def test_the_model_reads_our_text_and_its_proposal_waits(
    node: Path, memory: RunningServer, model: str, program: str
) -> None:
    (node / "agent.mjs").write_text(program)

    def ran(*calls: Call) -> list[str]:
        ScriptedModel.script = calls
        assert run(node, "node", "agent.mjs", **for_model(memory, model)) == "done\n"
        return list(ScriptedModel.shown)

    assert_reads_and_proposes(memory, ran)


def test_a_generated_client_compiles_and_reads_typed_answers(node: Path, memory: RunningServer) -> None:
    run(node, "npx", "openapi-typescript", f"{memory.url}/api/schema/", "-o", "schema.d.ts")
    (node / "propose.mts").write_text(TYPED + CHECKED)
    run(node, *TSC, "propose.mts")
    said = run(node, "node", "propose.mjs", MEMORY_URL=memory.url, MEMORY_TOKEN=memory.token).splitlines()
    number = memory.newest_proposal()["proposal_id"]
    assert said[0].startswith(f"{number} http")
    assert said[1] == '[true,true,null,"block_not_found",false,"append",null]'
