"""The shapes that layers of flax, haiku and equinox return, and those of the parameters that flax's layers create."""

from __future__ import annotations

from collections.abc import Mapping

from meshlens.axes.data.arrays import Sizes, shape_of, sizes
from meshlens.axes.domain.values import Arg, Const, Data, Ext, Made, Value
from meshlens.jaxapi.layers import (
    CREATED,
    FEATURES,
    INITIALIZERS,
    KEEP_SHAPE,
    KEEP_SHAPE_BY_DEFAULT,
    LAST,
    LOOK_UP,
    Created,
)
from meshlens.jaxapi.names import canonical


def shape_of_layer(made: Made, args: tuple[Arg, ...]) -> Sizes | None:
    """Returns the shape of a layer's result; None if it is unknown.

    Args:
        made: the layer.
        args: the arguments of its call; the array comes first.
    """
    shape = shape_of(args[0].value) if args and args[0].label is None else None
    if shape is None:
        return None
    name = canonical(made.dotted)
    if name in KEEP_SHAPE:
        return shape
    given = dict(made.arguments)
    if name in KEEP_SHAPE_BY_DEFAULT:
        return shape if KEEP_SHAPE_BY_DEFAULT[name] not in given and "**" not in given else None
    features = FEATURES.get(name)
    if features is None or not (shape or features.how == LOOK_UP):
        return None
    value = given.get(features.parameter, given.get(features.place))
    size = value.value if isinstance(value, Const) and type(value.value) is int else None
    if features.how == LOOK_UP:
        return (*shape, size)
    # A convolution may change the sizes of all axes except the batch axis, which a single image may lack.
    batch = shape[:1] if len(shape) > 3 else (None,) * (len(shape) > 1)
    return (*shape[:-1], size) if features.how == LAST else (*batch, *[None] * (len(shape) - 2), size)


def is_initializer(value: Value) -> bool:
    """Returns whether a value is an initializer of JAX or flax, which returns a plain array."""
    name = value.dotted if isinstance(value, (Ext, Made)) else value.made_by if isinstance(value, Data) else None
    return name is not None and INITIALIZERS in name


def parameters_of_layer(made: Made, args: tuple[Arg, ...]) -> dict[tuple[str, ...], Sizes]:
    """Returns the paths and shapes of the parameters that a layer of flax certainly creates.

    Args:
        made: the layer.
        args: the arguments of its call; none for a layer of nnx, which knows its sizes.
    """
    row = CREATED.get(canonical(made.dotted))
    given: dict[str | int, Value] = dict(made.arguments)
    if row is None or "**" in given or "*" in given or any(name in given for name in row.unless):
        return {}
    if any(isinstance(place, int) and place >= len(row.parameters) for place in given):
        return {}
    named = {name: given.get(name, given.get(place)) for place, name in enumerate(row.parameters)}
    inputs = shape_of(args[0].value) if args and args[0].label is None else None
    found: dict[tuple[str, ...], Sizes] = {}
    for leaf in row.leaves:
        switch = given.get(leaf.switch, Const(True)) if leaf.switch else Const(True)
        initializer = given.get(f"{leaf.path[-1]}_init")
        # A partitioned parameter is a box, whose path has one step more.
        is_plain = initializer is None or is_initializer(initializer)
        shape = _shape_of_parameter(leaf, named, inputs) if switch == Const(True) and is_plain else None
        if shape is not None:
            found[leaf.path] = shape
    return found


def _shape_of_parameter(leaf: Created, given: Mapping[str, Value | None], inputs: Sizes | None) -> Sizes | None:
    """Returns the shape of a parameter; None if not even its rank is known.

    Args:
        leaf: the parameter.
        given: the arguments of the layer.
        inputs: the shape of the layer's input.
    """
    found: list[int | None] = []
    for axis in leaf.axes:
        value = given.get(axis.removeprefix("*"))
        size = value.value if isinstance(value, Const) and type(value.value) is int else None
        if axis == "input":
            size = inputs[-1] if inputs else None
        if axis.startswith("*") and size is None:
            several = sizes(value) if value is not None else None
            if several is None:
                return None
            found += several
        else:
            found.append(size)
    return tuple(found)
