"""Tests "Parallelize over devices…" in real sessions: where it is offered, its targets, and what other clients get."""

from __future__ import annotations

from functools import partial
from typing import Any

import attrs
import pytest
from lsprotocol import converters, types

from editor import Editor
from recorded_clients import CLIENTS

pytestmark = pytest.mark.asyncio(loop_scope="session")

TITLE = "Parallelize over devices…"
TRAIN = """from functools import partial

import jax
import jax.numpy as jnp


def scale_by_two(x):
    return x * 2


@jax.jit
def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
    return params - grads


def report(params, batch):
    print(jnp.mean(batch @ params))


def swap(model):
    return -model


fast = jax.jit(scale_by_two)
held = partial(scale_by_two)
halve = lambda x: x / 2

params = jnp.ones(3)
for _ in range(3):
    params = step(params, jnp.ones((8, 3)))
    report(params, jnp.ones((8, 3)))
doubled = scale_by_two(jnp.ones((8, 3)))
fast(jnp.ones(8)), held(jnp.ones(8)), halve(jnp.ones(8)), swap(jnp.ones(8))
"""
_in = partial(pytest.mark.parametrize, "shared", indirect=True, scope="session")
ASKING = _in(["vscode"])
OTHERS = _in([client for client in CLIENTS if client != "vscode"])


@attrs.define
class Answer:
    """An answer as JSON; without this type, the library would turn its objects into named tuples."""

    id: Any
    result: Any
    jsonrpc: str


async def _ask(ed: Editor, method: str, word: str, **wishes: Any) -> Any:
    at = converters.get_converter().unstructure(ed.at("train.py", word))
    protocol = ed.client.protocol
    known = type(protocol).get_result_type
    protocol.get_result_type = lambda asked: Answer if asked == method else known(protocol, asked)
    document = {"uri": ed.uri("train.py"), "version": ed.versions["train.py"]}
    return await protocol.send_request_async(method, {"textDocument": document, "position": at, **wishes})


async def _actions(ed: Editor, word: str, kind: types.CodeActionTriggerKind) -> list[Any]:
    at = ed.at("train.py", word)
    context = types.CodeActionContext([], trigger_kind=kind)
    asked = types.CodeActionParams(types.TextDocumentIdentifier(ed.uri("train.py")), types.Range(at, at), context)
    return list(await ed.client.text_document_code_action_async(asked) or [])


@ASKING
@pytest.mark.parametrize(
    ("word", "name"),
    [
        ("scale_by_two(x)", "scale_by_two"),
        ("def step", "step"),
        ("jax.jit\ndef", "step"),
        ("step(params, jnp", "step"),
        ("scale_by_two(jnp", "scale_by_two"),
        ("jax.jit(scale", "scale_by_two"),
        ("partial(scale", "scale_by_two"),
        ("fast = ", "fast"),
        ("lambda x: x / 2", "halve"),
        ("halve = ", "halve"),
    ],
)
async def test_one_action_stands_wherever_a_function_is_meant(ed: Editor, word: str, name: str):
    ed.open("train.py", TRAIN)
    found = await _actions(ed, word, types.CodeActionTriggerKind.Automatic)
    (action,) = [one for one in found if one.title == TITLE]
    assert action.kind == "refactor.rewrite"
    assert action.edit is None
    assert action.data["assist"] == "parallelize"
    answer = await _ask(ed, "meshlens/waysToParallelize", word)
    assert answer["name"] == name


@ASKING
async def test_it_does_not_stand_beside_functions(ed: Editor):
    ed.open("train.py", TRAIN)
    for word in ("params = jnp.ones", "return x * 2", "import jax\n"):
        assert TITLE not in [one.title for one in await _actions(ed, word, types.CodeActionTriggerKind.Invoked)]
        assert (await _ask(ed, "meshlens/waysToParallelize", word))["name"] is None


@ASKING
async def test_the_best_way_comes_first_and_each_closed_one_says_why(ed: Editor):
    ed.open("train.py", TRAIN)
    step = await _ask(ed, "meshlens/waysToParallelize", "step(params, batch)")
    assert [(one["to"], one["strategy"]) for one in step["ways"]][:2] == [("jit", "data"), ("jit", "fsdp")]
    assert all(one["refused"] is None for one in step["ways"][:2])
    assert step["arguments"] == ["params", "batch"]
    report = await _ask(ed, "meshlens/waysToParallelize", "report(params, batch)")
    assert report["ways"][0]["refused"] is not None
    told = {one["refused"]["message"] for one in report["ways"] if one["refused"]}
    assert '"report" cannot be jitted: it calls print(); use jax.debug.print' in told


@ASKING
async def test_a_way_is_taken_with_what_the_user_says(ed: Editor):
    ed.open("train.py", TRAIN)
    answer = await _ask(ed, "meshlens/convert", "def step", to="jit", strategy="fsdp", axisName="rows", devices="4")
    assert answer["refused"] is None
    ed.apply(converters.get_converter().structure(answer["edit"], types.WorkspaceEdit))
    text = ed.texts["train.py"]
    assert 'Mesh(np.array(jax.devices()[:4]), ("rows",))' in text
    assert "params = shard_state(params)\nfor _ in range(3):" in text


@ASKING
async def test_a_preview_has_one_box_for_each_wrapped_argument(ed: Editor):
    ed.open("train.py", TRAIN)
    edit = (await _ask(ed, "meshlens/convert", "def step", to="jit"))["edit"]
    (change,) = converters.get_converter().structure(edit, types.WorkspaceEdit).document_changes
    boxes = [(ed.cut("train.py", one.range), one.new_text) for one in change.edits]
    assert ("jnp.ones((8, 3))", "shard_batch(jnp.ones((8, 3)))") in boxes
    assert all(text.count("(") == text.count(")") for box in boxes for text in box)


@ASKING
async def test_a_question_is_answered_by_the_batch_argument(ed: Editor):
    ed.open("train.py", TRAIN.replace("swap(jnp.ones(8))", "swap"))
    refused = (await _ask(ed, "meshlens/convert", "swap(model)", to="jit"))["refused"]
    assert refused == {"code": "which-batch", "message": 'it is unknown which argument of "swap" holds the batch'}
    answer = await _ask(ed, "meshlens/convert", "swap(model)", to="jit", batch="model:0")
    assert answer["refused"] is None


@pytest.mark.slow
@OTHERS
async def test_clients_without_dialogs_get_every_way_open_or_closed(ed: Editor):
    ed.open("train.py", TRAIN)
    found = await _actions(ed, "def scale_by_two", types.CodeActionTriggerKind.Invoked)
    assert TITLE not in [one.title for one in found]
    assert "Parallelize with jit and sharding" in [one.title for one in found if one.disabled is None]
    found = await _actions(ed, "report(params, batch)", types.CodeActionTriggerKind.Invoked)
    closed = {one.title: one.disabled.reason for one in found if one.disabled}
    if ed.can("textDocument.codeAction.disabledSupport"):
        assert "calls print()" in closed["Parallelize with jit and sharding"]
    else:
        (said,) = [one for one in found if one.title.startswith("Cannot parallelize with jit and sharding: ")]
        assert "calls print()" in said.title
        assert said.edit == types.WorkspaceEdit(changes={})
    assert not [
        one
        for one in await _actions(ed, "report(params, batch)", types.CodeActionTriggerKind.Automatic)
        if one.disabled
    ]


INSIDE = """\
import jax
import jax.numpy as jnp


@jax.jit
def predict(params, batch):
    return batch @ params
"""


@ASKING
async def test_it_is_said_whether_the_function_or_its_calls_change(ed: Editor):
    called = "\n\nfor _ in range(3):\n    print(predict(jnp.ones(3), jnp.ones((16, 3))))\n"
    for text, said in ((INSIDE, "splits the batch in the first lines"), (INSIDE + called, "leaves the function unch")):
        ed.open("train.py", text)
        way = (await _ask(ed, "meshlens/waysToParallelize", "predict(params"))["ways"][0]
        assert (way["to"], way["refused"]) == ("jit", None)
        assert way["detail"].startswith(said)
        assert way["detail"].endswith("are not split; each device computes all of them")
        ed.close("train.py")
