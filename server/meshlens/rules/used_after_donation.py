"""An array is read after it was donated to a call, or a call donates it twice.

`donate_argnums` and `donate_argnames` let `jit` and `pmap` reuse the memory of arguments for results. The call deletes
the donated arrays, and reading one of them raises `RuntimeError: Array has been deleted with shape=float32[4].`
Read what the call returns, read the argument before the call, or do not donate it.
A call that donates the same array twice also fails: `Attempt to donate the same buffer twice in Execute()`; pass a copy
as one of the arguments (`jax.tree.map(jnp.copy, params)`).
JAX copies a NumPy array to the devices and leaves the original intact, so the rule reports only arrays that come from
JAX.
A variable or attribute that keeps the arrays of an argument, such as the best parameters so far or a target network,
loses them when the argument is donated. The rule reports the line that keeps them if they are read after the donation.

```python
import jax
import jax.numpy as jnp


def step(state, x):
    return state + x


step = jax.jit(step, donate_argnums=0)


def train(batches):
    state = jnp.zeros(4)
    for x in batches:
        new = step(state, x)
        print(jnp.abs(new - state).max())
        #                   ^^^^^ AX212: "state" was donated, so its arrays are deleted
        state = new
    return state


train([jnp.ones(4), jnp.ones(4)])
```
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, TypeAlias

from meshlens.axes.domain.values import Arg, Const, Instance, Seq, Site
from meshlens.axes.jax.compiled_calls import ARRAYS_OF_JAX, DONATES, MAY_BE_LEFT, OF_JAX
from meshlens.axes.runs.records import ApiCall
from meshlens.checking.kept_arrays import BlockPlace, followed, holds_what_it_is_given
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.reading_after import are_aliases, is_bound_before, key_of, read_after
from meshlens.checking.registry import rule
from meshlens.facts.nodes import (
    AnnAssign,
    Assign,
    Attribute,
    BinaryOperation,
    Call,
    ClassDef,
    Constant,
    DictDisplay,
    Expression,
    FunctionDef,
    IfExpression,
    Lambda,
    ListDisplay,
    Name,
    Return,
    Subscript,
    TupleDisplay,
)
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.solving.solution import Solution
from meshlens.project.trees import Node, path_to, tree, walk
from meshlens.project.view import FileView
from meshlens.rules.helpers.renames import spelled
from meshlens.text import Edit, FileEdit, Span

_LIBRARIES = ("jax.", "flax.", "optax.", "haiku.", "equinox.")
_MAYBE_NUMPY = frozenset({"jax.device_get", "jax.eval_shape", "flax.training.common_utils.shard"})
_PLACES = ("jax.device_put", "jax.make_array_from_callback", "jax.make_array_from_process_local_data")
_TREE_MAPS = frozenset({"jax.tree.map", "jax.tree_util.tree_map", "jax.tree_map"})
_Above: TypeAlias = Mapping[tuple[str, str], bool]
_NOTHING: _Above = {}
_CERTAIN = frozenset({OF_JAX, ARRAYS_OF_JAX})
"""The labels of arguments whose arrays certainly come from JAX."""
_DEEPEST = 6
"""Maximum number of variables and functions that are followed."""


@rule("AX212", Severity.WARNING)
def used_after_donation(view: FileView) -> Iterator[Finding]:
    """Follows donated variables from each call to the next place that reads them, in the same function or a caller."""
    donating = view.solution.once_of_records("donating calls", _donating)
    if str(view.path) not in donating.paths and str(view.path) not in _keepers(view, donating):
        return
    sources = _Sources(view)
    told: set[Span] = set()
    others: list[ApiCall] = []
    for call in donating.calls:
        findings = [*_donated_twice(view, sources, call), *_made_of_one(view, sources, call)]
        for arg in call.args:
            found = _read_after(view, sources, call, arg) if not _is_left(call, arg, donating.left) else None
            if found is not None:
                findings.append(found)
                break
        yield from findings
        told.update(one.span for one in findings)
        others += [call] if not findings else []
    yield from _kept(view, sources, donating._replace(calls=others), told)


def _is_left(call: ApiCall, arg: Arg, left: Collection[tuple[Site, Site | None]]) -> bool:
    """Returns whether a call may leave an argument's arrays intact."""
    return isinstance(arg.value, Const) or (call.call, arg.site) in left


def _kept(view: FileView, sources: _Sources, donating: _Donating, told: Collection[Span]) -> Iterator[Finding]:
    """Reports variables and attributes that keep the arrays of an argument that is donated later.

    Args:
        view: the file.
        sources: the calls that return JAX arrays.
        donating: the calls to consider.
        told: the reads that are already reported.
    """
    donated = {arg.site: (call, arg) for call in donating.calls for arg in call.args}
    roots = {root: None for call in donating.calls for root in _roots(view, call, donating.given)}
    kept = {one.kept: one for root in roots for one in followed(view, root, donating.given).found}
    for one in kept.values():
        if one.donated not in donated:
            continue
        call, arg = donated[one.donated]
        last = one.reads[-1]
        if not view.is_here(one.kept) or (view.is_here(last) and view.span(last) in told):
            continue
        if not _is_of_jax(view, sources, call, arg):
            continue
        text = f'"{view.text(one.donated)}" is donated later, which deletes these arrays; keep a copy of them'
        related = (
            Related(view.path_of(one.donated), view.span(one.donated), "donated here"),
            Related(view.path_of(last), view.span(last), "read here"),
        )
        yield Finding(view.span(one.kept), text, _copies(view, one.kept), related)


def _keepers(view: FileView, donating: _Donating) -> frozenset[str]:
    """Returns the files with functions that may keep donated arrays: those that were read to follow the calls."""

    def read() -> frozenset[str]:
        roots = {root for call in donating.calls for root in _roots(view, call, donating.given)}
        return frozenset([block.path for root in roots for block in followed(view, root, donating.given).read])

    return view.solution.once_of("files that keep donated arrays", view.solution.facts, None, read)


def _roots(view: FileView, call: ApiCall, given: Mapping[Site, Mapping[Site, bool]]) -> Iterator[BlockPlace]:
    """Yields the functions to follow: the outermost of those that lead to a call, or the next if that leads nowhere.

    A generator runs only as far as its caller asks, so its body is followed on its own.
    """
    *inner, outermost = _sites(call)
    yield from (BlockPlace(site.path, site.block) for site in inner if _is_in_generator(view, site))
    for site in (outermost, *reversed(inner)):
        root = BlockPlace(site.path, site.block)
        yield root
        if call.call in followed(view, root, given).reached:
            return


def _is_in_generator(view: FileView, site: Site) -> bool:
    function = tree(view, site.path, site.block)
    return isinstance(function, FunctionDef) and "generator" in function.function.flags


def _is_of_jax(view: FileView, sources: _Sources, call: ApiCall, arg: Arg) -> bool:
    node = _node_at(view, arg.site) if arg.site is not None else None
    if node is None:
        return False
    return arg.label in _CERTAIN or sources.is_of_jax(_scope_of(_path_to(view, call.call), tuple(_sites(call))), node)


def _copies(view: FileView, kept: Site) -> tuple[Fix, ...]:
    """Returns the fix that keeps a copy, if the file imports what the copy needs."""
    on_tree, copy = spelled(view, "jax.tree.map"), spelled(view, "jax.numpy.copy")
    if on_tree is None or copy is None:
        return ()
    copied = f"{on_tree}({copy}, {view.text(kept)})"
    return (Fix(f"keep {copied}", (FileEdit(view.path, Edit(view.span(kept), copied)),)),)


class _Donating(NamedTuple):
    """The calls that certainly donate.

    Attributes:
        calls: one record for each way to such a call.
        left: the arguments, each with its call, that the call may leave intact according to one of the records.
        given: the donated arguments of each call, each with whether it certainly holds arrays.
        paths: the files of these calls, of the calls that lead to them, and of those that create their arguments.
    """

    calls: list[ApiCall]
    left: frozenset[tuple[Site, Site | None]]
    given: dict[Site, dict[Site, bool]]
    paths: frozenset[str]


def _donating(solution: Solution) -> _Donating:
    """Returns the calls that donate."""
    records = [call for records in solution.by_file.values() for call in records.calls if call.dotted == DONATES]
    left = frozenset([(call.call, arg.site) for call in records for arg in call.args if arg.label == MAY_BE_LEFT])
    made = [arg.value.made for call in records for arg in call.args if isinstance(arg.value, Instance)]
    paths = [
        *[site.path for call in records for site in _sites(call)],
        *[site.path for site in made if site is not None],
    ]
    by_way: dict[tuple[Site, ...], ApiCall] = {}
    given: dict[Site, dict[Site, bool]] = {}
    for call in records:
        context, sites = call.context, tuple(_sites(call))
        if call.guarded or not context.sure or context.guarded or context.expected:
            continue
        # In a loop, the call may get its own results only from the second iteration on.
        if sites not in by_way or _certain(call) > _certain(by_way[sites]):
            by_way[sites] = call
        for arg in by_way[sites].args:
            if arg.site is not None and not _is_left(call, arg, left):
                given.setdefault(call.call, {})[arg.site] = arg.label == ARRAYS_OF_JAX
    return _Donating(list(by_way.values()), left, given, frozenset(paths))


def _certain(call: ApiCall) -> int:
    """Returns how many arguments of a call certainly hold arrays that the call will reuse."""
    return sum(arg.label in _CERTAIN for arg in call.args)


def _made_by_libraries(solution: Solution) -> dict[Site, str]:
    """Returns the calls that return JAX arrays, each with the name of the library function; "" for mapped functions."""
    made: dict[Site, str] = {}
    for records in solution.by_file.values():
        for call in records.calls:
            if call.dotted.startswith(_LIBRARIES):
                made[call.call] = call.dotted
        made.update({call.call: "" for call in records.mapped_calls})
    return made


def _sites(call: ApiCall) -> Iterator[Site]:
    """Yields the donating call, and the calls that lead to it, from the innermost to the outermost."""
    yield call.call
    for step in reversed(call.context.route):
        if step.how != "call":
            return
        yield step.site


def _read_after(view: FileView, sources: _Sources, call: ApiCall, arg: Arg) -> Finding | None:
    """Returns the finding for the first place that reads a donated variable afterwards, if it is in this file."""
    if arg.site is None:
        return None
    sites = tuple(_sites(call))
    node = _node_at(view, arg.site)
    for place, site in enumerate(sites):
        key = key_of(node) if node is not None else None
        if node is None or key is None:
            return None
        found, is_handed = _afterwards(view, site, key)
        if found is None and (not is_handed or call.context.conditional):
            return None
        path = _path_to(view, site)
        scope = _scope_of(path, sites[place:])
        handed = _argument(view, scope, key) if found is None else None
        if found is None and handed is None:
            return None
        # This comes last because finding out where the arrays come from is slow.
        if arg.label not in _CERTAIN and not sources.is_of_jax(scope, node):
            return None
        if found is not None:
            if not view.is_here(site) or _is_no_array(call, arg, key, key_of(found)):
                return None
            where = Related(view.path_of(call.call), view.span(call.call), "donated here")
            text = f'"{key_of(found)}" was donated, so its arrays are deleted'
            return Finding(view.span(Site(site.path, site.block, found.site)), text, (), (where,))
        node = handed
    return None


def _is_no_array(call: ApiCall, arg: Arg, key: str, read: str | None) -> bool:
    """Returns whether a place reads only an attribute of a donated object, and that attribute contains no array."""
    names = call.result.items[call.args.index(arg)] if isinstance(call.result, Seq) else None
    attribute = (read or "").removeprefix(f"{key}.").partition(".")[0]
    return isinstance(names, Seq) and Const(attribute) in names.items


def _path_to(view: FileView, site: Site) -> tuple[Node, ...]:
    """Returns the nodes from the block down to a site, cached until the block's text changes."""
    block = view.solution.facts[site.path].blocks[site.block]
    return view.solution.once_of(("path to", site), block.content, None, lambda: path_to(view, site))


def _node_at(view: FileView, site: Site) -> Node | None:
    return (_path_to(view, site) or (None,))[-1]


def _afterwards(view: FileView, site: Site, key: str) -> tuple[Node | None, bool]:
    """Returns the first read of a variable after a call, and whether its value is still the one that the caller passed.

    Args:
        view: the file.
        site: the call.
        key: the variable.
    """

    def found() -> tuple[Node | None, bool]:
        path = _path_to(view, site)
        is_inside = any(isinstance(node, FunctionDef) for node in path)
        return read_after(path, key), is_inside and not is_bound_before(path, key)

    block = view.solution.facts[site.path].blocks[site.block]
    return view.solution.once_of(("read after", site, key), block.content, None, found)


def _donated_twice(view: FileView, sources: _Sources, call: ApiCall) -> Iterator[Finding]:
    """Reports each donated argument that shares its arrays with another one, or that contains the same array twice."""
    if not view.is_here(call.call):
        return
    sites = Counter([arg.site for arg in call.args])
    # The items of a starred argument share its site.
    given = [(arg, _node_at(view, arg.site)) for arg in call.args if arg.site is not None and sites[arg.site] == 1]
    keys = [(arg, node, key) for arg, node in given if node is not None and (key := key_of(node)) is not None]
    for place, (arg, node, key) in enumerate(keys):
        assert arg.site is not None
        path = _path_to(view, call.call)
        scope = _scope_of(path, tuple(_sites(call)))
        twice = _given_twice(sources, scope, call, key) if isinstance(arg.value, Instance) else None
        if twice is not None:
            yield Finding(view.span(arg.site), f'"{key}" is donated, but holds the arrays of "{twice}" twice')
        held = next((one for _, _, one in keys[:place] if one == key or are_aliases(path, key, one)), None)
        if held is not None and (arg.label in _CERTAIN or sources.is_of_jax(scope, node)):
            yield Finding(view.span(arg.site), f'"{key}" holds the arrays of "{held}", which is also donated')


def _given_twice(sources: _Sources, scope: _Scope, call: ApiCall, key: str) -> str | None:
    """Returns the variable passed twice to the only call that creates an object; None if there is none."""
    made = [value for value in scope.values.get(key, ()) if value.site != call.call.index]
    if len(made) != 1 or not isinstance(made[0], Call):
        return None
    twice = _passed_twice(sources, scope, made[0])
    return key_of(twice) if twice is not None else None


def _passed_twice(sources: _Sources, scope: _Scope, call: Call) -> Expression | None:
    """Returns the argument of a call that passes the same JAX arrays as an earlier argument; None if there is none."""
    given: dict[str, None] = {}
    for argument in call.arguments:
        name = key_of(argument.value) if argument.label != "**" else None
        if name in given and sources.is_of_jax(scope, argument.value):
            return argument.value
        if name is not None:
            given[name] = None
    return None


def _made_of_one(view: FileView, sources: _Sources, call: ApiCall) -> Iterator[Finding]:
    """Reports each object that another function creates with the same arrays in two fields, and that is donated."""
    for arg in call.args:
        made = arg.value.made if isinstance(arg.value, Instance) else None
        if made is None or not view.is_here(made) or (made.path, made.block) == (call.call.path, call.call.block):
            continue
        path = _path_to(view, made)
        node = path[-1] if path else None
        twice = _passed_twice(sources, _scope_of(path, (made,)), node) if isinstance(node, Call) else None
        if twice is None or arg.site is None:
            continue
        site = Site(made.path, made.block, twice.site)
        text = f'"{view.text(site)}" is in two fields of an object that is donated later, so it is donated twice'
        donated = Related(view.path_of(arg.site), view.span(arg.site), "donated here")
        yield Finding(view.span(site), f"{text}; keep a copy in one", _copies(view, site), (donated,))


class _Scope(NamedTuple):
    """The function that an expression is in.

    Attributes:
        path, block: the file and block that contain the expression.
        body: the function, or the top-level statement, that assigns the variables in the expression.
        function: the function; None at a module's top level.
        callers: the calls that lead to the function, from the innermost to the outermost.
        found: the result of `values`, once computed.
    """

    path: str
    block: str
    body: Node | None
    function: FunctionDef | None
    callers: tuple[Site, ...]
    found: list[dict[str, list[Node]]]

    @property
    def values(self) -> dict[str, list[Node]]:
        """Returns the expressions assigned to each variable."""
        if not self.found:
            self.found.append(_values_in(self.body))
        return self.found[0]


def _scope_of(path: tuple[Node, ...], sites: tuple[Site, ...]) -> _Scope:
    """Returns the scope of the first of the given sites; each site is in the function that the next site calls."""
    function = next((node for node in path if isinstance(node, FunctionDef)), None)
    body = function if function is not None else path[0] if path else None
    return _Scope(sites[0].path, sites[0].block, body, function, sites[1:], [])


def _values_in(function: Node | None) -> dict[str, list[Node]]:
    """Returns the expressions that a function's body assigns to each variable."""
    values: dict[str, list[Node]] = {}
    for node in walk(function) if function is not None else ():
        if isinstance(node, Assign):
            pairs = [pair for target in node.targets for pair in _assigned(target, node.value)]
        elif isinstance(node, AnnAssign) and node.value is not None:
            pairs = list(_assigned(node.target, node.value))
        else:
            continue
        for key, value in pairs:
            values.setdefault(key, []).append(value)
    return values


def _argument(view: FileView, scope: _Scope, name: str) -> Node | None:
    """Returns the expression that the caller passes for a parameter; None if there is none."""
    call = (path_to(view, scope.callers[0]) or (None,))[-1] if scope.callers else None
    if scope.function is None or not isinstance(call, Call):
        return None
    parameters = scope.function.function.parameters
    place = next((place for place, one in enumerate(parameters) if one.name == name), None)
    if place is None or any(argument.label in ("*", "**") for argument in call.arguments):
        return None
    named = next((argument.value for argument in call.arguments if argument.label == name), None)
    if named is not None:
        return named
    positional = [argument.value for argument in call.arguments if argument.label is None]
    place -= isinstance(call.callee, Attribute) and parameters[0].name in ("self", "cls")
    return positional[place] if 0 <= place < len(positional) and parameters[place].how in ("only", "any") else None


def _assigned(target: Node, value: Node) -> Iterator[tuple[str, Node]]:
    displays = (TupleDisplay, ListDisplay)
    if isinstance(target, displays) and isinstance(value, displays) and len(target.items) == len(value.items):
        for one, other in zip(target.items, value.items, strict=True):
            yield from _assigned(one, other)
        return
    for below in walk(target):
        key = key_of(below)
        if key is not None:
            yield key, value


class _Sources:
    """The calls of a workspace that return JAX arrays."""

    def __init__(self, view: FileView) -> None:
        self._view = view
        self._spellings: dict[str, dict[str, str]] = {}

    @cached_property
    def _made(self) -> dict[Site, str]:
        return self._view.solution.once_of_records("calls that return arrays of JAX", _made_by_libraries)

    def _spelled(self, path: str) -> dict[str, str]:
        """Returns the dotted names of JAX functions and module prefixes by their spelling in a file."""
        if path not in self._spellings:
            view = replace(self._view, path=Path(path), facts=self._view.solution.facts[path])
            found: dict[str, str] = {}
            for module in ("jax.numpy", "jax.random", "jax.nn", "jax.scipy", "jax.tree"):
                name = spelled(view, f"{module}.x")
                if name is not None:
                    found[name.removesuffix("x")] = f"{module}."
            for function in _PLACES:
                name = spelled(view, function)
                if name is not None:
                    found[name] = function
            self._spellings[path] = found
        return self._spellings[path]

    def is_of_jax(self, scope: _Scope, node: Node, above: _Above = _NOTHING) -> bool:
        """Returns whether the arrays in an expression's value certainly come from JAX.

        Args:
            scope: the function that contains the expression.
            node: the expression.
            above: the variables and functions that are already being examined, each with the result to assume for it.
        """
        key = key_of(node)
        if key is not None and (scope.block, key) in above:
            return above[scope.block, key]
        if len(above) > _DEEPEST:
            return False
        values = list(self._values(scope, key)) if key is not None else []
        if values:
            # An assignment computed from the variable itself proves nothing; at least one other must hold JAX arrays.
            rest, first = ({**above, (scope.block, key): taken} for taken in (True, False))
            return all(self.is_of_jax(where, value, rest) for where, value in values) and any(
                self.is_of_jax(where, value, first) for where, value in values
            )
        if isinstance(node, Call):
            return self._is_call_of_jax(scope, node, above)
        if isinstance(node, IfExpression):
            return self._all(scope, (node.then, node.otherwise), above)
        if isinstance(node, BinaryOperation):
            return self.is_of_jax(scope, node.left, above) or self.is_of_jax(scope, node.right, above)
        if isinstance(node, (TupleDisplay, ListDisplay)):
            return self._all(scope, node.items, above)
        if isinstance(node, DictDisplay):
            return self._all(scope, [pair.value for pair in node.pairs], above)
        return isinstance(node, Subscript) and self.is_of_jax(scope, node.object, above)

    def _values(self, scope: _Scope, key: str) -> Iterator[tuple[_Scope, Node]]:
        """Yields the expressions that a variable may get its value from, each with its scope."""
        own = scope.values.get(key, ())
        yield from ((scope, value) for value in own)
        given = _argument(self._view, scope, key)
        if given is not None:
            yield _scope_of(path_to(self._view, scope.callers[0]), scope.callers), given
        owner, dot, _ = scope.block.rpartition(".")
        if dot and not own and key.startswith("self."):
            facts = self._view.solution.facts[scope.path]
            for block in facts.blocks:
                if block.rpartition(".")[0] == owner and block != scope.block:
                    method = _Scope(scope.path, block, tree(self._view, scope.path, block), None, (), [])
                    yield from ((method, value) for value in method.values.get(key, ()))

    def _all(self, scope: _Scope, nodes: Iterable[Node], above: _Above) -> bool:
        given = [node for node in nodes if not isinstance(node, Constant)]
        return bool(given) and all(self.is_of_jax(scope, node, above) for node in given)

    def _is_call_of_jax(self, scope: _Scope, node: Call, above: _Above) -> bool:
        dotted = self._made.get(Site(scope.path, scope.block, node.site))
        if dotted is None:
            dotted = self._named(scope, node.callee)
        if dotted is not None and dotted in _TREE_MAPS:
            return bool(node.arguments) and self._maps_to_jax(scope, node.arguments[0].value, above)
        if dotted is not None:
            return dotted not in _MAYBE_NUMPY
        if isinstance(node.callee, Attribute) and self.is_of_jax(scope, node.callee.object, above):
            return True
        if self._is_compiled(scope, node.callee):
            return True
        name = self._block_of(scope, node.callee)
        if name is None and isinstance(node.callee, Attribute) and node.callee.name == "init":
            # A flax or haiku model, or an optax optimizer, that was passed to the function.
            return any(self.is_of_jax(scope, argument.value, above) for argument in node.arguments)
        found = tree(self._view, scope.path, name) if name is not None else None
        if isinstance(found, ClassDef) and holds_what_it_is_given(found):
            return self._all(scope, [argument.value for argument in node.arguments], above)
        return name is not None and self._returns_arrays_of_jax(scope, name, found, above)

    def _is_compiled(self, scope: _Scope, callee: Node) -> bool:
        """Returns whether a callee is certainly the result of `jax.jit`, whose results are JAX arrays."""
        key = key_of(callee)
        values = list(self._values(scope, key)) if key is not None else [(scope, callee)]
        sites = [(where, node.site) for where, node in values if isinstance(node, Call)]
        names = [self._made.get(Site(where.path, where.block, site)) for where, site in sites]
        return bool(names) and len(names) == len(values) and all(name in COMPILES for name in names)

    def _maps_to_jax(self, scope: _Scope, function: Node, above: _Above) -> bool:
        if isinstance(function, Lambda):
            return self.is_of_jax(scope, function.body, above)
        return self._named(scope, function) is not None

    def _named(self, scope: _Scope, callee: Node) -> str | None:
        """Returns the dotted name of a JAX function from its file's spelling of it."""
        if key_of(callee) is None:
            return None
        text = self._view.text(Site(scope.path, scope.block, callee.site))
        for prefix, module in self._spelled(scope.path).items():
            if text == prefix or (prefix.endswith(".") and text.startswith(prefix)):
                return module + text.removeprefix(prefix)
        return None

    def _block_of(self, scope: _Scope, callee: Node) -> str | None:
        """Returns the block that a callee names: a top-level function or class of its file, or a method of `self`."""
        if isinstance(callee, Name):
            return callee.name if callee.name not in scope.values else None
        if not isinstance(callee, Attribute) or key_of(callee.object) != "self" or key_of(callee) in scope.values:
            return None
        owner, dot, _ = scope.block.rpartition(".")
        return f"{owner}.{callee.name}" if dot else None

    def _returns_arrays_of_jax(self, caller: _Scope, name: str, found: Node | None, above: _Above) -> bool:
        """Returns whether a function of the same file returns JAX arrays and has no decorator."""
        if not isinstance(found, FunctionDef) or found.function.flags or found.function.decorators:
            return False
        scope, inside = _Scope(caller.path, name, found, found, (), []), {**above, (name, ""): False}
        returned = [node.value for node in walk(found) if isinstance(node, Return)]
        return bool(returned) and all(value is not None and self.is_of_jax(scope, value, inside) for value in returned)
