"""Finds a function's arguments in a visible call in its file: the code that creates them runs only for their shapes.

Of the code before the call, only the part that the arguments depend on runs, under a JAX trace, so that no array is
created. If this part needs values that a trace does not have, it runs again with real arrays. Neither run may write a
file, open a connection or start a process.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from . import refusing
from .arguments import abstract
from .reading import Function, Site, Source, Step, binds_exactly, reads, sliced
from .shardings import UNKNOWN, output_shardings

_DTYPES = {
    "bf16": "bfloat16",
    "bool": "bool",
    "c64": "complex64",
    **{f"{kind[0]}{size}": f"{kind}{size}" for kind in ("float", "int", "uint") for size in (8, 16, 32, 64)},
}
_CALLED, _ENTER, _ZEROS = "_meshlens_called", "_meshlens_enter", "_meshlens_zeros"
_DEEPEST = 20


class Unseen(Exception):
    """Raised for a value that the file does not show; the message names the value, and what to write."""


class Program:
    """A file's code, and the module that its functions are in; runs the code that leads to a call."""

    def __init__(self, source: Source, module: Any, argv: list[str]) -> None:
        """Stores the arguments.

        Args:
            source: the file.
            module: its imported module.
            argv: the command line of the program.
        """
        self.source = source
        self.module = module
        self.argv = argv
        self.entered = ExitStack()

    def call(self, site: Site, depth: int = 0) -> tuple[Any, tuple[Any, ...], dict[str, Any], dict[str, Any]]:
        """Runs the code that leads to a call, and returns the callee, its arguments, and the names known there."""
        call = site.call
        made = ast.Call(
            ast.Name(_CALLED, ast.Load()),
            [*([] if site.hands_on else [call.func]), *([] if site.hands_on else call.args)],
            [] if site.hands_on else call.keywords,
        )
        steps = sliced(self.source.steps(site), reads(made) - {_CALLED}, self.source.modules)
        body = [self._written(step) for step in steps]
        result = ast.copy_location(made, call)
        owner = site.owner
        if owner is None:
            names = vars(self.module)
            names.update(self._helpers())
            try:
                exec(self._code(ast.Module(body, [])), names)
                called = eval(self._code(ast.Expression(result)), names)
            finally:
                for name in self._helpers():
                    names.pop(name, None)
            return (*called, names)
        return self._in_function(owner, site, body, result, depth)

    def _in_function(
        self, owner: Any, site: Site, body: list[ast.stmt], result: ast.expr, depth: int
    ) -> tuple[Any, tuple[Any, ...], dict[str, Any], dict[str, Any]]:
        """Does the same as `call` for a call inside a function; the function's own arguments come from a call to it."""
        args, kwargs, around = self._arguments(owner, site.owners, depth)
        given = ast.Call(ast.Name("locals", ast.Load()), [], [])
        last = ast.copy_location(ast.Return(ast.Tuple([result, given], ast.Load())), site.call)
        plain = ast.FunctionDef(owner.name, _without_annotations(owner.args), [*body, last], [], None)
        plain.type_params = []  # type: ignore[attr-defined]
        outside = {name: value for name, value in around.items() if name.isidentifier()} | self._helpers()
        function = self._function(ast.copy_location(plain, owner), outside)
        found = function(*args, **self._filled(owner, args, kwargs))
        if not isinstance(found, tuple) or len(found) != 2:
            raise Unseen(f'"{owner.name}" returns before the call')
        called, names = found
        return (*called, {**outside, **names})

    def _function(self, node: ast.FunctionDef, outside: dict[str, Any]) -> Any:
        """Returns a function whose free names take their values from another function's frame."""
        names = [ast.arg(name) for name in outside]
        empty: dict[str, Any] = {"posonlyargs": [], "kwonlyargs": [], "kw_defaults": [], "defaults": []}
        back = ast.copy_location(ast.Return(ast.Name(node.name, ast.Load())), node)
        around = ast.FunctionDef("_meshlens_around", ast.arguments(args=names, **empty), [node, back], [], None)
        around.type_params = []  # type: ignore[attr-defined]
        module = ast.Module([ast.copy_location(around, node)], [])
        known: dict[str, Any] = {}
        exec(self._code(module), vars(self.module), known)
        return known["_meshlens_around"](**outside)

    def _arguments(
        self, owner: Any, owners: tuple[Any, ...], depth: int
    ) -> tuple[tuple[Any, ...], dict[str, Any], dict[str, Any]]:
        """Returns the arguments that a function's own caller passes to it, and the names around its definition."""
        if depth > _DEEPEST:
            raise Unseen(f'the calls that lead to "{owner.name}" are recursive')
        outer = [one for one in owners if isinstance(one, Function) and one is not owner]
        sites = [one for one in self.source.sites(owner.name, aliases=False) if owner not in one.owners]
        sites.sort(key=lambda one: one.hands_on)
        for site in sites:
            called, args, kwargs, names = self.call(site, depth + 1)
            if site.hands_on:
                # Code that runs the function, such as `app.run(main)`, passes the command line or nothing.
                needed = owner.args.args[: len(owner.args.args) - len(owner.args.defaults)]
                return (self.argv,) if len(needed) == 1 and not needed[0].annotation else (), {}, {}
            inside = names if outer and outer[-1] in site.owners else {}
            return ((called.__self__, *args) if inspect.ismethod(called) else args), kwargs, inside
        if outer:
            raise Unseen(f'nothing in {os.path.basename(self.source.file)} calls "{owner.name}"')
        return (), {}, {}

    def _filled(self, owner: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Adds arguments that no call passes: from a comment, click's options, or a settings class's defaults."""
        plain = owner.args
        needed = [*plain.posonlyargs, *plain.args][len(args) :]
        needed = needed[: max(len(needed) - len(plain.defaults), 0)]
        needed += [one for one, default in zip(plain.kwonlyargs, plain.kw_defaults) if default is None]  # noqa: B905
        kwargs = dict(kwargs)
        head = range(owner.lineno - 1, owner.body[0].lineno)
        told = {
            name: node for row, (node, _) in self.source.assumed.items() if row in head for name in binds_exactly(node)
        }
        for one in needed:
            if one.arg in kwargs:
                continue
            kwargs[one.arg] = self._value(owner, one, told)
        return kwargs

    def _value(self, owner: Any, parameter: ast.arg, told: dict[str, ast.Assign]) -> Any:
        if parameter.arg in told:
            value = self._written(Step(told[parameter.arg]))
            assert isinstance(value, ast.Assign)
            return eval(self._code(ast.Expression(value.value)), {**vars(self.module), **self._helpers()})
        runnable: Any = getattr(self.module, owner.name, None)
        if hasattr(runnable, "make_context"):
            options = runnable.make_context(owner.name, self.argv[1:]).params
            if parameter.arg in options:
                return options[parameter.arg]
        kind = None
        if parameter.annotation is not None:
            try:
                kind = eval(self._code(ast.Expression(parameter.annotation)), vars(self.module))
            except Exception:  # an annotation can be any expression
                kind = None
        if inspect.isclass(kind) and getattr(kind, "__module__", "builtins") != "builtins":
            try:
                return kind()
            except TypeError:
                pass
        raise Unseen(
            f'no call in the file passes "{parameter.arg}" to "{owner.name}"; '
            f"add to line {owner.lineno}: # meshlens: assume {parameter.arg} = …"
        )

    def _written(self, step: Step) -> ast.stmt:
        """Returns a step as it runs here: a context stays entered, and `f32[8, 4]` in a comment is an array."""
        node = step.node
        if step.context and isinstance(node, ast.Assign):
            arguments = ast.arguments(
                posonlyargs=[], args=[], vararg=None, kwonlyargs=[], kw_defaults=[], kwarg=None, defaults=[]
            )
            entered = ast.Call(ast.Name(_ENTER, ast.Load()), [ast.Lambda(arguments, node.value)], [])
            node = ast.copy_location(ast.Assign(node.targets, entered), node)
            node.type_comment = None
        elif any(node is assumed for assumed, _ in self.source.assumed.values()):
            node = _Arrays().visit(node)
        return ast.fix_missing_locations(node)

    def _code(self, node: Any) -> Any:
        mode = "eval" if isinstance(node, ast.Expression) else "exec"
        return compile(ast.fix_missing_locations(node), self.source.file, mode, dont_inherit=True)

    def _helpers(self) -> dict[str, Any]:
        return {_CALLED: _called, _ENTER: self._enter, _ZEROS: _zeros}

    def _enter(self, make: Any) -> Any:
        """Enters a context permanently, outside the trace, since meshes and axis rules also apply to later tracing."""
        import jax

        with jax.ensure_compile_time_eval():
            try:
                return self.entered.enter_context(make())
            except refusing.NotRun:
                return None


def shown(program: Program, site: Site, *, for_shapes: bool) -> Shown:
    """Returns a function and the arguments of a visible call.

    Args:
        program: the file.
        site: the call.
        for_shapes: whether to run the code under a trace, which creates no arrays, or with real arrays.

    Raises:
        Exception: any exception from the code that creates the arguments.
    """
    program.entered.close()
    with refusing.refusing():
        if for_shapes:
            return _for_shapes(program, site)
        function, args, kwargs, _ = program.call(site)
        return Shown(function, abstract(args), abstract(kwargs), [])


def _for_shapes(program: Program, site: Site) -> Shown:
    import jax

    made = _Made()

    def make() -> list[Any]:
        with _likes_noted(made):
            function, args, kwargs, _ = program.call(site)
        made.function = function
        return made.taken((args, kwargs))

    jaxpr = jax.make_jaxpr(make)()
    shardings = output_shardings(jaxpr, made.alike)
    arrays = []
    for index in range(made.count):
        aval, sharding = jaxpr.out_avals[index], shardings[index]
        of_type = _explicit(aval)
        known = None if sharding is UNKNOWN else sharding
        arrays.append(jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=of_type or known))
    lost = sum(one is UNKNOWN for one in shardings[: made.count])
    notes = []
    if lost:
        notes.append(
            f"XLA chose the sharding of {lost} of the {made.count} arrays in the call, because the code "
            f"computes {'it' if lost == 1 else 'them'} from sharded arrays; use jax.device_put with a sharding, or "
            "write an entry"
        )
    args, kwargs = made.given(arrays)
    return Shown(made.function, abstract(args), abstract(kwargs), notes)


class Shown:
    """A function with the arguments of a visible call.

    Attributes:
        function: the callee, including `jit` or other transformations around it.
        args: its arguments, abstract.
        kwargs: its keyword arguments, abstract.
        notes: notes about them for the user.
    """

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], notes: list[str]) -> None:
        self.function = function
        self.args = args
        self.kwargs = kwargs
        self.notes = notes


class _Made:
    """The arguments that code under a trace has created, with their arrays extracted.

    Attributes:
        function: the function that is called with them.
        count: the number of arrays.
        alike: pairs of results of the trace; the second is sharded like the first.
        likes: pairs of arrays; the second was created like the first, as by `zeros_like`.
    """

    def __init__(self) -> None:
        self.function: Any = None
        self.count = 0
        self.alike: list[tuple[int, int]] = []
        self.likes: list[tuple[Any, Any]] = []
        self._leaves: list[Any] = []
        self._tree: Any = None
        self._places: list[int] = []
        self._graph: Any = None
        self._objects: list[int] = []
        self._state: Any = None

    def taken(self, given: Any) -> list[Any]:
        """Extracts and returns the arrays, followed by the pairs of `likes`."""
        import jax

        self._leaves, self._tree = jax.tree_util.tree_flatten(given)
        nnx = sys.modules.get("flax.nnx")
        if nnx is not None:
            self._objects = [index for index, leaf in enumerate(self._leaves) if isinstance(leaf, nnx.Object)]
        states: list[Any] = []
        if self._objects:
            self._graph, state = nnx.split([self._leaves[index] for index in self._objects])  # type: ignore[union-attr]
            states, self._state = jax.tree_util.tree_flatten(state)
        self._places = [index for index, leaf in enumerate(self._leaves) if isinstance(leaf, jax.core.Tracer)]
        arrays = [*(self._leaves[index] for index in self._places), *states]
        self.count = len(arrays)
        for model, copy in self.likes:
            self.alike.append((len(arrays), len(arrays) + 1))
            arrays += [model, copy]
        return arrays

    def given(self, arrays: list[Any]) -> Any:
        """Returns the arguments with these arrays put back."""
        import jax

        leaves = list(self._leaves)
        for index, array in zip(self._places, arrays):  # noqa: B905 - Python 3.8 and 3.9 have no strict
            leaves[index] = array
        if self._objects:
            state = jax.tree_util.tree_unflatten(self._state, arrays[len(self._places) :])
            objects = sys.modules["flax.nnx"].merge(self._graph, state)
            for index, one in zip(self._objects, objects):  # noqa: B905
                leaves[index] = one
        return jax.tree_util.tree_unflatten(self._tree, leaves)


@contextmanager
def _likes_noted(made: _Made) -> Iterator[None]:
    """Records the model of each array that functions such as `zeros_like` create, and makes global arrays abstract.

    No equation shows which array was the model, because zeros depend on nothing; creating global arrays would need real
    data.
    """
    import jax
    import jax.numpy as jnp

    outer = getattr(jnp.zeros(()), "_trace", None)

    def noted(make: Any) -> Any:
        @functools.wraps(make)
        def like(model: Any, *args: Any, **kwargs: Any) -> Any:
            copy = make(model, *args, **kwargs)
            both = getattr(model, "_trace", None), getattr(copy, "_trace", None)
            if outer is not None and both == (outer, outer) and model.shape == copy.shape:
                made.likes.append((model, copy))
            return copy

        return like

    def placed(sharding: Any, local: Any, shape: Any = None) -> Any:
        return jax.device_put(jnp.zeros(local.shape if shape is None else shape, local.dtype), sharding)

    def by_callback(shape: Any, sharding: Any, callback: Any, *_: Any, dtype: Any = None, **__: Any) -> Any:
        index = next(iter(sharding.addressable_devices_indices_map(tuple(shape)).values()))
        return jax.device_put(jnp.zeros(shape, callback(index).dtype if dtype is None else dtype), sharding)

    def replicated(tree: Any, devices: Any) -> Any:
        return jax.tree_util.tree_map(lambda one: jnp.broadcast_to(one, (len(devices), *jnp.shape(one))), tree)

    def stacked(shards: Any, devices: Any) -> Any:
        return jax.tree_util.tree_map(lambda *ones: jnp.stack(ones), *shards)

    changed = [
        (jnp, name, noted(getattr(jnp, name))) for name in ("zeros_like", "ones_like", "full_like", "empty_like")
    ]
    changed += [
        (jax, "make_array_from_process_local_data", placed),
        (jax, "make_array_from_callback", by_callback),
        (jax, "device_put_replicated", replicated),
        (jax, "device_put_sharded", stacked),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in changed if hasattr(module, name)]
    for module, name, value in changed:
        setattr(module, name, value)
    try:
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)


def _explicit(aval: Any) -> Any:
    """Returns the sharding in an array's type, if an axis of its mesh is explicit."""
    sharding = getattr(aval, "sharding", None)
    kinds = getattr(getattr(sharding, "mesh", None), "axis_types", None) or ()
    return sharding if any("Explicit" in str(kind) for kind in kinds) else None


def _called(function: Any = None, *args: Any, **kwargs: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    return function, args, kwargs


def _zeros(dtype: str, shape: Any) -> Any:
    import jax.numpy

    return jax.numpy.zeros(shape, dtype)


class _Arrays(ast.NodeTransformer):
    """Replaces expressions such as `f32[8, 4]` with calls that create arrays."""

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        if isinstance(node.value, ast.Name) and node.value.id in _DTYPES:
            dtype = ast.Constant(_DTYPES[node.value.id])
            shape = getattr(node.slice, "value", node.slice) if type(node.slice).__name__ == "Index" else node.slice
            return ast.copy_location(ast.Call(ast.Name(_ZEROS, ast.Load()), [dtype, shape], []), node)
        return self.generic_visit(node)


def _without_annotations(arguments: ast.arguments) -> ast.arguments:
    """Returns the parameters of a function with their defaults but without annotations."""

    def bare(one: Any) -> Any:
        return None if one is None else ast.copy_location(ast.arg(one.arg), one)

    return ast.arguments(
        posonlyargs=[bare(one) for one in arguments.posonlyargs],
        args=[bare(one) for one in arguments.args],
        vararg=bare(arguments.vararg),
        kwonlyargs=[bare(one) for one in arguments.kwonlyargs],
        kw_defaults=arguments.kw_defaults,
        kwarg=bare(arguments.kwarg),
        defaults=arguments.defaults,
    )
