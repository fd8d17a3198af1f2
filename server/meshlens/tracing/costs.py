"""Lower bounds on time: a step's computation and communication, and which of the two takes longer."""

from __future__ import annotations

from dataclasses import replace

from meshlens.tracing.machines import Machine
from meshlens.tracing.model import Trace

_NEAR = 1.1


def with_times(trace: Trace, machine: Machine | None) -> Trace:
    """Returns a trace with minimum times for its operations and collectives, and the verdict.

    The collectives already have their times; nothing is added if no machine is known.
    """
    if machine is None or trace.level == "none":
        return trace
    moving = sum(one.seconds.lower_bound for one in trace.collectives if one.seconds is not None)
    computing = trace.flops / machine.flops
    return replace(trace, compute_seconds=computing, communication_seconds=moving, verdict=_verdict(computing, moving))


def _verdict(computing: float, moving: float) -> str:
    if not moving and not computing:
        return "no matrix products and no collectives"
    if not moving:
        return "no collectives"
    if moving > computing * _NEAR:
        return "communication-bound unless overlapped"
    if computing > moving * _NEAR:
        return "compute-bound if communication is overlapped"
    return "compute and communication take about the same time"
