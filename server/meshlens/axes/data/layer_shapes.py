"""The shapes that layers of flax, haiku and equinox return."""

from __future__ import annotations

from meshlens.axes.data.arrays import Sizes, shape_of
from meshlens.axes.domain.values import Arg, Const, Made
from meshlens.jaxapi.layers import FEATURES, KEEP_SHAPE, KEEP_SHAPE_BY_DEFAULT, LAST, LOOK_UP
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
    if features is None or not shape:
        return None
    value = given.get(features.parameter, given.get(features.place))
    size = value.value if isinstance(value, Const) and type(value.value) is int else None
    if features.how == LOOK_UP:
        return (*shape, size)
    # A convolution may change the sizes of all axes except the batch axis, which a single image may lack.
    batch = shape[:1] if len(shape) > 3 else (None,) * (len(shape) > 1)
    return (*shape[:-1], size) if features.how == LAST else (*batch, *[None] * (len(shape) - 2), size)
