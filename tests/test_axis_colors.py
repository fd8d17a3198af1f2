"""One color for each axis name, and what the axis view draws for a cursor."""

from __future__ import annotations

from pathlib import Path

from meshlens.ide.shown.axis_colors import COLORS, axis_colors, colored_names
from meshlens.ide.shown.mesh_focus import Focus, focus_at
from meshlens.project.view import FileView
from meshlens.project.workspace import open_workspace

SOURCE = """\
import jax
from jax.sharding import NamedSharding, PartitionSpec as P

AXIS = "batch"
mesh = jax.make_mesh((4, 2), ("data", "model"))
sharding = NamedSharding(mesh, P("data", "model"))


def step(x, axis_name=AXIS):
    print("data")
    return jax.lax.pmean(x, axis_name)


def total(x):
    return jax.lax.psum(x, "model")


jax.pmap(step, axis_name=AXIS)(1)
jax.shard_map(total, mesh=mesh, in_specs=P("data", "model"), out_specs=P("data"))
"""


def view_of(source: str) -> FileView:
    path = Path("/project/main.py")
    return open_workspace([path.parent], files=[path], overlay={path: source.encode()}).view(path)


def focus(text: str, source: str = SOURCE) -> Focus | None:
    return focus_at(view_of(source), source.index(text) + 1)


def test_each_axis_has_a_color_of_its_own_in_strings_and_out():
    view = view_of(SOURCE)
    colors = axis_colors(view.solution)
    assert len({colors[name] for name in ("batch", "data", "model")}) == 3
    found = colored_names(view)
    assert all(one.color == colors[one.name] for one in found)
    written = [(view.source[slice(*one.span)].decode(), one.name) for one in found]
    assert ('"batch"', "batch") in written
    assert ("axis_name", "batch") in written
    assert ("AXIS", "batch") in written
    assert written.count(('"data"', "data")) == 4, "the string that is printed is none"


def test_more_names_than_colors_share_them():
    names = ", ".join(f'"a{number}"' for number in range(9))
    ones = ", ".join("1" for _ in range(9))
    view = view_of(f"import jax\nmesh = jax.make_mesh(({ones}), ({names}))\n")
    assert set(axis_colors(view.solution).values()) == set(range(COLORS))


def test_a_spec_is_drawn_over_its_mesh():
    found = focus('P("data", "model"))\n')
    assert found is not None
    assert [(axis.name, axis.size) for axis in found.axes] == [("data", 4), ("model", 2)]
    assert [text for text, _ in found.cells] == [f"[{row}, {column}]" for row in range(4) for column in range(2)]
    assert found.detail == "8 blocks, one on each device"


def test_a_collective_shows_which_devices_exchange():
    found = focus("psum(")
    assert found is not None
    assert [group for _, group in found.cells] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert found.detail == 'psum over "model": 4 groups of devices that communicate'


def test_nothing_is_drawn_for_anything_else():
    assert focus('print("data")') is None
    assert focus("pmean(") is None, "the number of devices is not known"
