"""The case language: reads what its reference describes, and writes what it reads."""

from __future__ import annotations

import pytest

import dsl

TEXT = """\
# outer

`devices: 8`, `jax-version: 0.9.2`

Prose before code.

## first

`sync.py`:

```python
import jax

def sync(x):  # axes: batch | none
    return jax.lax.psum(x, "b")
    #                      ^^^ AX101: one; \\
    # two
```

```toml
devices = 4
```

becomes

`sync.py`:

```python
done
```

## second

`devices: 2`

````python
call(
#<^^^... AX202: over lines
    1
)
````

```text
prose
```
"""


def test_a_section_with_code_is_a_case():
    first, second = dsl.parse(TEXT)
    assert (first.name, second.name) == ("outer / first", "outer / second")
    assert dict(first.settings) == {"devices": "8", "jax-version": "0.9.2"}
    assert dict(second.settings) == {"devices": "2", "jax-version": "0.9.2"}


def test_marks_are_taken_out_and_kept():
    first, second = dsl.parse(TEXT)
    sync, settings = first.before
    assert sync.text == 'import jax\n\ndef sync(x):\n    return jax.lax.psum(x, "b")\n'
    assert sync.marks == (dsl.Mark(3, 27, 30, "AX101", "one; two"),)
    assert sync.axes == (dsl.Axes(2, frozenset({"batch", "none"})),)
    assert (settings.name, settings.text) == ("meshlens.toml", "devices = 4\n")
    assert second.before[0].marks == (dsl.Mark(0, 0, 5, "AX202", "over lines", continues=True),)


def test_becomes_begins_the_result():
    first, second = dsl.parse(TEXT)
    assert first.after is not None
    assert [file.text for file in first.after] == ["done\n"]
    assert second.after is None


def test_rewriting_with_what_was_read_changes_only_the_layout_of_marks():
    cases = dsl.parse(TEXT)
    files = [file for case in cases for file in (*case.before, *(case.after or ()))]
    again = dsl.replaced(TEXT, [(file.lines, dsl.render(file)) for file in files])
    assert dsl.parse(again)[0].before[0].marks == cases[0].before[0].marks
    assert again.replace("AX101: one; two", "AX101: one; \\\n    # two") == TEXT


@pytest.mark.parametrize("line", ["    return f(x, y, z)", "return f(x, y, z)"])
def test_a_mark_that_is_too_long_continues_on_further_lines(line):
    mark = dsl.Mark(0, len(line) - 10, len(line), "AX101", "one of many words, " * 6 + "and the last")
    written = dsl.render(dsl.File("main.py", line, (mark,)), 60)
    assert len(written) > 3
    assert max(map(len, written)) <= 60
    assert dsl.read_marks(written).marks == (mark,)


def test_a_mark_in_the_first_column_continues_too():
    mark = dsl.Mark(0, 0, 9, "AX101", "one of many words, " * 6 + "and the last")
    written = dsl.render(dsl.File("main.py", "f(x, y, z)", (mark,)), 60)
    assert written[2].startswith("# ")
    assert dsl.read_marks(written).marks == (mark,)


def test_a_second_fence_without_a_name_is_another_case():
    cases = dsl.parse("# a\n```python\n1\n```\nbecomes\n```python\n2\n```\nand\n```python\n3\n```\n")
    assert [(case.name, case.before[0].text, case.after is None) for case in cases] == [
        ("a", "1\n", False),
        ("a (2)", "3\n", True),
    ]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("```python\n", "not closed"),
        ("`a.py`:\n```python\n```\n`a.py`:\n```python\n```\n", 'a second "a.py"'),
        ("# a\n```python\n```\nbecomes\n", 'nothing follows "becomes"'),
        ("# a\n```python\n```\n# a\n```python\n```\n", 'two sections are called "a"'),
        ("# a\n```python\n```\n```hover\n```\n", r'no "\$0" in "a"'),
    ],
)
def test_a_careless_case_is_refused(text, complaint):
    with pytest.raises(ValueError, match=complaint):
        dsl.parse(text)


def test_cursors_are_taken_out_and_kept():
    text = "# a\n```python\nf$0(x)$0\n```\n```hover\nsays\n---\nnothing\n```\n"
    [case] = dsl.parse(text)
    assert (case.before[0].text, case.before[0].cursors) == ("f(x)\n", (1, 4))
    assert [(output.feature, output.text) for output in case.outputs] == [("hover", "says\n---\nnothing")]
    assert dsl.replaced(text, [(file.lines, dsl.render(file)) for file in case.before]) == text
    assert dsl.replaced(text, [(case.outputs[0].lines, ["x"])]) == text.replace("says\n---\nnothing", "x")
