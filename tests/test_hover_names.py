"""Names in other people's code stay plain text in Markdown."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from meshlens.cli.formats.json_text import json_text
from meshlens.ide.hovering.prose import Prose, as_text
from meshlens.ide.naming.outside import OutsideAxis, outside_text
from meshlens.lsp.handlers.watched_files import PATTERNS
from meshlens.project.jedi_bridge import Found
from meshlens.project.settings.jax_locks import LOCKS
from meshlens.text import Span

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


@pytest.mark.parametrize("name", [PICTURE, f"a\n\n{PICTURE}", "a](https://example.org)[b", "<img src=x>", "\x1b[2J"])
def test_a_name_in_a_sentence_or_a_label_makes_no_link_and_no_picture(name: str):
    found = Found(Path("/x", name.replace("/", "|")), Span(0, 1), 1, (name,), "")
    said = outside_text(OutsideAxis(Span(0, 1), "package.AXIS"), found)
    for text in (as_text(name), said.replace("\n\n", "")):
        assert text.isprintable()
        assert not re.search(r"(?<!\\)[\[\]<]", text)


def test_json_holds_no_character_that_commands_a_terminal_or_turns_text():
    names = ["a\x9b2Jb", "a\u202eb", "a\x7fb", "a\udc80b", "µ日本"]
    text = json_text(names)
    assert json.loads(text) == names
    assert "µ日本" in text
    assert all(one.isprintable() for one in text.splitlines())


def test_every_lock_that_is_read_is_watched():
    assert all(lock in PATTERNS[1] for lock in LOCKS)
