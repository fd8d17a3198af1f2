"""Names in code that others wrote stay text in Markdown."""

from __future__ import annotations

import re
from typing import Any

import pytest

from meshlens.ide.prose import Prose

PICTURE = "![x](https://example.org/x.png)"


@pytest.mark.parametrize(
    "name",
    [
        "batch",
        f"a\n\n{PICTURE}",
        f"a\r\n\r\n{PICTURE}",
        f"a`{PICTURE}",
        f"a``{PICTURE}``",
        f"`{PICTURE}`",
        "\u2028a\x1b[2J",
    ],
)
def test_a_name_stays_in_its_code_span(name: str):
    view: Any = None
    shown = Prose(view, "markdown").code(name)
    ticks = re.match("`+", shown)
    assert ticks is not None
    assert shown.isprintable()
    inside = shown[len(ticks[0]) : -len(ticks[0])]
    assert shown.endswith(ticks[0])
    assert ticks[0] not in re.findall("`+", inside), "a run of as many ticks would end the span"
    assert name != "batch" or shown == "`batch`"
