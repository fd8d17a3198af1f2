"""Random numbers that are the same on every device: notes where they meet data that differ between the devices."""

from __future__ import annotations

from typing import Any

from meshlens.axes.records import Context, RandomUse
from meshlens.axes.run import Run


def meet(run: Run, parts: tuple[frozenset[Any], ...], ctx: Context) -> None:
    """Notes the meeting of shared random numbers and differing data in an elementwise operation.

    Args:
        run: the run.
        parts: the labels of the values that are combined.
        ctx: the circumstances.
    """
    if not ctx.env.maps or not any("varying" in labels for labels in parts):
        return
    for labels in parts:
        if "varying" in labels:
            continue
        for label in labels:
            if isinstance(label, tuple) and label[0] == "drawn":
                run.records.random_uses.append(RandomUse(label[1], label[2], labels, ctx, "noise"))
