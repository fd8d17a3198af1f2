"""Programs of many kinds: what they move between eight devices, and on which lines."""

from pathlib import Path

import pytest

from meshlens.tracing.model import Place

pytestmark = pytest.mark.jax


def row_of(program, text):
    """The first line of a program that holds a text."""
    lines = program.read_text("utf-8").splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def test_data_parallelism_reduces_each_gradient_where_it_is_computed(traced):
    found = traced("data_parallel.py")
    assert not found.errors
    assert (found.level, found.mesh, found.devices) == ("partitioned", (("data", 8),), 8)
    # Every parameter once, and the loss: float32 of 256×1024 + 1024 + 1024×1024 + 1024 + 1024×64 + 64 and 1.
    parameters = 256 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 64 + 64
    assert dict(found.totals)["all-reduce"].bytes == 4 * (parameters + 1)
    assert {one.axes for one in found.collectives} == {("data",)}
    assert all(one.place is not None for one in found.collectives)


def test_what_a_line_computes_and_how_it_is_sharded(traced):
    found = traced("tensor_parallel.py")
    lines = {line.place.row: line for line in found.lines}
    program = found.lines[0].place.filename
    assert lines[row_of(Path(program), "q = jnp.einsum")].sharding == "P(None, None, 'model')"


def test_the_files_that_were_read(traced):
    found = traced("fsdp.py")
    assert [file.path.rpartition("/")[2] for file in found.files] == ["fsdp.py"]
    assert Place(found.files[0].path, found.files[0].rows[0]) in {line.place for line in found.lines}
