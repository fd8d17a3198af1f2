"""How a block of statements ends, and the variables after two paths meet."""

from __future__ import annotations

from meshlens.axes.domain.joining import join
from meshlens.axes.domain.values import Value

RETURNED = "return"
LEFT_LOOP = "break"
NEXT_TURN = "continue"
RAISED = "raise"
SKIPPED = "skip"
"""A test ends here without failing, as after `pytest.skip()`."""


def joined(left: dict[str, Value], right: dict[str, Value]) -> dict[str, Value]:
    """Returns the variables after two paths meet; a variable set on only one path keeps its value."""
    result = dict(left)
    for name, value in right.items():
        known = left.get(name)
        if known is not value:
            result[name] = value if known is None else join(known, value)
    return result
