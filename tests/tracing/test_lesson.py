"""The tour's lesson on traces: an all-gather that nobody wrote is found, and one word removes it."""

from pathlib import Path

import pytest

from tracing.releases import VERSION

pytestmark = pytest.mark.jax
LESSON = Path(__file__).parents[2] / "docs" / "tour" / "12_a_hidden_all_gather.py"


def test_the_gather_stands_at_its_line_and_goes_with_the_axis_in_the_constraint(traced, tmp_path):
    found = traced(LESSON, devices="4x2")
    gathered = [one for one in found.collectives if one.kind == "all-gather"]
    lines = LESSON.read_text("utf-8").splitlines()
    # GSPMD in JAX 0.4 also gathers the activations for the next line.
    further = [] if VERSION >= (0, 6) else ['return jax.nn.gelu(hidden) @ params["out"]']
    written = 'sharded(x @ params["in"], "data")'
    assert [lines[one.place.row - 1].strip() for one in gathered] == [*further, f"hidden = {written}"]
    # The whole weight matrix in float32, which XLA's compiler for GPUs gathers as well.
    assert (gathered[-1].axes, gathered[-1].bytes) == (("model",), 512 * 2048 * 4)
    repaired = tmp_path / "repaired.py"
    text = LESSON.read_text("utf-8")
    assert written in text
    repaired.write_text(text.replace(written, 'sharded(x @ params["in"], "data", None, "model")'))
    after = traced(repaired, devices="4x2")
    assert not after.errors
    assert {one.kind for one in after.collectives} == {"all-reduce"}
    assert dict(after.totals)["all-reduce"] == dict(found.totals)["all-reduce"]


def test_a_line_shows_what_it_hands_on_and_not_what_its_gradient_needs(traced):
    lines = LESSON.read_text("utf-8").splitlines()
    shapes = {lines[one.place.row - 1].strip(): one.shape for one in traced(LESSON, devices="4x2").lines}
    (softmax,) = (shape for line, shape in shapes.items() if line.startswith("weights = jax.nn.softmax("))
    assert softmax[-1] == softmax[-2] > 1
