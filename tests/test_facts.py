"""The facts that `facts` makes of small programs, of their layout, and of text that is not a program at all."""

from __future__ import annotations

import ast
import sys
import warnings
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import depth
from depth import examples
from meshlens.facts.extract import extract
from meshlens.facts.lower.strings import unescape
from meshlens.facts.model import FileFacts


def bare(facts: FileFacts, key: str) -> Any:
    """Returns the shape of a block, with nested blocks in place and without sites."""

    def strip(shape: Any) -> Any:
        if not isinstance(shape, tuple):
            return shape
        if shape[:1] == ("def",):
            return ("fn", strip(facts.blocks[shape[2]].shape))
        if shape[:1] == ("const",):
            return ("const", shape[2])
        return tuple(strip(part) for at, part in enumerate(shape) if not (at and type(part) is int))

    return strip(facts.blocks[key].shape)


def only(source: str) -> Any:
    facts = extract(source.encode())
    assert len(facts.top) == 1
    return bare(facts, facts.top[0])


def expr(source: str) -> Any:
    tag, shape = only(source)
    assert tag == "expr"
    return shape


A, B, C = ("name", "a"), ("name", "b"), ("name", "c")


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ("(await (a))", A),
        ("a not   in b is not c", ("cmp", ("not in", "is not"), (A, B, C))),
        ("a and b and c", ("bool", "and", (A, B, C))),
        ("a and (b and c)", ("bool", "and", (A, ("bool", "and", (B, C))))),
        ("a,", ("tuple", (A,))),
        ("a[b,]", ("sub", A, ("tuple", (B,)))),
        ("a[*b]", ("sub", A, ("tuple", (("star", B),)))),
        ("a[:b, ::c]", ("sub", A, ("tuple", (("slice", None, B, None), ("slice", None, None, C))))),
        ("[*a(b)]", ("list", (("star", ("call", A, ((None, B),))),))),
        ("{'k': a, **b}", ("dict", ((("const", "k"), A), (None, B)))),
        ("a(*b, k=c, **b)", ("call", A, (("*", B), ("k", C), ("**", B)))),
        ("a(b for b in c)", ("call", A, ((None, ("comp", "gen", B, ((B, C, ()),))),))),
        ("{a: b for a, b in c if a if b}", ("comp", "dict", (A, B), ((("tuple", (A, B)), C, (A, B)),))),
        ("'a' \"\\x62\\n\" r'\\c'", ("const", "ab\n\\c")),
        ("b'a'", ("opaque", ())),
        ("'a' b'b'", ("opaque", ())),
        ("1j", ("opaque", (("const", 1.0),))),
        ("0x_ff", ("const", 255)),
        ("f'{a}{{'", ("fstr", (A, ("const", "{")))),
        ("f'{a!r}{b:>{a}}{c=}'", ("fstr", (("opaque", (A,)), ("opaque", (B, A)), ("opaque", (C,))))),
        ("'x' f'{a}'", ("fstr", (("const", "x"), A))),
        ("(a := b)", ("walrus", "a", B)),
        (
            "lambda a, /, *b, c=a: c",
            ("lambda", (("a", "only", None, None), ("b", "*", None, None), ("c", "key", A, None)), C),
        ),
        ("...", ("const", ...)),
        ("-a ** b", ("unary", "-", ("bin", "**", A, B))),
        ("a if b else c", ("ifexp", B, A, C)),
    ],
)  # fmt: skip
def test_expressions(source: str, shape: Any) -> None:
    assert expr(source) == shape


@pytest.mark.parametrize(
    ("source", "shape"),
    [
        ("a = b, = c", ("assign", (A, ("tuple", (B,))), C)),
        ("(a) = b", ("assign", (A,), B)),
        ("a: b[c] | None = c", ("ann", A, ("bin", "|", ("sub", B, C), ("const", None)), C)),
        ("a: 'b'", ("ann", A, ("const", "b"), None)),
        ("a @= b", ("aug", A, "@", B)),
        ("type a[T] = b", ("assign", (A,), B)),
        ("type(a).b = c", ("assign", (("opaque", (("attr", A, "b"),)),), C)),
        ("with (a as b, c): pass", ("with", ((A, B), (C, None)), (("pass",),))),
        ("with (a,): pass", ("with", ((A, None),), (("pass",),))),
        ("async for a in b: pass\nelse: c", ("for", A, B, (("pass",),), (("expr", C),))),
        (
            "try: a\nexcept* b as e: c\nfinally: a",
            ("try", (("expr", A),), ((B, "e", (("expr", C),)),), (), (("expr", A),)),
        ),
        ("if a: pass\nelif b: a\nelse: c", ("if", A, (("pass",),), (("if", B, (("expr", A),), (("expr", C),)),))),
        (
            "match a:\n case b if c: pass\n case _: pass",
            ("match", A, ((B, C, (("pass",),)), (("name", "_"), None, (("pass",),)))),
        ),
        ("import a.b as c, d", ("import", (("a.b", "c"), ("d", None)))),
        ("print a", ("expr", ("opaque", (A,)))),
        ("del a, b", ("del", (A, B))),
        ("class a(b, metaclass=c): pass", ("class", "a", ((None, B), ("metaclass", C)), (), (("pass",),))),
        (
            "@a\nasync def f[T](a: b = c, *, b): yield",
            ("fn", ("f", (("a", "any", C, B), ("b", "key", None, None)), (A,), (("expr", ("yield", None)),),
                    frozenset({"async", "generator"}))),
        ),
    ],
)  # fmt: skip
def test_statements(source: str, shape: Any) -> None:
    assert only(source) == shape


def test_a_relative_import_has_a_level() -> None:
    facts = extract(b"from ..a.b import (c as d, e,)\nfrom . import *\n")
    first, second = (facts.blocks[key].shape for key in facts.top)
    assert first[2:4] == (2, "a.b") and [name[:2] for name in first[4]] == [("c", "d"), ("e", None)]
    assert second[2:4] == (1, "") and second[4][0][:2] == ("*", None)


SOURCE = b"""\
import a

class C:
    x = 1
    @a.b
    def f(self): return 1  # one

    class D:
        def g(self): return 2

    def f(self):
        return 3
def h(): pass
x = 1
x = 1
"""


def test_blocks() -> None:
    facts = extract(SOURCE)
    assert [key for key in facts.top if not key.startswith("=")] == ["C", "h"]
    assert [key for key in facts.blocks if not key.startswith("=")] == ["C.f", "C.D.g", "C.f~2", "C", "h"]
    assert facts.top[-1] == facts.top[-2] + "~2"
    whole = {key: SOURCE[slice(*block.span(0))] for key, block in facts.blocks.items()}
    assert whole["C.f"] == b"@a.b\n    def f(self): return 1  # one"
    assert whole["C"].startswith(b"class C") and whole["C"].endswith(b"return 3")
    assert whole["h"] == b"def h(): pass"
    members = {member[2]: member[1] for member in facts.blocks["C"].shape[6] if member[0] == "def"}
    assert {key: SOURCE[slice(*facts.span("C", site))] for key, site in members.items()} == {
        key: whole[key] for key in ("C.f", "C.f~2")
    }


def test_a_long_function_gives_its_inner_functions_away() -> None:
    filler = "    pass\n" * 60
    facts = extract(f"def f():\n    def g(): pass\n{filler}    @a\n    def h():\n        def i(): pass\n".encode())
    assert set(facts.blocks) == {"f", "f.g", "f.h"}
    assert set(extract(b"def f():\n    def g(): pass\n").blocks) == {"f"}


def test_layout_and_comments_are_not_in_the_shape() -> None:
    some = extract(b"def f(a,b):\n  return (a+b)  # sum\n").blocks["f"]
    other = extract(b"\n\ndef f(a,  # first\n      b,\n):\n    # sum\n    return a \\\n        + b\n").blocks["f"]
    assert some.shape == other.shape


@pytest.mark.parametrize("change", [(b"\n", b"\r\n"), (b"\n", b"\r"), (b"\nclass", b"\n\f\nclass"), (b"    ", b"\t")])
def test_line_ends_tabs_and_form_feeds_do_not_matter(change: tuple[bytes, bytes]) -> None:
    facts, other = extract(SOURCE), extract(SOURCE.replace(*change))
    assert not other.broken
    assert [facts.blocks[key].shape for key in facts.top[:3]] == [other.blocks[key].shape for key in other.top[:3]]


def test_a_byte_order_mark_keeps_its_bytes() -> None:
    source = b"\xef\xbb\xbfx = 1  # noqa\n"
    facts = extract(source)
    assert source[slice(*facts.span(facts.top[0], 0))] == b"x = 1"
    assert facts.suppressions[0].lines == (0, 0) and not facts.broken


@pytest.mark.parametrize(
    "source",
    depth.some([
        "(" * 5000 + ")" * 5000, "(" * 5000, "-" * 5000 + "a", "a" + ".b" * 5000, "a" + "(b)" * 5000, "a" + "+a" * 5000,
        "x = " * 3000 + "1", "if a: pass\n" + "elif a: pass\n" * 3000, "lambda: " * 2000 + "a", "[" * 3000 + "]" * 3000,
        "".join(" " * depth + "if a:\n" for depth in range(600)) + " " * 600 + "pass",
        "".join(" " * depth + "class A:\n" for depth in range(300)) + " " * 300 + "pass",
        "a: " + "a[b] | " * 2000 + "a", "f'" + "{f'" * 300 + "'}" * 300 + "'", "not " * 4000 + "a",
        "a if b else " * 2000 + "c",
    ], 4),
)  # fmt: skip
def test_nothing_is_too_deep(source: str) -> None:
    facts = extract(source.encode())

    def depth(shape: Any, level: int = 0) -> int:
        return max((depth(part, level + 1) for part in shape if isinstance(part, tuple)), default=level)

    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(5000)
    try:
        assert all(depth(block.shape) < 600 for block in facts.blocks.values())
    finally:
        sys.setrecursionlimit(limit)


@pytest.mark.parametrize(
    "name", "name const fstr attr call tuple bool unary bin cmp sub comp walrus star opaque hole expr assign fn".split()
)
def test_things_may_be_called_as_the_tags_of_nodes_are(name: str) -> None:
    source = f"def {name}({name}, b):\n    global c, {name}d\n    return psum(b, {name}=pmean({name}))\n"
    assert {"psum", "pmean"} <= set(extract(source.encode()).blocks[name].names)
    source = f"def f(b):\n    global {name}, c, d, e\n    {name} = psum(b)\n    return [b for {name} in pmean]\n"
    assert {"psum", "pmean"} <= set(extract(source.encode()).blocks["f"].names)
    source = f"@{name}.{name}\nclass {name}({name}=psum):\n    {name}: {name} = pmean\n"
    (block,) = extract(source.encode()).blocks.values()
    assert {"psum", "pmean"} <= set(block.names)


@pytest.mark.parametrize("filled", ["x:=>8", "x:=<{w}", "x[0]:=^+8", "f(x):==8", "x!r:=>8", "x:=8"])
def test_a_format_that_fills_with_an_equals_sign_is_no_assignment(filled: str) -> None:
    source = f'text = f"{{{filled}}}"\nx = 1\n'
    ast.parse(source)
    facts = extract(source.encode())
    assert not facts.broken
    assert "walrus" not in repr([bare(facts, key) for key in facts.top])
    facts = extract(b'text = f"{(x := 8)}"\n')
    assert "walrus" in repr(bare(facts, facts.top[0]))


def test_broken_code_keeps_its_whole_statements() -> None:
    facts = extract(b"import a\nx = a(1)\ndef f(:\n    y = 1\nz = (\n")
    shapes = [bare(facts, key) for key in facts.top]
    assert ("import", (("a", None),)) in shapes
    assert facts.broken


@given(st.text(st.sampled_from('\\\n"abfnrtvxuUN{}01789DIGT ONEé'), max_size=12))
@settings(max_examples=examples(500))
def test_strings_have_the_value_that_python_gives(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = ast.literal_eval(f"'''{text}'''")
        except (SyntaxError, ValueError):
            return
    if isinstance(value, str):
        assert unescape(text) == value


_PIECES = [SOURCE, b"def f(", b")", b"\0", b"\xff", b"'''", b"class A:\n", b"    def g(self):\n", b"f'{a", b"\\\n"]
_CORRUPTIONS = st.lists(st.tuples(st.integers(0, len(SOURCE)), st.integers(0, 9), st.sampled_from(_PIECES)), max_size=4)
_MEMO: dict[Any, Any] = {}


def corrupted(changes: list[tuple[int, int, bytes]]) -> bytes:
    source = SOURCE
    for at, gone, new in changes:
        source = source[:at] + new + source[at + gone :]
    return source


@given(_CORRUPTIONS.map(corrupted) | st.binary(max_size=60))
@settings(max_examples=examples(300), deadline=None)
def test_any_bytes_give_facts_and_a_memo_changes_nothing(source: bytes) -> None:
    facts = extract(source)
    assert facts == extract(source, _MEMO)
    for block in facts.blocks.values():
        assert len(block.spans) % 2 == 0
        for site in range(len(block.spans) // 2):
            start, end = block.span(site)
            assert 0 <= start <= end <= len(source)


@pytest.mark.parametrize(
    ("source", "codes", "lines"),
    [
        ("x = 1  # noqa", (), (0, 0)),
        ("x = 1  # NOQA: E501, ax101,AX202 why", ("AX101", "AX202"), (0, 0)),
        ("x = f(\n  1,  # meshlens: ignore[unbound-axis, AX101]\n)", ("unbound-axis", "AX101"), (0, 2)),
        ("if a:\n  # meshlens: ignore\n\n  # more\n  f(\n  )\n", (), (4, 5)),
        ("def f(\n  a):  # meshlens: ignore\n  pass", (), (0, 1)),
        ("for a in b:\n  pass\nelse:  # noqa\n  pass", (), (2, 2)),
        ("@a(  # noqa\n)\ndef f(): pass", (), (0, 1)),
        ("x = '''\n'''  # meshlens: ignore", (), (0, 1)),
        ("# meshlens: ignore", (), (0, 0)),
    ],
)
def test_suppressions(source: str, codes: tuple[str, ...], lines: tuple[int, int]) -> None:
    (found,) = extract(source.encode()).suppressions
    assert (found.codes, found.lines, found.whole_file) == (codes, lines, False)


def test_suppressions_of_others_and_in_strings_do_not_count() -> None:
    source = b"x = '# noqa'\ny = 1  # noqa: E501\nnoqa = 1 # noqasomething\n# meshlens: ignored\n"
    assert extract(source).suppressions == ()


def test_a_suppression_spans_its_own_part_of_a_comment() -> None:
    source = "x = 'é'  # other  # noqa: AX101 because # meshlens: ignore-file[AX1]\n# meshlens: devices=2x4\n".encode()
    facts = extract(source)
    assert [source[slice(*found.span)] for found in facts.suppressions] == [
        b"# noqa: AX101 because",
        b"# meshlens: ignore-file[AX1]",
    ]
    assert [found.whole_file for found in facts.suppressions] == [False, True]
    assert facts.devices == ("2x4", "comment")
