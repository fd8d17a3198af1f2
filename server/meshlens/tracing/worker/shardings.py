"""Reads the shardings of a jaxpr's results, as far as its equations determine them, for code that creates arguments."""

from __future__ import annotations

from typing import Any

_CALLS = frozenset(
    {"pjit", "jit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr"}
    | {"remat", "remat2", "checkpoint", "custom_lin"}
)
_SORTS = frozenset({"sort", "dot_general", "gather", "scatter", "cumsum", "conv_general_dilated"})
"""Primitives whose result may have the shape of an operand although its elements are in other places."""


class Unknown:
    """The sharding of a value computed from sharded values in a way that does not determine its sharding."""


UNKNOWN = Unknown()


def output_shardings(jaxpr: Any, alike: list[tuple[int, int]]) -> list[Any]:
    """Returns the sharding of each output: a JAX sharding, None if no device was chosen for it, or `UNKNOWN`.

    Args:
        jaxpr: a closed jaxpr.
        alike: pairs of outputs; the second is laid out like the first, although no equation shows that.
    """
    inner = jaxpr.jaxpr
    known: dict[Any, Any] = {}
    pairs = {inner.outvars[copy]: inner.outvars[model] for model, copy in alike if _is_variable(inner.outvars[copy])}
    _walk(inner, known, pairs)
    return [_of(one, known) for one in inner.outvars]


def _walk(jaxpr: Any, known: dict[Any, Any], pairs: dict[Any, Any]) -> None:
    for equation in jaxpr.eqns:
        given = [_of(one, known) for one in equation.invars]
        found = _results(equation, given)
        for variable, sharding in zip(equation.outvars, found):  # noqa: B905 - Python 3.8 and 3.9 have no strict
            if sharding is not None:
                known[variable] = sharding
            elif variable in pairs and (model := _of(pairs[variable], known)) is not None:
                known[variable] = model


def _results(equation: Any, given: list[Any]) -> list[Any]:
    name, params = equation.primitive.name, equation.params
    if name == "device_put":
        return [_placed(one) or _moved(one, before) for one, before in zip(_devices(params), given)]  # noqa: B905
    if name == "sharding_constraint":
        return [_placed(params.get("sharding"))]
    if name in _CALLS:
        return _called(equation, given)
    return [_carried(equation, variable, given) for variable in equation.outvars]


def _devices(params: Any) -> tuple[Any, ...]:
    devices = params.get("devices", params.get("device"))
    return tuple(devices) if isinstance(devices, (tuple, list)) else (devices,)


def _moved(device: Any, before: Any) -> Any:
    """Returns the sharding after `device_put`, which leaves a value in place if no device is named."""
    return before if device is None else None


def _placed(sharding: Any) -> Any:
    """Returns a sharding over several devices; None for anything else, such as one device."""
    return sharding if len(getattr(sharding, "device_set", ())) > 1 else None


def _called(equation: Any, given: list[Any]) -> list[Any]:
    params = equation.params
    jaxpr = params.get("jaxpr", params.get("call_jaxpr", params.get("fun_jaxpr")))
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    if inner is None or len(inner.invars) != len(given):
        return [_carried(equation, variable, given) for variable in equation.outvars]
    wanted = params.get("in_shardings") or [None] * len(given)
    known = {
        variable: sharding
        for variable, outer, asked in zip(inner.invars, given, wanted)  # noqa: B905
        if (sharding := _placed(asked) or outer) is not None
    }
    _walk(inner, known, {})
    fixed = params.get("out_shardings") or [None] * len(equation.outvars)
    return [_placed(asked) or _of(one, known) for asked, one in zip(fixed, inner.outvars)]  # noqa: B905


def _carried(equation: Any, variable: Any, given: list[Any]) -> Any:
    """Returns the sharding of a result: None without sharded operands; `UNKNOWN` if they do not determine it."""
    sharded = [(one, before) for one, before in zip(equation.invars, given) if before is not None]  # noqa: B905
    if not sharded:
        return None
    same = {sharding for one, sharding in sharded if sharding is not UNKNOWN and one.aval.shape == variable.aval.shape}
    if len(same) == 1 and equation.primitive.name not in _SORTS:
        return same.pop()
    if all(sharding is not UNKNOWN and sharding.is_fully_replicated for _, sharding in sharded):
        return _replicated(sharded[0][1])
    return UNKNOWN


def _replicated(sharding: Any) -> Any:
    import jax

    mesh = getattr(sharding, "mesh", None)
    return UNKNOWN if mesh is None else jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())


def _of(one: Any, known: dict[Any, Any]) -> Any:
    return known.get(one) if _is_variable(one) else None


def _is_variable(one: Any) -> bool:
    return not hasattr(one, "val")
