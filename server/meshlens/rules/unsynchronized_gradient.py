"""A mapped step updates its parameters with gradients that it never reduces over the devices.

Each device then trains its own copy on its part of the data, and the copies drift apart, without an error.
The rule reports a step that reduces its loss but not its gradients; if the loss or the state comes from code that
MeshLens cannot see, the finding is a hint.
Differentiating the reduced loss does not help: outside a checked `shard_map`, `pmean` transposes to itself, so each
device gets the gradient of its own loss.
It also reports gradients that are not reduced over an axis if another update in the same map reduces its gradients over
that axis; if nothing in the map uses the axis at all, the finding is a hint.
A step that reduces nothing may be meant to train independent members of a population; if they start as copies of one
state, such as those that `replicate` makes, the finding is a hint.

```python
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(w, x):
    value, grads = jax.value_and_grad(loss)(w, x)
    value = jax.lax.pmean(value, "batch")
    return w - 0.1 * grads, value
    #                ^^^^^ AX401: these gradients are never reduced over "batch", so the parameters drift apart


step = jax.pmap(step, axis_name="batch")
```

becomes

```python
import jax
import jax.numpy as jnp


def loss(w, x):
    return jnp.mean((x @ w) ** 2)


def step(w, x):
    value, grads = jax.value_and_grad(loss)(w, x)
    value = jax.lax.pmean(value, "batch")
    return w - 0.1 * jax.lax.pmean(grads, "batch"), value


step = jax.pmap(step, axis_name="batch")
```

A running average in a state of which each device has a copy must be updated alike on all devices, too. If its update is
reduced over one axis, but not over another one over which the gradients are reduced, the finding is a hint. So it is if
one running average of a `pmap`'s state is updated with the device's own rows, but another one of the same state with a
value reduced over the devices, such as the sums and counts of clusters, unless the devices' averages are put together
later. A running average of a single number is reported only if a loss is computed from it.

Similarly, a layer that takes an axis name to reduce its statistics over, but gets none inside a map that binds one,
keeps separate statistics on each device. This finding is a hint, since separate statistics may be intended.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import Any, NamedTuple

from meshlens.axes.data.gradients import STRAYED
from meshlens.axes.data.running_averages import COMBINED
from meshlens.axes.domain.joining import labels_of
from meshlens.axes.domain.labels import KEPT_ALIKE, KEPT_APART, OWN_AVERAGE, of_kinds
from meshlens.axes.domain.values import Binder, Const, Data, Dict, Seq, Site, Value
from meshlens.axes.domain.variation import EVERYWHERE
from meshlens.axes.jax.optimizers import MOMENTS_APART, MOMENTS_MET
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.records import AxisUse, GradientUse, MappedCall, literal_name
from meshlens.checking.callees import callee_span
from meshlens.checking.model import Finding, Fix, Related, Severity
from meshlens.checking.places import axis_site, quoted
from meshlens.checking.registry import rule
from meshlens.checking.routes import certain_uses
from meshlens.facts.nodes import Call, Constant, FunctionDef, FunctionShape
from meshlens.jaxapi.binders import MAPS_ON_DEVICES
from meshlens.project.solving.solution import Solution
from meshlens.project.trees import walk
from meshlens.project.view import FileView
from meshlens.project.writing.import_statements import name_of_module
from meshlens.rules.helpers.reductions import REDUCTIONS, has, in_own_optimizer, reductions_of, unchecked_map
from meshlens.text import Edit, FileEdit, Span

_WORD = re.compile(rb"[A-Za-z_][\w.]*")
_MEANS = frozenset({"pmean"})
_MEANS_AND_SUMS = _MEANS | {"psum"}
_CHANGES_TRAINING = "all devices then take the same step, which changes the training results"
_GRADIENT_WORD = re.compile(rb"grad|^(d[a-z]|gs?)$")


_PICK = frozenset({"pmax", "pmin"})
"""Reductions with which members of a population that train separately find the best of them."""


@rule("AX401", Severity.WARNING)
def unsynchronized_gradient(view: FileView) -> Iterator[Finding]:
    """Reports gradients that update parameters in a map without being reduced over its devices."""
    moments = tuple(_moments(view))
    seen = {one.span for one in moments}
    told: set[Site] = set()
    averages = view.solution.once_of_records("averages of losses", _averages_of_losses)
    for use in view.records.gradient_uses:
        if use.kind not in ("stepped", "updated", "skipped") or use.context.guarded or use.context.expected:
            continue
        binder = unchecked_map(use.context.env.maps)
        span = callee_span(view, use.site, "") if use.kind == "skipped" else _gradient_span(view, use.site)
        if binder is None or not binder.names or span in seen:
            continue
        reductions = [
            one
            for one in reductions_of(view.solution, binder)
            if not _of_number(one) and (one.call in averages or not _differentiated(one))
        ]
        adds_up = any(one.kind not in _PICK for one in reductions)
        evidence = reductions if adds_up else _synchronized_layers(view, binder)
        found: Finding | None = None
        if use.kind == "skipped":
            if reductions and not any(has(other.labels, "stepped") for other in reductions):
                found = _left_out(view, use.site, binder)
        elif evidence and _drifts(view, use, binder, reductions):
            found = _finding(view, span, binder, evidence)
        elif not evidence and not reductions and _steps_copies(view, use, binder):
            found = _of_copies(span, binder, _mapped(view, binder))
        elif not _meets_later(use, reductions) and (fellow := _reduced_fellow(view, use, binder)) is not None:
            found = _unlike_another(view, span, binder, fellow)
        if found is not None and (use.kind == "skipped" or not _is_averaged_elsewhere(view, binder)):
            seen.add(span)
            told.add(binder.site)
            yield found
    yield from _over_one_axis_only(view, seen)
    yield from _over_fewer_axes(view, seen)
    yield from _beside_averages(view, told)
    yield from _statistics(view)
    yield from _kept_apart(view, seen)
    yield from moments


def _moments(view: FileView) -> Iterator[Finding]:
    """Yields gradients that are reduced only after an optimizer, or a link of one, has kept moments of them."""
    met = view.solution.once_of_records("moments that are reduced", _moments_met)
    for use in (one for one in certain_uses(view, {MOMENTS_APART}) if one.site not in met):
        text = f'the gradients are reduced over "{use.axis}" only after this, so each device keeps moments of its own'
        places = (Related(view.path_of(use.other), view.span(use.other), "reduced here"),) if use.other else ()
        yield Finding(view.span(use.site), text, (), places, Severity.HINT)


def _moments_met(solution: Solution) -> frozenset[Site]:
    """Returns the gradients of which an optimizer's moments are reduced too."""
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses)
    return frozenset([use.site for use in uses if use.kind == MOMENTS_MET])


def _statistics(view: FileView) -> Iterator[Finding]:
    """Yields running averages that are reduced over fewer axes than the gradients in the same map."""
    strayed = view.solution.once_of_records("strayed", _strayed)
    uses = [use for records in view.solution.by_file.values() for use in records.uses] if strayed else []
    for (call, axis), (binder, fellow) in sorted(strayed.items()):
        site = _place_of_axes(view, [use for use in uses if use.call == call], axis) or call
        if view.is_here(site):
            text = f'a running average is not reduced over "{axis}", but gradients are, so its copies drift apart'
            places = Related(view.path_of(fellow), view.span(fellow), "the gradients are reduced here")
            yield Finding(view.span(site), text, (), (places, _bound(view, binder)), Severity.HINT)


def _kept_apart(view: FileView, told: Collection[Span]) -> Iterator[Finding]:
    """Yields running averages of a device's own rows in a map that reduces others of this state, or gradients.

    Args:
        view: the file.
        told: the places that are reported already, such as a call that leaves the axis out.
    """
    for (site, axis), (binder, fellow, is_average) in sorted(
        view.solution.once_of_records("kept apart", _apart).items()
    ):
        if not view.is_here(site) or in_own_optimizer(view):
            continue
        if not any(view.span(site).contains(one) for one in told):
            others = "another one in this state is" if is_average else "gradients are"
            text = f'a running average is not reduced over "{axis}", but {others}, so its copies drift apart'
            where = f'this is reduced over "{axis}"' if is_average else "the gradients are reduced here"
            places = Related(view.path_of(fellow), view.span(fellow), where), _bound(view, binder)
            yield Finding(view.span(site), text, (), places, Severity.HINT)


def _apart(solution: Solution) -> dict[tuple[Site, str], tuple[Binder, Site, bool]]:
    """Returns the running averages kept apart, by place and axis.

    With each come the map, where another value is reduced, and whether that is another average of the same state rather
    than a gradient.
    """
    found: dict[tuple[Site, str], tuple[Site, Binder, Site, bool]] = {}
    for records in solution.by_file.values():
        for call in records.mapped_calls:
            binders = (*call.context.env.maps, call.binder) if _is_certain(call.context) else ()
            for own, alike in _pairs(call.returned) if binders else ():
                _, site, axis, step, is_array = own
                _, fellow, _, place = alike
                binder = _binder_of(axis, binders)
                if binder is not None and is_array:
                    found[step if site == place else site, axis] = (site, binder, fellow, True)
            for _, site, axis, step, is_array in of_kinds(labels_of(call.returned), KEPT_APART) if binders else ():
                binder = _binder_of(axis, binders)
                gradients = _reduced_gradients(solution, binder, axis) if binder is not None else None
                if binder is None or gradients is None or (step, axis) in found:
                    continue
                if is_array or _is_in_loss(solution, binder, (OWN_AVERAGE, site, axis)):
                    place = step if _leaves_axis_out(solution, site, step) else site
                    found.setdefault((place, axis), (site, binder, gradients, False))
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses) if found else ()
    combined = {(use.other, use.axis) for use in uses if use.kind == COMBINED}
    return {
        (place, axis): (binder, fellow, is_average)
        for (place, axis), (site, binder, fellow, is_average) in found.items()
        if (site, axis) not in combined
    }


def _leaves_axis_out(solution: Solution, site: Site, step: Site) -> bool:
    """Returns whether a call passes nothing for a parameter of the called function that is an axis and may be None.

    Args:
        solution: the solution.
        site: a place in the function.
        step: the call.
    """
    function = solution.facts[site.path].blocks[site.block].shape
    around = solution.facts[step.path].blocks[step.block].shape
    nodes = walk(around) if not isinstance(around, FunctionShape) else ()
    call = next((node for node in nodes if isinstance(node, Call) and node.site == step.index), None)
    if not isinstance(function, FunctionDef) or call is None or any(one.label in ("*", "**") for one in call.arguments):
        return False
    given = {one.label for one in call.arguments}
    count = len([one for one in call.arguments if one.label is None])
    return any(
        "axis" in one.name and isinstance(one.default, Constant) and one.default.value is None
        for one in function.function.parameters[count:]
        if one.name not in given
    )


def _binder_of(axis: str, binders: tuple[Binder, ...]) -> Binder | None:
    """Returns the innermost map that binds an axis; None if it does not map over devices."""
    binder = next((one for one in reversed(binders) if axis in _names(one)), None)
    return binder if binder is not None and binder.kind in MAPS_ON_DEVICES else None


def _reduced_gradients(solution: Solution, binder: Binder, axis: str) -> Site | None:
    """Returns where a map reduces gradients over an axis; None if nowhere."""
    reduced = (one for one in reductions_of(solution, binder) if "of-gradient" in one.labels)
    return min([one.call for one in reduced if literal_name(one.name) == axis], default=None)


def _is_in_loss(solution: Solution, binder: Binder, average: tuple[str, Site, str]) -> bool:
    """Returns whether a map reduces a value, such as a loss, that is computed from a running average.

    Other numbers that are tracked like this may be meant for a log.
    """
    return any(average in one.labels for one in reductions_of(solution, binder))


def _pairs(returned: Value) -> Iterator[tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Yields the labels of two running averages of one state: kept apart, and reduced over the same axis."""
    items: tuple[Value, ...] = (returned,)
    if isinstance(returned, Seq):
        items = returned.items
    elif isinstance(returned, Dict):
        items = tuple([item for _, item in returned.items])
    for item in items if isinstance(returned, (Seq, Dict)) else ():
        yield from _pairs(item)
    held = frozenset().union(*(item.labels for item in items if isinstance(item, Data)))
    for own in of_kinds(held, KEPT_APART):
        for alike in of_kinds(held, KEPT_ALIKE):
            if own[2] == alike[2]:
                yield own, alike


def _place_of_axes(view: FileView, uses: list[AxisUse], axis: str) -> Site | None:
    """Returns where a reduction gets its axes; if other routes to it add the axis, the step where the routes part."""
    routes = [use.context.route for use in uses if literal_name(use.name) == axis]
    lacking = next((use for use in uses if use.context.route not in routes), None)
    if lacking is None:
        return None
    steps = zip(lacking.context.route, routes[0], strict=False) if routes else ()
    return next((step.site for step, other in steps if step.site != other.site), axis_site(view, lacking))


def _strayed(solution: Solution) -> dict[tuple[Site, str], tuple[Binder, Site]]:
    """Returns the reductions of running averages, with the axes that they leave out, the map and reduced gradients."""
    found = {}
    for records in solution.by_file.values():
        for call in records.mapped_calls:
            labels = of_kinds(labels_of(call.returned), STRAYED) if _is_certain(call.context) else ()
            for binder in (*call.context.env.maps, call.binder) if labels else ():
                for _, site, axis in labels:
                    fellow = _reduced_gradients(solution, binder, axis) if axis in _names(binder) else None
                    if fellow is not None:
                        found[site, axis] = binder, fellow
    return found


def _over_one_axis_only(view: FileView, seen: set[Span]) -> Iterator[Finding]:
    """Yields gradients reduced over one axis, but not over another along which the parameters start out the same."""
    for site, axis, binder in view.solution.once_of_records("drifted", _drifted):
        if not view.is_here(site) or view.span(site) in seen:
            continue
        seen.add(view.span(site))
        drift = "the parameters start out equal along this axis but drift apart"
        text = f'this gradient is not reduced over "{axis}", so {drift}'
        yield Finding(view.span(site), text, (), (_bound(view, binder),))


def _drifted(solution: Solution) -> list[tuple[Site, str, Binder]]:
    """Returns the gradients that leave a map without being reduced over one of its axes."""
    found = []
    for records in solution.by_file.values():
        for call in records.mapped_calls:
            if not call.context.sure or call.context.guarded or call.context.expected:
                continue
            maps = (*call.context.env.maps, call.binder)
            binders = {str(name.value): binder for binder in maps for name in binder.names}
            for label in of_kinds(labels_of(call.returned), "drifted", "parted"):
                binder = binders.get(label[2])
                if binder is not None and (label[0] == "drifted" or _averaged(solution, binder, label[2]) is not None):
                    found.append((label[1], label[2], binder))
    return found


def _averaged(solution: Solution, binder: Binder, axis: str, kinds: frozenset[str] = _MEANS) -> Site | None:
    """Returns where a map reduces something other than a gradient over an axis, such as the loss; None if nowhere.

    Such a reduction shows that the devices along the axis train one model.

    Args:
        solution: the solution.
        binder: the map.
        axis: the axis.
        kinds: the reductions that count.
    """
    found = (
        use.call
        for use in reductions_of(solution, binder)
        if use.kind in kinds
        and (use.kind == "pmean" or not _of_number(use))
        and literal_name(use.name) == axis
        and use.context.sure
        and not use.labels & {"of-gradient", "entered"}
        # Inside a loss, the members of an ensemble may compare what they predict.
        and ("mean" in use.labels or not any(step.how == "grad" for step in use.context.route))
    )
    return min(found, default=None)


class _Partial(NamedTuple):
    """Reductions of gradients over only some of the axes that are bound around the updates that use the gradients.

    Attributes:
        sites: the reductions.
        axis: an axis over which they do not reduce.
        binder: the map that binds this axis.
        of_update: where the gradients of another update in the map are reduced over the axis; None if none are.
        of_another: where anything else is reduced over the axis; None if nothing is.
    """

    sites: tuple[Site, ...]
    axis: str
    binder: Binder
    of_update: Site | None = None
    of_another: Site | None = None


def _over_fewer_axes(view: FileView, seen: set[Span]) -> Iterator[Finding]:
    """Yields gradients left unreduced over an axis that other values are reduced over or that nothing uses."""
    for one in view.solution.once_of_records("partial", _partial):
        span = view.span(one.sites[0]) if view.is_here(one.sites[0]) else None
        if span is None or span in seen:
            continue
        seen.add(span)
        text = f'these gradients are not reduced over "{one.axis}"'
        fixes = _averaged_too(view, one)
        bound = _bound(view, one.binder)
        fellow = one.of_update or one.of_another
        if fellow is None:
            yield Finding(span, f"{text}, and nothing uses this axis", fixes, (bound,), Severity.HINT)
            continue
        places = Related(view.path_of(fellow), view.span(fellow), f'this is reduced over "{one.axis}"'), bound
        if one.of_update is None:
            yield Finding(span, f"{text}, but another value is", fixes, places, Severity.HINT)
        else:
            yield Finding(span, f"{text}, but those of another update are", fixes, places)


class _Steps(NamedTuple):
    """The updates of parameters in each `pmap` and `vmap`, by the map and an axis that it binds.

    Attributes:
        reduced: where gradients are reduced over the axis, by the update that uses them.
        lacking: where gradients are reduced over other axes but not over this one, by the update.
        alone: where updates use gradients that are not reduced at all.
        binders: the maps.
    """

    reduced: dict[tuple[Site, str], dict[Site, Site]]
    lacking: dict[tuple[Site, str], dict[Site, Site]]
    alone: set[Site]
    binders: dict[tuple[Site, str], Binder]


def _steps(solution: Solution) -> _Steps:
    steps = _Steps(defaultdict(dict), defaultdict(dict), set(), {})
    for records in solution.by_file.values():
        for use in records.gradient_uses:
            if use.kind == "step-alone":
                steps.alone.add(use.site)
            binder = _binding(use) if use.kind in ("step-reduced", "step-apart") else None
            if binder is None or use.other is None:
                continue
            steps.binders[binder.site, use.axis] = binder
            if use.kind == "step-reduced":
                steps.reduced[binder.site, use.axis][use.site] = use.other
            elif _is_certain(use.context):
                steps.lacking[binder.site, use.axis][use.site] = use.other
    return steps


def _partial(solution: Solution) -> list[_Partial]:
    """Returns the reductions of gradients over only some of the `pmap` and `vmap` axes around the updates."""
    found = []
    steps = solution.once_of_records("steps", _steps)
    for (place, axis), lacking in steps.lacking.items():
        binder, fellows = steps.binders[place, axis], steps.reduced.get((place, axis), {})
        sites = sorted({site for step, site in lacking.items() if step not in fellows})
        if fellows:
            found += [_Partial((site,), axis, binder, min(fellows.values())) for site in sites]
            continue
        another = _averaged(solution, binder, axis, _MEANS_AND_SUMS)
        if another is not None or not _is_used(solution, binder, axis):
            found.append(_Partial(tuple(sites), axis, binder, None, another))
    return found


def _meets_later(use: GradientUse, reductions: Iterable[AxisUse]) -> bool:
    """Returns whether a map also reduces what an update changed, as after several local steps."""
    return any(site == use.site for one in reductions for _, site, _ in of_kinds(one.labels, "stepped"))


def _reduced_fellow(view: FileView, use: GradientUse, binder: Binder) -> Site | None:
    """Returns where a map reduces another update's gradients, if it also returns what the given update changed."""
    steps = view.solution.once_of_records("steps", _steps)
    fellows = [site for name in _names(binder) for site in steps.reduced.get((binder.site, name), {}).values()]
    is_kept = use.site in steps.alone and any(_returns(call, use.site) for call in _calls_of(view, binder))
    return min(fellows, default=None) if is_kept and use.context.sure else None


def _beside_averages(view: FileView, told: set[Site]) -> Iterator[Finding]:
    """Yields the first update with unreduced gradients in each `pmap` that reduces other values but no gradient.

    The finding is only a hint, because it ignores what unseen code does to the state, the loss or the optimizer.

    Args:
        view: the file.
        told: the maps that already have a finding.
    """
    for use in sorted(
        (use for use in view.records.gradient_uses if use.kind == "step-alone"), key=lambda use: use.site
    ):
        binder = unchecked_map(use.context.env.maps)
        if binder is None or binder.kind != "pmap" or not _is_certain(use.context) or binder.site in told:
            continue
        averaged = [
            site for name in _names(binder) if (site := _averaged(view.solution, binder, name, _MEANS_AND_SUMS))
        ]
        is_other = any("of-gradient" in one.labels for one in reductions_of(view.solution, binder))
        if not averaged or is_other or _is_averaged_elsewhere(view, binder):
            continue
        told.add(binder.site)
        text = f"these gradients are not reduced over {quoted(_names(binder))}, but another value is"
        place = Related(view.path_of(averaged[0]), view.span(averaged[0]), "this is reduced")
        yield Finding(view.span(use.site), text, (), (place, _mapped(view, binder)), Severity.HINT)


def _averaged_too(view: FileView, one: _Partial) -> tuple[Fix, ...]:
    """Returns the fix that averages gradients over an axis too, if they are averaged by plain calls in this file."""
    edits = []
    for site in one.sites:
        mean = _mean_of(view, site) if view.is_here(site) else None
        if mean is None:
            return ()
        span = view.span(site)
        text = view.source[span.start : span.end].decode()
        edits.append(FileEdit(view.path, Edit(span, f'{mean}({text}, "{one.axis}")')))
    return (Fix(f'average the gradients over "{one.axis}" too', tuple(edits), "unsafe", _CHANGES_TRAINING),)


def _mean_of(view: FileView, site: Site) -> str | None:
    """Returns `pmean` as a `psum` or `pmean` call would spell it; None if the callee is not a plain name."""
    callee = view.text(site).partition("(")[0]
    if not (callee.isascii() and callee.replace(".", "").isidentifier() and callee.endswith(("pmean", "lax.psum"))):
        return None
    return callee.removesuffix("psum") + "pmean" if callee.endswith("psum") else callee


def _is_certain(context: Context) -> bool:
    return context.sure and not context.guarded and not context.expected


def _binding(use: GradientUse) -> Binder | None:
    """Returns the map whose axis an update concerns, if each device may have its own parameters in that map."""
    binders = (binder for binder in reversed(use.context.env.maps) if use.axis in _names(binder))
    binder = next(binders, None)
    return binder if binder is not None and binder.kind in ("pmap", "vmap") else None


def _is_used(solution: Solution, binder: Binder, axis: str) -> bool:
    """Returns whether any collective under a map may use an axis that it binds."""
    return any(
        any(outer.site == binder.site for outer in use.context.env.maps) and literal_name(use.name) in (axis, None)
        for records in solution.by_file.values()
        for use in records.uses
    )


def _drifts(view: FileView, use: GradientUse, binder: Binder, reductions: list[AxisUse]) -> bool:
    is_kept = use.kind == "updated" or any(
        bool(labels_of(call.returned) & {"mean", "scaled"}) and _returns(call, use.site)
        for call in _calls_of(view, binder)
    )
    # If the reduced value is unknown on one route, another route may show what it is.
    told = {one.call for one in reductions if one.labels & {"varying", "mean", "scaled"}}
    return is_kept and all(
        reduction.context.sure
        and reduction.call in told
        and "gradient" not in reduction.labels
        and not has(reduction.labels, "stepped")
        for reduction in reductions
    )


def _steps_copies(view: FileView, use: GradientUse, binder: Binder) -> bool:
    """Returns whether a step without reductions updates copies of a state, so that each device trains its own copy."""
    return any(
        call.context.sure and of_kinds(labels_of(call.returned), "copied") and _returns(call, use.site)
        for call in _calls_of(view, binder)
    )


def _synchronized_layers(view: FileView, binder: Binder) -> list[AxisUse]:
    """Returns the normalization layers that average their statistics over a map's devices."""
    names = _names(binder)
    return [
        use
        for records in view.solution.by_file.values()
        for use in records.uses
        if use.kind == "BatchNorm"
        and literal_name(use.name) in names
        and use.context.sure
        and any(outer.site == binder.site for outer in use.context.env.maps)
    ]


def _differentiated(use: AxisUse) -> bool:
    return any(step.how == "grad" for step in use.context.route)


def _averages_of_losses(solution: Solution) -> frozenset[Site]:
    """Returns the averages of losses that are then differentiated, which leaves each device its own gradient."""
    uses = (use for records in solution.by_file.values() for use in records.gradient_uses)
    return frozenset([use.site for use in uses if use.kind == "loss-averaged"])


def _of_number(use: AxisUse) -> bool:
    """Returns whether the summed value is a constant or the same on every device, such as an array's size."""
    summed = dict(use.arguments).get("x")
    if summed is None or not isinstance(summed.value, Data):
        return summed is not None and isinstance(summed.value, Const)
    return summed.value.over == EVERYWHERE


def _is_averaged_elsewhere(view: FileView, binder: Binder) -> bool:
    return _averages_state(view) or in_own_optimizer(view) or _is_misspelled(view, binder)


def _is_misspelled(view: FileView, binder: Binder) -> bool:
    """Returns whether code under a map reduces gradients over an axis that nothing binds; AX101 reports the axis."""
    return any(
        use.kind in REDUCTIONS
        and "gradient" in use.labels
        and any(outer.site == binder.site for outer in use.context.env.maps)
        and literal_name(use.name) not in {name.value for outer in use.context.env.maps for name in outer.names}
        for records in view.solution.by_file.values()
        for use in records.uses
    )


def _averages_state(view: FileView) -> bool:
    """Returns whether an argument of a map is reduced unchanged, as in code that averages parameters now and then."""
    return any(
        use.kind == "pmean" and "entered" in use.labels and not _of_statistics(view, use) for use in view.records.uses
    )


def _of_statistics(view: FileView, use: AxisUse) -> bool:
    """Returns whether the reduced arguments of a map are statistics of layers, which are not parameters."""
    binder = use.context.env.maps[-1] if use.context.env.maps else None
    calls = list(_calls_of(view, binder)) if binder is not None else []
    texts = [view.texts[call.call.path][span.start : span.end] for call in calls for span in _spans(view, call)]
    return bool(texts) and all(text.endswith(b"batch_stats") for text in texts)


def _spans(view: FileView, call: MappedCall) -> list[Span]:
    return [view.span(arg.site) for arg in call.args if arg.site is not None]


def _calls_of(view: FileView, binder: Binder) -> Iterator[MappedCall]:
    for records in view.solution.by_file.values():
        for call in records.mapped_calls:
            if call.binder.site == binder.site:
                yield call


def _returns(call: MappedCall, site: Site) -> bool:
    """Returns whether a map returns parameters that were updated at a place with an unreduced gradient."""
    return any(label[1] == site for label in of_kinds(labels_of(call.returned), "stepped"))


def _gradient_span(view: FileView, site: Site) -> Span:
    """Returns the span of the gradient in an expression such as `0.1 * grads`, if only one name can be the gradient."""
    whole = view.span(site)
    source = view.texts[site.path][whole.start : whole.end]
    words = [found for found in _WORD.finditer(source) if _GRADIENT_WORD.search(found.group())]
    if len(words) != 1 or b"(" in source:
        return whole
    return Span(whole.start + words[0].start(), whole.start + words[0].end())


def _names(binder: Binder) -> tuple[str, ...]:
    return tuple(str(name.value) for name in binder.names)


def _mapped(view: FileView, binder: Binder) -> Related:
    return Related(view.path_of(binder.site), view.span(binder.site), "the step is mapped here")


def _bound(view: FileView, binder: Binder) -> Related:
    return Related(view.path_of(binder.site), view.span(binder.site), "the axis is bound here")


def _finding(view: FileView, span: Span, binder: Binder, reductions: list[AxisUse]) -> Finding:
    names = quoted(_names(binder))
    message = f"these gradients are never reduced over {names}, so the parameters drift apart"
    places = [_mapped(view, binder)]
    first = reductions[0]
    places.append(Related(view.path_of(first.call), view.span(first.call), "this is reduced"))
    fixes: tuple[Fix, ...] = ()
    mean = _mean_for(view, binder, reductions) if len(binder.names) == 1 else None
    if mean is not None:
        text = view.source[span.start : span.end].decode()
        edit = FileEdit(view.path, Edit(span, f'{mean}({text}, "{binder.names[0].value}")'))
        fixes = (Fix("average the gradients over the devices", (edit,), "unsafe", _CHANGES_TRAINING),)
    return Finding(span, message, fixes, tuple(places))


def _mean_for(view: FileView, binder: Binder, reductions: list[AxisUse]) -> str | None:
    """Returns `pmean` as this file spells it, or would spell it if a helper in another file reduces the loss."""
    sums = [one for one in reductions if one.kind in _MEANS_AND_SUMS]
    here = next((one for one in sums if view.is_here(one.call)), None)
    if here is not None:
        return _mean_of(view, here.call)
    # In a file without the map, the step may also run in other maps, with other axes.
    if not sums or not view.is_here(binder.site):
        return None
    lax = name_of_module(view, "jax.lax")
    jax = name_of_module(view, "jax")
    return f"{lax}.pmean" if lax is not None else f"{jax}.lax.pmean" if jax is not None else None


def _of_copies(span: Span, binder: Binder, place: Related) -> Finding:
    names = quoted(_names(binder))
    message = f"these gradients are never reduced over {names}, so the copies of this state drift apart"
    return Finding(span, message, (), (place,), Severity.HINT)


def _unlike_another(view: FileView, span: Span, binder: Binder, fellow: Site) -> Finding:
    names = quoted(_names(binder))
    message = f"these gradients are not reduced over {names}, but those of another update are"
    place = Related(view.path_of(fellow), view.span(fellow), "the other update's gradients are reduced here")
    return Finding(span, message, (), (place, _mapped(view, binder)), Severity.HINT)


def _left_out(view: FileView, site: Site, binder: Binder) -> Finding:
    names = quoted(_names(binder))
    message = f"no axis name is passed here, so nothing is reduced over {names}"
    return Finding(callee_span(view, site, ""), message, (), (_mapped(view, binder),), Severity.HINT)
