"""Optimizers that are pairs of functions: `optax.GradientTransformation` and combinations of them."""

from __future__ import annotations

from meshlens.axes.data.arrays import shape_of
from meshlens.axes.data.slices import CLIPPED
from meshlens.axes.domain.joining import labels_of, options
from meshlens.axes.domain.labels import NONE, OWN_MOMENTS, STATE_OF, UPDATES_APART, UPDATES_MET, of_kinds, travelling
from meshlens.axes.domain.values import UNKNOWN, Arg, Const, Data, Dict, Made, Seq, Value
from meshlens.axes.jax.transparent import wraps_function
from meshlens.axes.jax.tree_maps import leaves_of
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.invocation import Invocation, from_inside
from meshlens.axes.runs.records import GradientUse
from meshlens.axes.runs.run import Run
from meshlens.jaxapi.names import canonical

_PAIRS = frozenset({"optax.GradientTransformation", "optax.GradientTransformationExtraArgs"})
_COMPOSED = frozenset(
    f"optax.{name}"
    for name in (
        "chain named_chain MultiSteps apply_if_finite masked with_extra_args_support multi_transform partition flatten "
        "lookahead conditionally_transform conditionally_mask"
    ).split()
)
_CHAINS = frozenset({"optax.chain", "optax.named_chain"})
_STATELESS = frozenset({"optax.stateless", "optax.stateless_with_tree_map"})
_CLIPS = frozenset({"optax.clip_by_global_norm"})
_METHODS = ("init", "update")
MOMENTS_APART, MOMENTS_MET = "moments-apart", "moments-met"
"""The kinds of the records of gradients that an optimizer with moments gets, if only its updates are reduced, and of a
reduction of such moments."""
_LINEAR = frozenset({"optax.sgd", "optax.trace", "optax.ema"})
_OF_MOMENTS = frozenset(
    f"optax.{name}"
    for name in (
        "adabelief adadelta adagrad adam adamax adamaxw adamw adan amsgrad lamb lars lion nadam nadamw "
        "optimistic_gradient_descent radam rmsprop rprop yogi scale_by_adam scale_by_amsgrad scale_by_belief "
        "scale_by_lion scale_by_radam scale_by_rms scale_by_yogi trace ema"
    ).split()
)
"""The optimizers whose state has an array like each parameter, whatever their arguments are (measured with 0.2.8)."""


def own_function(made: Made, name: str) -> Value | None:
    """Returns the function stored under a name in a pair of functions; None for anything else."""
    if name not in _METHODS or canonical(made.dotted) not in _PAIRS:
        return None
    given = dict(made.arguments)
    return given.get(name, given.get(_METHODS.index(name)))


def call_composed(run: Run, made: Made, name: str, call: Invocation) -> Value | None:
    """Returns the result of `init` or `update` of a composed optimizer; None if no part of it is in the workspace."""
    if name not in _METHODS or not _is_own(made):
        return None
    args = call.args
    parts = [made] if canonical(made.dotted) in _STATELESS else _parts(made)
    labels = frozenset().union(*(travelling(labels_of(arg.value)) for arg in args)) if args else frozenset()
    updates = args[0].value if args and args[0].label is None else UNKNOWN
    is_in_turn = name == "update" and canonical(made.dotted) in _CHAINS
    apart, kind = None, ""
    for part in parts:
        keeps_own = is_in_turn and {"gradient", "varying"} <= labels_of(updates)
        if keeps_own and not _is_own(part) and (_keeps_moments(part) or clips_by_norm(part)):
            apart, kind = part.site, MOMENTS_APART if _keeps_moments(part) else CLIPPED
        function = own_function(part, name)
        place = args[0].site if args else None
        if canonical(part.dotted) in _STATELESS:
            if name == "update":
                both = (Arg(None, updates, place, place), Arg(None, UNKNOWN, None, None))
                updates = run.invoke(from_inside(dict(part.arguments).get(0, UNKNOWN), both, call))
        elif function is not None:
            rest = (Arg(None, UNKNOWN, None, None), *args[2:])
            given = (Arg(None, updates, place, place), *(rest if name == "update" else args[1:]))
            came = run.invoke(from_inside(function, given, call))
            updates = came.items[0] if name == "update" and isinstance(came, Seq) and came.items else updates
        else:
            given = (Arg(None, updates, None, call.site), *args[1:])
            inner = call_composed(run, part, name, call.of(part, given))
            updates = inner.items[0] if name == "update" and isinstance(inner, Seq) and inner.items else updates
    if apart is not None:
        for _, axis, reduction in of_kinds(labels_of(updates), "reduced-at"):
            run.records.gradient_uses.append(GradientUse(kind, apart, reduction, call.ctx, axis))
    return Seq("tuple", (updates, Data(labels))) if name == "update" else Data(frozenset({"fresh"}))


def of_state(made: Made, parameters: Value) -> frozenset[object]:
    """Returns the label of the state that an optimizer makes for parameters of known shapes; none if it may differ."""
    if not _keeps_moments(made):
        return NONE
    leaves = leaves_of(parameters)
    shapes = {shape_of(leaf) for leaf in leaves} if leaves else set()
    return frozenset({(STATE_OF, tuple(sorted(shapes, key=repr)))}) if shapes and None not in shapes else NONE


def moments_apart(made: Made, gradients: Arg) -> tuple[frozenset[object], ...]:
    """Returns the labels of the updates and of the state if an optimizer keeps moments of each device's own gradients.

    Returns nothing otherwise.
    """
    # A mean of momenta is the momentum of the mean.
    is_curved = _keeps_moments(made) and canonical(made.dotted) not in _LINEAR
    if "varying" not in labels_of(gradients.value) or gradients.site is None or not is_curved:
        return ()
    return frozenset({(UPDATES_APART, gradients.site)}), frozenset({(OWN_MOMENTS, gradients.site)})


def note_moments(run: Run, updates: Value, ctx: Context) -> None:
    """Notes that parameters are changed by reduced updates, which are made from moments of each device's gradients."""
    for _, given, reduction, axis in of_kinds(labels_of(updates), UPDATES_MET):
        run.records.gradient_uses.append(GradientUse(MOMENTS_APART, given, reduction, ctx, axis))


def _keeps_moments(made: Made) -> bool:
    name = canonical(made.dotted)
    if name == "optax.chain":
        return any(isinstance(value, Made) and _keeps_moments(value) for _, value in made.arguments)
    return name in _OF_MOMENTS or (name == "optax.sgd" and _has_momentum(made))


def _has_momentum(made: Made) -> bool:
    given = dict(made.arguments)
    momentum = given.get("momentum", given.get(1))
    return isinstance(momentum, Const) and momentum.value is not None


def clips_by_norm(made: Made) -> bool:
    """Returns whether an optimizer, or a part of it, scales updates by their global norm."""
    return canonical(made.dotted) in _CLIPS or any(map(clips_by_norm, _parts(made)))


def reduces_nothing(made: Made) -> bool:
    """Returns whether every part of an optimizer is known to be from optax, whose parts never reduce over devices."""
    name = canonical(made.dotted)
    if name in _COMPOSED:
        held = (option for value in _held(made) for option in options(value) if not isinstance(option, Const))
        return all(isinstance(option, Made) and reduces_nothing(option) for option in held)
    return name.startswith("optax.") and name not in _PAIRS | _STATELESS


def may_reduce(made: Made) -> bool:
    """Returns whether a composed optimizer may reduce over devices because one of its parts is unknown."""
    if canonical(made.dotted) not in _COMPOSED:
        return False
    parts = _held(made) if canonical(made.dotted) in _CHAINS else _held(made)[:1]
    known = [option for value in parts for option in options(value) if not isinstance(option, Const)]
    return any(not isinstance(option, Made) or may_reduce(option) for option in known)


def _is_own(part: Made) -> bool:
    if canonical(part.dotted) in _STATELESS:
        return wraps_function(dict(part.arguments).get(0, UNKNOWN))
    return any(own_function(part, name) is not None for name in _METHODS) or any(map(_is_own, _parts(part)))


def _parts(made: Made) -> list[Made]:
    """Returns the parts of a composed optimizer."""
    if canonical(made.dotted) not in _COMPOSED:
        return []
    return [option for value in _held(made) for option in options(value) if isinstance(option, Made)]


def _held(made: Made) -> list[Value]:
    """Returns the arguments of an optimizer, with each dictionary replaced by its entries."""
    held: list[Value] = []
    for _, value in made.arguments:
        held += [entry for _, entry in value.items] if isinstance(value, Dict) else [value]
    return held
