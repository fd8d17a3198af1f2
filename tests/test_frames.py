"""Code frames: the carets are under the text they point at, whatever characters a line holds."""

from __future__ import annotations

import pytest

from meshlens.cli.formats import as_full
from meshlens.cli.formats.frames import visible, width
from meshlens.cli.printing.report import Place, ReportedFix
from reports import report_of, reported


def _full(text, *findings):
    return as_full.render(report_of(*findings, text=text)).splitlines()


def test_a_frame():
    related = (
        ("mapped here", Place("/p/a.py", None, (1, 1), (1, 2))),
        ("bound here", Place("/p/b.py", None, (2, 1), (2, 4))),
    )
    fix = ReportedFix('use "batch"', "safe", "", ())
    assert _full("a\n    b\n    cccc d\n", reported(related=related, fix=fix)) == [
        "error[AX101] unbound-axis: m",
        " --> /p/a.py:3:5",
        "  │",
        "1 │ a",
        "  │ - mapped here",
        "2 │     b",
        "3 │     cccc d",
        "  │     ^^^^",
        " ::: /p/b.py:2:1",
        "  │",
        "2 │     b",
        "  │ --- bound here",
        '  = help: use "batch"  (--fix)',
        "",
        "Found 1 error. 1 fixable with --fix.",
    ]


@pytest.mark.parametrize(
    ("safety", "how"), [("safe", "--fix"), ("unsafe", "--unsafe-fixes"), ("suggestion", "in the editor")]
)
def test_a_fix_says_who_makes_it(safety, how):
    fix = ReportedFix('use "batch"', safety, "", ())
    assert f'  = help: use "batch"  ({how})' in _full("\n\n    cccc\n", reported(fix=fix))


@pytest.mark.parametrize(
    ("line", "start", "end", "shown", "carets"),
    [
        ("\tab = c", 7, 8, "    ab = c", "         ^"),
        ("a\tb", 3, 4, "a   b", "    ^"),
        ('s = "数据", x', 11, 12, 's = "数据", x', "            ^"),
        ('s = "数据"', 6, 8, 's = "数据"', "     ^^^^"),
        ("é = x", 5, 6, "é = x", "    ^"),
        ("e\u0301 = x", 6, 7, "e\u0301 = x", "    ^"),
        ("🎉 = x", 5, 6, "🎉 = x", "     ^"),
        ("a\x1b[31m = x", 9, 10, "a␛[31m = x", "        ^"),
        ("x", 2, 2, "x", " ^"),
    ],
)
def test_carets_stand_under_what_they_mean(line, start, end, shown, carets):
    lines = _full(line, reported(start=(1, start), end=(1, end)))
    assert lines[3:5] == [f"1 │ {shown}", f"  │ {carets}"]


def test_many_lines():
    lines = _full("a = f(\n    1,\n    2,\n)\n", reported(start=(1, 5), end=(4, 2)))
    assert lines[2:9] == [
        "  │",
        "1 │   a = f(",
        "  │ ┌─────^",
        "2 │ │     1,",
        "3 │ │     2,",
        "4 │ │ )",
        "  │ └─^",
    ]


def test_very_many_lines_are_left_out():
    text = "\n".join(["f("] + [f"    {number}," for number in range(100)] + [")"])
    lines = _full(text, reported(start=(1, 1), end=(102, 2)))
    assert len(lines) < 16
    assert any(line.endswith("⋮") for line in lines)


def test_long_lines_are_cut_around_what_is_meant():
    line = "x = [" + "1, " * 500 + "here, " + "2, " * 500 + "]"
    start = line.index("here") + 1
    shown = _full(line, reported(start=(1, start), end=(1, start + 4)))
    code, carets = shown[3], shown[4]
    assert len(code) < 170
    assert code[carets.index("^") :].startswith("here")
    assert code[4] == code[-1] == "…"
    assert carets.count("^") == 4


def test_places_past_the_end_of_a_file_do_no_harm():
    assert _full("", reported(start=(9, 9), end=(9, 12)))


def test_what_is_shown_cannot_command_a_terminal():
    assert visible("\x1b]0;x\x07\u202e") == "␛]0;x␇\ufffd"
    assert width("数a🎉é") == 6
