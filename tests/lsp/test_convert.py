"""`meshlens/convert` in real sessions: the edit, the refusal, and the wishes that a client can express."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import pytest
from lsprotocol import converters, types
from pygls.exceptions import JsonRpcException

import depth
from command_line import write
from editor import Editor, editor

pytestmark = pytest.mark.asyncio(loop_scope="session")

METHOD = "meshlens/convert"
STEP = """import jax
import jax.numpy as jnp

text = "é𝛼"


@jax.jit
def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
    return params - grads


@jax.jit
def rows(batch):
    return batch * 2


params = step(jnp.ones(3), rows(jnp.ones((8, 3))))
p_mean = jax.pmap(lambda x: jax.lax.pmean(x, "data"), axis_name="data")
"""


@attrs.define
class Answer:
    """An answer as JSON; without this type, the library would turn its objects into named tuples."""

    id: Any
    result: Any
    jsonrpc: str


async def _ask(ed: Editor, word: str, to: str = "pmap", **wishes: Any) -> Any:
    name = next(iter(ed.texts))
    at = converters.get_converter().unstructure(ed.at(name, word))
    document = {"uri": ed.uri(name), "version": wishes.pop("version", ed.versions[name])}
    protocol = ed.client.protocol
    known = type(protocol).get_result_type
    protocol.get_result_type = lambda method: Answer if method == METHOD else known(protocol, method)
    asked = {"textDocument": document, "position": at, "to": to, **wishes}
    return await protocol.send_request_async(METHOD, asked)


def _applied(ed: Editor, answer: dict[str, Any]) -> str:
    ed.apply(converters.get_converter().structure(answer["edit"], types.WorkspaceEdit))
    return next(iter(ed.texts.values()))


async def test_a_function_becomes_a_pmap_with_what_the_user_says(ed: Editor):
    ed.open("train.py", STEP.replace("\n", "\r\n"))
    answer = await _ask(ed, "step(params, batch)", axisName="data", devices="4")
    assert answer["refused"] is None
    assert answer["places"] == 5
    text = _applied(ed, answer)
    assert '    axis_name="data",\r\n    in_axes=(None, 0),\r\n    out_axes=None,' in text
    assert "devices=jax.devices()[:4]" in text
    assert "count = 4\r\n" in text
    assert text.count("\r\n") == text.count("\n")
    assert not [one for one in await ed.diagnostics("train.py") if one.severity == types.DiagnosticSeverity.Error]


async def test_a_map_and_a_function_become_a_shard_map(ed: Editor):
    ed.open("train.py", STEP)
    text = _applied(ed, await _ask(ed, "pmap(", to="shard_map"))
    assert "p_mean = jax.jit(" in text
    text = _applied(ed, await _ask(ed, "step(params, batch)", to="shard_map", devices="2x4"))
    assert 'Mesh(np.array(jax.devices()[:8]).reshape(2, 4), ("batch", "model"))' in text


async def test_what_would_have_a_new_finding_is_refused_with_it(ed: Editor):
    evaluation = "import jax\n\n\n@jax.jit\ndef evaluate(params, x):\n    return (x @ params).mean()\n"
    caller = "import jax\nfrom a import evaluate\n\n\n@jax.jit\ndef step(params, x):\n    return evaluate(params, x)\n"
    write(ed.root, {"b.py": f"{caller}\n\nprint(step(jax.numpy.ones(3), jax.numpy.ones((8, 3))))\n"})
    ed.open("a.py", evaluation)
    refused = (await _ask(ed, "evaluate"))["refused"]
    assert refused["code"] == "new-finding"
    assert refused["message"].startswith("the result would trigger AX602: pmap is called inside step")
    assert (await _ask(ed, "evaluate", to="shard_map"))["refused"] is None


@pytest.mark.deep
async def test_what_a_client_can_suggest(ed: Editor):
    write(ed.root, {"meshlens.toml": 'devices = 8\naxis-name = "replica"\n'})
    ed.open("train.py", STEP.replace("return params - grads", 'return params - jax.lax.pmean(grads, "inner")'))
    assert (await _ask(ed, "step(params, batch)"))["defaults"] == {"axisName": "inner", "devices": "8"}
    assert (await _ask(ed, "rows(batch)"))["defaults"] == {"axisName": "replica", "devices": "8"}


async def test_every_refusal_has_a_code_and_a_sentence(ed: Editor):
    ed.open("train.py", STEP.replace("batch * 2", "batch[::-1]"))
    rows = await _ask(ed, "rows(batch)")
    assert (rows["edit"], rows["places"]) == (None, 0)
    assert rows["refused"] == {
        "code": "unreduced-output",
        "message": 'the result of "rows" may differ between devices and may not have one row for each row of the '
        'batch: "batch[::-1]" on line 15 may need all rows of the batch',
    }
    nothing = await _ask(ed, "text =")
    assert nothing["refused"] == {"code": "nothing-here", "message": "nothing at the cursor can be converted to pmap"}
    many = await _ask(ed, "step(params, batch)", devices="2x4")
    assert many["refused"]["code"] == "one-axis"


@pytest.mark.deep
async def test_a_function_that_a_large_project_may_use_elsewhere_is_mapped_where_it_is_defined(tmp_path: Path):
    write(tmp_path, {"pyproject.toml": "", "filler.py": "import jax\n" + "x = 1  # filler\n" * 30_000})
    async with editor(tmp_path) as ed:
        ed.open("train.py", STEP)
        text = _applied(ed, await _ask(ed, "step(params, batch)"))
        assert '@on_all_devices(axis_name="batch", in_axes=(None, 0), out_axes=None)\ndef step' in text
        assert "\nparams = step(jnp.ones(3)" in text


@pytest.mark.parametrize(
    ("wishes", "said"),
    depth.some(
        [
            ({"to": "xmap"}, '"to" must be one of'),
            ({"devices": "many"}, "devices: "),
            ({"version": 7}, "the file has changed"),
        ],
        1,
    ),
)
async def test_what_makes_no_sense_is_an_error(ed: Editor, wishes: dict[str, Any], said: str):
    ed.open("train.py", STEP)
    with pytest.raises(JsonRpcException, match=said):
        await _ask(ed, "step(params, batch)", **wishes)
