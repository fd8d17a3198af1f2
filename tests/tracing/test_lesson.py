"""The tour's lesson on traces: an all-gather that nobody wrote is found, and goes with one word."""

from pathlib import Path

import pytest

from tracing.releases import VERSION

pytestmark = pytest.mark.jax
LESSON = Path(__file__).parents[2] / "docs" / "tour" / "12_a_hidden_all_gather.py"


def test_the_gather_stands_at_its_line_and_goes_with_the_axis_in_the_constraint(traced, tmp_path):
    found = traced(LESSON, devices="4x2")
    gathered = [one for one in found.collectives if one.kind == "all-gather"]
    lines = LESSON.read_text("utf-8").splitlines()
    assert [lines[one.place.row - 1].strip() for one in gathered] == [
        'hidden = jax.nn.gelu(x @ params["in"])',
        'return hidden @ params["out"]',
    ]
    assert {one.axes for one in gathered} == {("model",)}
    # float32 of 32 / 4 rows, 128 positions and all 2048 columns; GSPMD of JAX 0.4 gathers it twice.
    assert gathered[0].bytes == (1 if VERSION >= (0, 6) else 2) * 8 * 128 * 2048 * 4
    repaired = tmp_path / "repaired.py"
    text = LESSON.read_text("utf-8")
    assert 'sharded(hidden, "data")' in text
    repaired.write_text(text.replace('sharded(hidden, "data")', 'sharded(hidden, "data", None, "model")'))
    after = traced(repaired, devices="4x2")
    assert not after.errors
    assert {one.kind for one in after.collectives} == {"all-reduce"}
    assert dict(after.totals)["all-reduce"] == dict(found.totals)["all-reduce"]
