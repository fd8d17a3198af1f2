"""The table of releases in docs/trace.md is true for the installed JAX."""

import re
from pathlib import Path

import pytest

from tracing.releases import SINCE, VERSION

PAGE = Path(__file__).parents[2] / "docs" / "trace.md"
PROBES = {
    "levels `traced` and `partitioned`": lambda traced: (
        traced("data_parallel.py", level=1).level == "traced" and traced("data_parallel.py").level == "partitioned"
    ),
    "`pmap`": lambda traced: bool(traced("mapped.py").totals),
    "axes that a value varies over": lambda traced: any(line.varying for line in traced("ring.py").lines),
    "a `shard_map` over some axes of a mesh": lambda traced: not traced("partial_map.py").errors,
    "explicit axes": lambda traced: not traced("explicit_axes.py").errors,
    "gradients marked *backward* outside of loops and maps": lambda traced: any(
        one.backward for one in traced("data_parallel.py").collectives
    ),
}


@pytest.mark.jax
@pytest.mark.parametrize("feature", sorted(PROBES))
def test_a_feature_works_from_its_release_on(traced, feature):
    assert PROBES[feature](traced) == (SINCE[feature] <= VERSION)


def test_the_page_has_a_row_for_each_feature():
    table = PAGE.read_text("utf-8").split("\n### Releases of JAX\n")[1].split("\n### ")[0]
    head, _, *rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in re.findall(r"^\|.*\|$", table, re.M)]
    releases = [tuple(int(part) for part in cell.split(".")[:2]) for cell in head[1:]]
    expected = [
        [feature, *("yes" if oldest <= release else "" for release in releases)] for feature, oldest in SINCE.items()
    ]
    assert rows == expected
    assert PROBES.keys() <= SINCE.keys()
