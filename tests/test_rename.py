"""Rename of axis names: what changes along with a name, and what prevents the rename."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import virtual_devices
from cursors import opened, shown
from meshlens.checking.check import check
from meshlens.ide.naming.rename import Refused, Renamable, Renaming, prepare, rename
from meshlens.project.workspace import Workspace
from meshlens.settings import Settings
from meshlens.text import Edit, apply

TRAINER = {
    "mesh.py": '''
"""Where the batch lies: on the axis "batch"."""
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

AXES = ("batch", "model")  # the axis "batch" comes first
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), AXES)
rows = NamedSharding(mesh, P("batch", None))
sizes = {"batch": 4}

def shards():
    return mesh.shape["batch"]
''',
    "metrics.py": """
import dataclasses
import jax

@dataclasses.dataclass(frozen=True)
class Mean:
    axis_name: str | None = "batch"

    def __call__(self, x):
        if self.axis_name == "batch":
            return jax.lax.pmean(x, self.axis_name)
        return x

def total(x, axis_name="batch"):
    return jax.lax.psum(x, axis_name)
""",
    "main.py": """
import functools
import jax
import jax.numpy as jnp
from jax.sharding import PartitionSpec as P
from mesh import mesh, rows, shards, sizes
from metrics import Mean, total

@jax.jit
@functools.partial(jax.shard_map, mesh=mesh, in_specs=P("batch"), out_specs=(P("batch"), P()))
def step(batch):
    loss = total(batch["batch"].sum()) + total(batch["batch"].sum(), r'$0batch')
    return Mean()(batch["batch"]) + jax.lax.axis_index("batch"), loss / sizes["batch"]

x = jax.device_put(jnp.arange(8.0).reshape(8, 1), rows)
assert shards() == 4
print([float(y.sum()) for y in step({"batch": x})])
""",
}


def _renamed(workspace: Workspace, result: Renaming) -> dict[str, str]:
    edits: dict[Path, list[Edit]] = {}
    for edit in result.edits:
        edits.setdefault(edit.path, []).append(edit.edit)
    return {
        path.name: apply(file.source, edits.get(path, [])).decode()
        for path, file in ((Path(name), file) for name, file in workspace.files.items())
    }


def _asked(files: dict[str, str], new_name: str = "data") -> dict[str, str] | Refused:
    workspace, view, offset = opened(files)
    result = rename(view, offset, new_name)
    return result if isinstance(result, Refused) else _renamed(workspace, result)


def _refused(text: str, new_name: str = "data", **others: str) -> list[str]:
    _, view, offset = opened({"main.py": text, **{f"{name}.py": other for name, other in others.items()}})
    result = rename(view, offset, new_name)
    assert isinstance(result, Refused), result
    return [result.message, *(shown(view, place.path, place.span) for place in result.places)]


def _run(files: dict[str, str], folder: Path) -> str:
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text, "utf-8")
    environment = {**os.environ, **virtual_devices.environment()}
    command = [sys.executable, "main.py"]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout


def test_every_place_that_says_the_axis_changes_and_no_other():
    after = _asked(TRAINER)
    assert isinstance(after, dict), after
    assert after["mesh.py"].splitlines()[1:] == [
        '"""Where the batch lies: on the axis "batch"."""',
        "import jax",
        "import numpy as np",
        "from jax.sharding import Mesh, NamedSharding, PartitionSpec as P",
        "",
        'AXES = ("data", "model")  # the axis "batch" comes first',
        "mesh = Mesh(np.array(jax.devices()).reshape(4, 2), AXES)",
        'rows = NamedSharding(mesh, P("data", None))',
        'sizes = {"batch": 4}',
        "",
        "def shards():",
        '    return mesh.shape["data"]',
    ]
    assert after["metrics.py"] == TRAINER["metrics.py"].replace('"batch"', '"data"')
    assert "r'data'" in after["main.py"]
    assert 'P("data")' in after["main.py"]
    assert 'axis_index("data")' in after["main.py"]
    assert 'batch["batch"]' in after["main.py"]


def test_a_renamed_program_has_no_finding():
    after = _asked(TRAINER)
    assert isinstance(after, dict)
    main = after["main.py"].replace("batch[", "$0batch[", 1)
    workspace, _, _ = opened({**after, "main.py": main})
    assert [item for path in workspace.checked for item in check(workspace.view(path), Settings())] == []


@pytest.mark.jax
def test_a_renamed_program_computes_the_same(tmp_path):
    before = {name: text.replace("$0", "") for name, text in TRAINER.items()}
    after = _asked(TRAINER)
    assert isinstance(after, dict)
    assert _run(before, tmp_path / "before") == _run(after, tmp_path / "after")


def test_quotes_and_prefixes_stay():
    text = """
import jax
f = jax.pmap(lambda x: jax.lax.psum(x, '''i''') + jax.lax.pmax(x, u"i"), axis_name='$0i')
"""
    after = _asked({"main.py": text}, "it's")
    assert isinstance(after, dict)
    assert "'''it\\'s''') + jax.lax.pmax(x, u\"it's\"), axis_name='it\\'s'" in after["main.py"]


def test_prepare_shows_the_name_between_its_quotes():
    _, view, offset = opened({"main.py": "import jax\nf = jax.pmap(lambda x: x, axis_name=r'''$0i''')\n"})
    found = prepare(view, offset)
    assert isinstance(found, Renamable)
    assert (found.name, view.source[found.span.start - 4 : found.span.end + 3]) == ("i", b"r'''i'''")


@pytest.mark.parametrize("new_name", ["", "a\nb", "a\x00"])
def test_a_name_that_is_none_is_refused(new_name):
    text = 'import jax\nf = jax.pmap(lambda x: x, axis_name="$0i")\n'
    assert _refused(text, new_name) == ["an axis name must be a non-empty string on one line"]


BOUND = """
import jax
PARTS = "ba"
def sync(x, axis_name{default}):
    return jax.lax.pmean(x, axis_name)
step = jax.pmap(lambda x: sync(x, {given}), axis_name={bound})
"""


@pytest.mark.parametrize(
    ("given", "bound", "place"),
    [
        ('"$0batch"', 'f"{PARTS}tch"', ['the name "batch" is computed here', 'main.py:6: f"{PARTS}tch"']),
        ('"$0batch"', 'PARTS + "tch"', ['the name "batch" is computed here', 'main.py:6: PARTS + "tch"']),
        ('"ba" "tch"', '"$0batch"', ['the name "batch" is concatenated here', 'main.py:6: "ba" "tch"']),
        (
            '"b\\x61tch"',
            '"$0batch"',
            ['the name "batch" is written with an escape sequence here', 'main.py:6: "b\\x61tch"'],
        ),
    ],
)
def test_a_name_that_is_not_written_plainly_is_refused(given, bound, place):
    assert _refused(BOUND.format(default="", given=given, bound=bound)) == place


def test_an_unseen_caller_is_refused():
    text = 'import jax\ndef sync(x):\n    return jax.lax.pmean(x, "$0batch")\n'
    assert _refused(text) == [
        'an unknown caller may bind "batch" here',
        'main.py:3: jax.lax.pmean(x, "batch")',
    ]


def test_a_name_that_is_taken_is_refused_with_both_places():
    text = """
import jax
inner = jax.vmap(lambda x: jax.lax.psum(x, ("$0i", "j")), axis_name="j")
step = jax.pmap(inner, axis_name="i")
"""
    assert _refused(text, "j") == [
        '"j" is already bound where "i" is used',
        'main.py:3: jax.vmap(lambda x: jax.lax.psum(x, ("i", "j")), axis_name="j")',
        'main.py:3: jax.lax.psum(x, ("i", "j"))',
    ]


def test_a_mesh_axis_that_is_taken_is_refused():
    text = 'import jax\nmesh = jax.make_mesh((4, 2), ("$0data", "model"))\n'
    assert _refused(text, "model") == [
        'the mesh already has an axis "model"',
        'main.py:2: jax.make_mesh((4, 2), ("data", "model"))',
    ]


def test_nothing_to_rename():
    assert _refused("import jax\nx = '$0batch'\n") == ["there is no axis name here"]
    assert _refused(BOUND.format(default="", given="$0PARTS", bound='"ba"')) == ["this is a variable, not an axis name"]


@pytest.mark.deep
def test_broken_code_does_not_raise():
    whole = TRAINER["main.py"]
    for cut in range(0, len(whole), 7):
        for text in (whole[:cut] + "$0" + whole[cut:].replace("$0", ""), whole.replace("$0", "")[:cut] + "$0"):
            _, view, offset = opened({**TRAINER, "main.py": text})
            assert isinstance(rename(view, offset, "data"), Renaming | Refused)
            assert isinstance(prepare(view, offset), Renamable | Refused)


MESHES = """
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

SPEC = P("model")

def train(x):
    mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "$0model"))
    print(mesh.shape["model"], {"model": 1})
    return jax.device_put(x, NamedSharding(mesh, P("data")))

def serve(x):
    mesh = Mesh(np.array(jax.devices()), ("OTHER",))
    return jax.device_put(x, NamedSharding(mesh, P("OTHER")))
"""


def test_a_spec_without_a_mesh_goes_with_the_only_axis_that_it_can_mean():
    after = _asked({"main.py": MESHES}, "tensor")
    assert isinstance(after, dict), after
    lines = after["main.py"].splitlines()
    assert 'SPEC = P("tensor")' in lines
    assert '    print(mesh.shape["tensor"], {"model": 1})' in lines


def test_a_spec_that_may_mean_two_axes_is_refused():
    message, spec, *axes = _refused(MESHES.replace("OTHER", "model"), "tensor")
    assert (message, spec) == ('this may be any of 2 axes named "model"', 'main.py:6: "model"')
    assert len(axes) == 2


def test_a_method_that_a_map_may_call_unseen_is_refused():
    text = """
import jax

class Model:
    def loss(self, x):
        return jax.lax.pmean(x, "batch")

@jax.jit
def main(model, x):
    def step(x):
        return jax.lax.psum(model.loss(x), "$0batch")
    return jax.pmap(step, axis_name="batch")(x)
"""
    assert _refused(text) == [
        'a map that binds "batch" may call this, but no such call was found',
        'main.py:6: jax.lax.pmean(x, "batch")',
    ]
