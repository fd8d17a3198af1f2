"""Completion and related features where no case reaches: broken text everywhere, snippets in both places."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import depth
from features_while_typing import FEATURES
from meshlens.ide.completing.completion import CompletionWants, complete
from meshlens.ide.completing.tokens import arguments_at
from meshlens.ide.completing.typed import typed_at
from meshlens.ide.shown.call_hierarchy import incoming_calls, outgoing_calls, prepare_calls
from meshlens.ide.shown.inlay_hints import InlayHintsWanted, inlay_hints
from meshlens.ide.shown.symbols import document_symbols
from meshlens.project import snippets
from meshlens.project.snippets import Snippet, parse_snippets, read_snippets
from meshlens.project.view import FileView
from meshlens.project.workspace import open_workspace
from meshlens.text import Span

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

ROOT = Path(__file__).parents[1]
TOUR = sorted((ROOT / "docs" / "tour").rglob("*.py"))
WANTS = CompletionWants(placeholders=True, snippets=read_snippets())


def view_of(text: str) -> FileView:
    path = Path("main.py").absolute()
    return open_workspace([path.parent], files=[path], overlay={path: text.encode()}).view(path)


def offered(text: str, wants: CompletionWants = WANTS, before: FileView | None = None) -> list[str]:
    """Returns what is inserted at the `$0` of a text."""
    head, _, tail = text.partition("$0")
    return [one.insert for one in complete(view_of(head + tail), len(head.encode()), wants, before)]


@pytest.mark.parametrize("path", depth.some(TOUR, 2), ids=lambda path: path.name)
def test_nothing_raises_wherever_the_cursor_is_and_the_text_ends(path: Path) -> None:
    source = path.read_bytes()
    workspace = open_workspace([path.parent], files=[path], devices=8)
    whole = workspace.view(path)
    for number, offset in enumerate(range(0, len(source), 7)):
        answers = complete(whole, offset, WANTS)
        assert all(one.span.start <= offset <= one.span.end for one in answers)
        assert all(b"\n" not in source[one.span.start : one.span.end] for one in answers)
        cut = workspace.with_file(path, source[:offset]).view(path)
        complete(cut, offset, WANTS)
        complete(cut, offset, WANTS, before=whole)
        if number % 4 == 0:
            for say in FEATURES.values():
                say(whole, offset)
                say(cut, offset)


def test_what_only_the_text_before_knows() -> None:
    whole = """\
import jax


def step(x):
    return jax.lax.psum(x, "")


f = jax.pmap(step, axis_name="batch")
"""
    broken = whole.replace('psum(x, "")', 'psum(x, "$0').replace("f = jax.pmap(step", "f = (jax.pmap(step,,")
    assert offered(broken, before=view_of(whole)) == ["batch"]


@pytest.mark.parametrize(
    ("call", "inserts"),
    [
        ("jax.pmap(step, in_axes=$0)", ["(${1:None}, ${2:0})"]),
        ("jax.pmap(step, in_axes=($0))", ["(${1:None}, ${2:0})"]),
        ("jax.pmap(step, in_axes=($0,))", []),
        ("jax.pmap(step, in_axes= $0)", ["(${1:None}, ${2:0})"]),
        ("jax.pmap(step, $0)", ['"data"']),
        ("jax.shard_map(step, mesh=mesh, in_specs=$0)", ['(${1:P()}, ${2:P("data")})']),
        ("jax.shard_map(step, mesh=mesh, in_specs=P('$0'))", ["data"]),
        ("jax.shard_map(step, mesh=mesh, axis_names={$0})", ['"data"']),
    ],
)
def test_calls_that_are_half_written(call: str, inserts: list[str]) -> None:
    text = f"""\
import jax
from jax.sharding import PartitionSpec as P

mesh = jax.make_mesh((8,), ("data",))


def step(params, x):
    return x


f = {call}
"""
    assert offered(text) == inserts


def test_names_of_a_line_that_goes_on_above() -> None:
    text = """\
import jax

f = jax.pmap(
    lambda x: jax.lax.pmean(  # the mean ) of "all"
        x,
        axis_name="$0",
    ),
    axis_name="row",
)
"""
    assert offered(text) == ["row"]


@pytest.mark.parametrize("ending", ["\r\n", "\r"])
def test_other_line_ends(ending: str) -> None:
    text = 'import jax\n\n\ndef f(x):\n    return jax.lax.psum(x, "$0")\n\n\ng = jax.pmap(f, axis_name="i")\n'
    assert offered(text.replace("\n", ending)) == ["i"]


def test_text_that_is_not_ascii() -> None:
    text = (
        'import jax\n\n\ndef größe(x):\n    return jax.lax.psum(x, "$0")\n\n\ng = jax.pmap(größe, axis_name="größe")\n'
    )
    assert offered(text) == ["größe"]


def test_arguments_as_they_are_written() -> None:
    source = b'f(a, lambda x, y=1: x, key=[1, 2], *rest, end={"a": 1} == b)'
    found = arguments_at(source, 1)
    texts = [(one.keyword, source[one.value.start : one.value.end].decode()) for one in found]
    assert texts == [
        (None, "a"),
        (None, "lambda x, y=1: x"),
        ("key", "[1, 2]"),
        (None, "*rest"),
        ("end", '{"a": 1} == b'),
    ]


def test_comments_are_no_part_of_arguments() -> None:
    source = b"f(  # it's first, and (open\n    a,  # then\n    # more\n    key=1  # last\n)"
    texts = [(one.keyword, source[one.value.start : one.value.end].decode()) for one in arguments_at(source, 1)]
    assert texts == [(None, "a"), ("key", "1")]


def test_arguments_end_where_the_next_statement_begins() -> None:
    source = b"f(a, key=\nreturn 1, 2)"
    assert len(arguments_at(source, 1)) == 2


def test_a_long_string_is_no_code() -> None:
    source = b'def f():\n    """One "quote, it\'s psum(x, "'
    assert typed_at(source, len(source)) is None
    assert typed_at(source + b' """\nf("', len(source) + 8) is not None


def test_hints_are_off_until_they_are_asked_for() -> None:
    view = view_of('import jax\n\nf = jax.vmap(lambda x: jax.lax.psum(x, "i"), axis_name="i", axis_size=3)\n')
    whole = Span(0, len(view.source))
    assert not inlay_hints(view, InlayHintsWanted(), whole)
    assert [hint.text for hint in inlay_hints(view, InlayHintsWanted(sizes=True), whole)] == ["= 3"]
    assert not inlay_hints(view, InlayHintsWanted(sizes=True), Span(0, 20))


def test_selections_lie_inside_their_spans() -> None:
    for path in TOUR:
        view = open_workspace([path.parent], files=[path], devices=8).view(path)
        for symbol in document_symbols(view):
            assert symbol.span.contains(symbol.selection)
        for found in re.finditer(rb"def (\w+)", view.source):
            for item in prepare_calls(view, found.start(1)):
                assert item.span.contains(item.selection)
                assert incoming_calls(view, item.site) is not None
                assert outgoing_calls(view, item.site) is not None


def test_a_wheel_holds_the_snippets_of_the_checkout() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    included = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    packaged = f"meshlens/snippets/{snippets.NAME}"
    [source] = [source for source, target in included.items() if target == packaged]
    assert read_snippets() == parse_snippets((ROOT / source).read_text("utf-8"))
    assert not (ROOT / "server" / packaged).exists(), "a copy in the checkout would grow stale"


def test_an_installed_package_brings_its_own_snippets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packaged = tmp_path / "snippets" / snippets.NAME
    packaged.parent.mkdir()
    packaged.write_text('{"one": {"prefix": "p", "description": "d", "body": "x"}}', "utf-8")
    monkeypatch.setattr(snippets, "files", lambda package: tmp_path)
    read_snippets.cache_clear()
    try:
        assert read_snippets() == (Snippet("one", "p", "d", "x"),)
    finally:
        read_snippets.cache_clear()


def test_placeholders_become_their_defaults() -> None:
    for snippet in read_snippets():
        assert "$" not in snippet.plain
    assert Snippet("", "", "", "${1:a}(${2:b[${3:c}]})$0").plain == "a(b[c])"


@pytest.mark.parametrize(
    ("written", "inserts"),
    [
        ("psum(x, ba$0)", ['"batch"']),
        ("psum(x, no$0)", []),
        ("psum(x, $0name)", []),
        ("psum(x, names[$0])", []),
        ('psum(x, names["$0"])', []),
        ('psum(x, f()("$0"))', []),
        ('psum(x, ["$0"])', ["batch"]),
        ("psum(x, 'ba$0')", ["batch"]),
        ("psum(x, rf'$0')", ["batch"]),
        ('psum(x + "$0", "batch")', []),
        ('psum(axis_name="batch", x=x, $0)', []),
    ],
)
def test_only_where_an_axis_is_asked_for(written: str, inserts: list[str]) -> None:
    text = f"""\
import functools
import jax


@functools.partial(jax.pmap, axis_name="batch")
def step(x):
    return jax.lax.{written}
"""
    assert offered(text) == inserts
