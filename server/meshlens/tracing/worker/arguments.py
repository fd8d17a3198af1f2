"""Finds arguments for a function requested without any: from jaxtyping annotations, or from the first call to it."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import runpy
import sys
import typing
from typing import Any

from .entries import NoProgram, text_of

_PRIMES = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47)
_MODULES = re.compile(r"\b(?:\w+\.)+(?=\w)")
_USUAL = ("float32", "int32", "bool", "bfloat16", "complex64", "uint32")


def by_annotations(function: Any, devices: int) -> tuple[tuple[Any, ...], dict[str, Any]] | None:
    """Returns abstract arguments, if each parameter without a default has a jaxtyping annotation.

    Args:
        function: the function.
        devices: the number of devices; unknown sizes are multiples of it, so that they can be split.
    """
    import jax

    sizes: dict[str, int] = {}
    args, kwargs = [], {}
    for parameter, annotation in _annotated(function):
        found = _array_of(annotation, sizes, devices)
        if found is None:
            return None
        array = jax.ShapeDtypeStruct(*found)
        if parameter.kind is parameter.KEYWORD_ONLY:
            kwargs[parameter.name] = array
        else:
            args.append(array)
    return tuple(args), kwargs


def described(function: Any, devices: int) -> list[dict[str, Any]]:
    """Returns the known facts about each parameter without a default, such as its name, annotation and shape."""
    sizes: dict[str, int] = {}
    out = []
    for parameter, annotation in _annotated(function):
        found = _array_of(annotation, sizes, devices)
        empty = parameter.annotation is parameter.empty
        out.append(
            {
                "name": parameter.name,
                "annotation": "" if empty else _MODULES.sub("", str(getattr(annotation, "__name__", annotation)))[:200],
                "shape": list(found[0]) if found else None,
                "dtype": found[1] if found else None,
                "keyword": parameter.kind is parameter.KEYWORD_ONLY,
            }
        )
    return out


def _annotated(function: Any) -> list[tuple[inspect.Parameter, Any]]:
    plain = inspect.unwrap(function)
    try:
        known = typing.get_type_hints(plain, include_extras=True)
    except Exception:  # An annotation can be any expression.
        known = {}
    return [
        (one, known.get(one.name, one.annotation))
        for one in inspect.signature(function).parameters.values()
        if one.default is one.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
    ]


def _array_of(annotation: Any, sizes: dict[str, int], devices: int) -> tuple[tuple[int, ...], str] | None:
    """Returns a shape and dtype that a jaxtyping annotation allows."""
    written, dtypes = getattr(annotation, "dim_str", None), getattr(annotation, "dtypes", None)
    if written is None or dtypes is None or not type(annotation).__module__.startswith("jaxtyping"):
        return None
    shape = []
    for name in str(written).split():
        size = _size(name.rpartition("=")[2], sizes, devices)
        if size is None:
            return None
        shape.append(size)
    names = [str(getattr(dtype, "pattern", dtype)) for dtype in dtypes] if isinstance(dtypes, (list, tuple)) else []
    return tuple(shape), next((dtype for dtype in _USUAL if dtype in names), "float32")


def _size(name: str, sizes: dict[str, int], devices: int) -> int | None:
    """Returns the size for a dimension's name; different names have different sizes."""
    if name.isdigit():
        return int(name)
    name = name.lstrip("#?")
    if not name.isidentifier() or (len(sizes) >= len(_PRIMES) and name not in sizes):
        return None
    return sizes.setdefault(name, _PRIMES[len(sizes)] * devices) if name != "_" else devices


class _Caught(BaseException):
    """Raised when the function is called; the program's `except Exception` does not catch it."""


class _Waiting:
    """A jitted function that waits for its first call with arrays.

    A decorator in the file can rename the function, for example to `wrapper`; then the variable through which the
    function is called identifies it.
    """

    def __init__(self, function: Any, jitted: Any, caught: dict[str, Any], variable: str | None = None) -> None:
        self.__wrapped__ = function
        self._jitted = jitted
        self._caught = caught
        self._variable = variable
        for name in ("__name__", "__qualname__", "__doc__", "__module__"):
            if hasattr(function, name):
                setattr(self, name, getattr(function, name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        import jax

        leaves = jax.tree_util.tree_leaves((args, kwargs))
        is_other = self._variable is not None and sys._getframe(1).f_globals.get(self._variable) is not self
        if is_other or any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self._jitted(*args, **kwargs)
        if not self._caught:
            self._caught.update(function=self._jitted, args=abstract(args), kwargs=abstract(kwargs))
        raise _Caught

    def __get__(self, instance: Any, owner: Any) -> Any:
        if instance is None:
            return self
        import functools

        return functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._jitted, name)


def by_running(file: str, name: str, root: str, argv: list[str]) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Runs a file as a program until it first calls a function; returns the function and its arguments."""
    import jax

    caught: dict[str, Any] = {}
    for maker in ("jit", "pmap"):
        setattr(jax, maker, _waiting_for(getattr(jax, maker), file, name, caught))
    if "nnx" in text_of(file) and importlib.util.find_spec("flax") is not None:
        from flax import nnx

        nnx.jit = _waiting_for(nnx.jit, file, name, caught)
    sys.argv = argv
    sys.path[:0] = [os.path.dirname(file), root]
    sys.setprofile(_catcher(file, name, caught))
    try:
        runpy.run_path(file, run_name="__main__")
    except _Caught:
        pass
    finally:
        sys.setprofile(None)
    if not caught:
        raise NoProgram("no-call", f'the program ended without calling "{name}"; name a function that it calls')
    return caught["function"], caught["args"], caught["kwargs"]


def _waiting_for(make: Any, file: str, name: str, caught: dict[str, Any]) -> Any:
    def made(function: Any = None, *args: Any, **kwargs: Any) -> Any:
        if function is None:
            return lambda function: made(function, *args, **kwargs)
        jitted = make(function, *args, **kwargs)
        if sys._getframe(1).f_globals.get("__name__", "").startswith("flax."):
            return jitted
        inner = inspect.unwrap(getattr(function, "func", function))
        whole = getattr(inner, "__qualname__", "")
        names = (getattr(inner, "__name__", ""), whole.replace("<locals>.", ""))
        if name in names:
            return _Waiting(function, jitted, caught)
        is_made_here = "<locals>" in whole and getattr(getattr(inner, "__code__", None), "co_filename", "") == file
        return _Waiting(function, jitted, caught, variable=name) if is_made_here else jitted

    return made


def _catcher(file: str, name: str, caught: dict[str, Any]) -> Any:
    """Returns a profile function that catches the call to a function that is not itself jitted."""
    last = name.rpartition(".")[2]

    def catch(frame: Any, event: str, _: Any) -> None:
        import jax

        code = frame.f_code
        if event != "call" or code.co_name != last or caught or os.path.realpath(code.co_filename) != file:
            return
        names = code.co_varnames[: code.co_argcount]
        args = tuple(frame.f_locals[one] for one in names)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(args)):
            return
        function = _function_of(frame, code, args)
        if function is not None:
            skipped = args[1:] if hasattr(function, "__self__") else args
            caught.update(function=function, args=abstract(skipped), kwargs={})
            raise _Caught

    return catch


def _function_of(frame: Any, code: Any, args: tuple[Any, ...]) -> Any:
    """Returns the function whose code runs in a frame: a global, or a method of the first argument."""
    found = frame.f_globals.get(code.co_name)
    if getattr(inspect.unwrap(found) if callable(found) else None, "__code__", None) is code:
        return found
    method = getattr(args[0], code.co_name, None) if args else None
    return method if getattr(getattr(method, "__func__", None), "__code__", None) is code else None


def abstract(tree: Any) -> Any:
    """Returns a tree with each array replaced with its shape, dtype and committed sharding."""
    import jax

    def of(leaf: Any) -> Any:
        if isinstance(leaf, jax.Array):
            sharding = leaf.sharding if getattr(leaf, "committed", False) else None
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding)
        numpy = sys.modules.get("numpy")
        if numpy is not None and isinstance(leaf, numpy.ndarray):
            return jax.ShapeDtypeStruct(leaf.shape, leaf.dtype)
        return leaf

    return jax.tree_util.tree_map(of, tree)
