"""Assembles the interpreter: gives each run the functions that evaluate, execute and call."""

from __future__ import annotations

from meshlens.axes.python.calls import invoke
from meshlens.axes.python.expressions import evaluate
from meshlens.axes.python.statements import run_block
from meshlens.axes.runs.run import Constructs, Run, World

CONSTRUCTS = Constructs(evaluate, run_block, invoke)


def new_run(world: World, path: str, name: str = "") -> Run:
    """Returns a fresh run.

    Args:
        world: the workspace.
        path: the file of the root.
        name: the name of the root's function, "" for the module's top level.
    """
    return Run(CONSTRUCTS, world, path, name)
