"""What can be asked for by name: `--to shard_map` and its sisters, and the places in a file that each is about."""

from __future__ import annotations

from collections.abc import Callable

from meshlens.assists._assigned import results_of
from meshlens.assists._functions import Target, dotted_name, functions
from meshlens.assists._model import Answer, Wishes
from meshlens.assists._pmap import applications, decorated
from meshlens.assists._registry import Assist, assist_named
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.view import FileView
from meshlens.text import Span

TARGETS = {
    "pmap": ("vmap-to-pmap", "convert-to-pmap"),
    "shard_map": ("pmap-to-shard-map", "wrap-in-shard-map"),
    "vmap": ("pmap-to-vmap",),
}
"""The assists that make something: the first that has to do with the place says what can be done there."""


def assist_for(target: str) -> Assist:
    """The assists that make something, as one.

    Args:
        target: a key of `TARGETS`.
    """

    def propose(view: FileView, span: Span, wishes: Wishes) -> Answer:
        answers = (assist_named(name).propose(view, span, wishes) for name in TARGETS[target])
        return next((answer for answer in answers if answer is not None), None)

    return Assist(target, propose, "")


def places_named(target: str, function: str | None) -> Callable[[FileView], tuple[Span, ...]]:
    """Where an assist may apply in a file.

    Args:
        target: a key of `TARGETS`.
        function: only where this is mapped, or what this names is; None for everywhere.
    """
    if function is None:
        return (lambda view: _functions(view, None)) if target == "pmap" else applications
    if target == "vmap":
        return lambda view: _of_function(view, function, "jax.pmap")
    before = "jax.vmap" if target == "pmap" else "jax.pmap"
    return lambda view: _of_function(view, function, before) or _functions(view, function)


def _functions(view: FileView, function: str | None) -> tuple[Span, ...]:
    """The names of the functions that are called so, or of those that `jit` decorates."""
    return tuple(
        sorted(
            view.span(target.site)
            for target in functions(view)
            if (_is_jitted(view, target) if function is None else target.name == function.rsplit(".", 1)[-1])
        )
    )


def _is_jitted(view: FileView, target: Target) -> bool:
    for decorator in target.node[2][3]:
        names = [decorator]
        if decorator[0] == "call":
            names = [decorator[2], *(value for _, _, value in decorator[3][:1])]
        if any(dotted_name(view, name) in COMPILES for name in names):
            return True
    return False


def _of_function(view: FileView, function: str, dotted: str) -> tuple[Span, ...]:
    """The applications of a map to a function, or whose result is given a name."""
    name = function.rsplit(".", 1)[-1]
    found = set()
    for binding in view.records.bindings:
        site = binding.binder.site
        if not view.is_here(site) or canonical(binding.binder.dotted) != dotted:
            continue
        fn = decorated(view, binding)
        if (fn is not None and fn[2][0] == name) or binding.function == name or name in results_of(view, site):
            found.add(view.span(site))
    return tuple(sorted(found))
