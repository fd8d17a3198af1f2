"""The specs that were chosen by path for the leaves of a tree, where a call uses the tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from meshlens.axes.domain.map_values import Leaf
from meshlens.axes.domain.specs import specs_of_leaves
from meshlens.axes.domain.values import Spec, Value
from meshlens.axes.jax.compiled_calls import CALLED, RETURNED
from meshlens.axes.runs.records import ApiCall
from meshlens.jaxapi.meshes import TAKE_SPECS
from meshlens.project.solving.solution import Solution


class ChosenSpec(NamedTuple):
    """A spec with the leaf that it was chosen for, its mesh, and the call that uses it."""

    spec: Spec
    leaf: Leaf
    mesh: Value | None
    call: ApiCall


def chosen_specs(solution: Solution) -> Iterator[ChosenSpec]:
    """Yields the specs of leaves with a known rank, in all files."""
    for records in solution.by_file.values():
        for call in records.calls:
            if call.dotted in (CALLED, RETURNED) or call.dotted in TAKE_SPECS:
                for mesh, spec, leaf in specs_of_leaves([arg.value for arg in call.args], call.mesh):
                    yield ChosenSpec(spec, leaf, mesh, call)
