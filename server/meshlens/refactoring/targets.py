"""The values of `--to`, such as shard_map, and the places in a file where each applies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from meshlens.axes.domain.values import Site
from meshlens.facts.nodes import Assign, Attribute, Call, Lambda, Name
from meshlens.jaxapi.names import canonical
from meshlens.jaxapi.transparent import COMPILES
from meshlens.project.trees import nodes_of_block
from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import applications, decorated
from meshlens.refactoring.model import Answer, Proposal, Wishes
from meshlens.refactoring.reading.assigned import results_of
from meshlens.refactoring.reading.functions import Target, dotted_name, function_at, functions, functions_called
from meshlens.refactoring.reading.host_calls import Callee, compiled_variables
from meshlens.refactoring.reading.scopes import class_around, parent_of
from meshlens.refactoring.reading.uses import is_object
from meshlens.refactoring.registry import Assist, assist_named
from meshlens.text import Span

TARGETS = {
    "jit": ("shard-with-jit",),
    "pmap": ("vmap-to-pmap", "convert-to-pmap"),
    "shard_map": ("pmap-to-shard-map", "nested-pmap-to-shard-map", "vmap-to-shard-map", "wrap-in-shard-map"),
    "vmap": ("pmap-to-vmap",),
}
"""The assists to try for each target: the first that applies is used; if none does, the first refusal is reported."""


def assist_for(target: str | None) -> Assist:
    """Returns an assist that combines all assists of a target.

    Args:
        target: a key of `TARGETS`; None for the best target for each function.
    """
    if target is None:
        return Assist("parallelize", _best, "")

    def propose(view: FileView, span: Span, wishes: Wishes) -> Answer:
        refused: Answer = None
        for name in TARGETS[target]:
            answer = assist_named(name).propose(view, span, wishes)
            if isinstance(answer, Proposal):
                return answer
            refused = refused or answer
        return refused

    return Assist(target, propose, "")


def _best(view: FileView, span: Span, wishes: Wishes) -> Answer:
    """Offers `jit` with sharding, or `shard_map` for mapped code and for code that XLA's partitioner miscompiles."""
    answer = assist_for("jit").propose(view, span, wishes)
    if isinstance(answer, Proposal) or (
        answer is not None and answer.code not in ("gradients-by-row", "already-mapped")
    ):
        return answer
    other = assist_for("shard_map").propose(view, span, wishes)
    return other if isinstance(other, Proposal) else answer or other


def places_named(target: str | None, function: str | None) -> Callable[[FileView], tuple[Span, ...]]:
    """Returns a function that finds the places in a file where a target may apply.

    Args:
        target: a key of `TARGETS`; None for the best target.
        function: restricts the places to the function or the variable with this name; None for no restriction.
    """
    if target is None and function is not None:
        return lambda view: (
            _of_function(view, function, "jax.pmap") or _named_exactly(view, function) or _variables(view, function)
        )
    if target in (None, "jit"):
        return lambda view: _named_exactly(view, function) or _variables(view, function)
    if function is None:
        return (lambda view: _functions(view)) if target == "pmap" else applications
    if target == "vmap":
        return lambda view: _of_function(view, function, "jax.pmap")
    before = ("jax.vmap",) if target == "pmap" else ("jax.pmap", "jax.vmap")

    def places(view: FileView) -> tuple[Span, ...]:
        applied = (_of_function(view, function, one) for one in before)
        found = next((found for found in applied if found), None) or _named_exactly(view, function)
        return found or _compiled_as(view, function)

    return places


def all_places(target: str | None, views: Iterable[FileView]) -> Callable[[FileView], tuple[Span, ...]]:
    """Returns a function that finds every place in a file where a target may apply.

    For `shard_map` these are the pmaps, or, if none of the files has one, the functions that `jit` compiles.

    Args:
        target: a key of `TARGETS`; None for the best target.
        views: the files that are converted together.
    """
    if target == "shard_map" and not any(map(applications, views)):
        return _functions
    return places_named(target, None)


def _functions(view: FileView) -> tuple[Span, ...]:
    """Returns the names of the functions that `jit` compiles."""
    compiled = _compiled(view)
    found = [one for one in functions(view) if _is_jitted(view, one) or one.site in compiled]
    return tuple(sorted(view.span(target.site) for target in found))


def _named_exactly(view: FileView, function: str | None) -> tuple[Span, ...]:
    """Returns the functions with this name, such as `step` or `train.step`; for None, those that `jit` compiles."""
    if function is None:
        return _functions(view)
    found = [one for one in functions(view) if one.name == function.rsplit(".", 1)[-1]]
    whole = [one for one in found if f".{qualified(one)}".endswith(f".{function}")]
    return tuple(sorted(view.span(one.site) for one in whole))


def qualified(target: Target) -> str:
    """Returns the name of a function with the names of the classes and functions around it."""
    block = target.site.block.split("~", 1)[0]
    return block if target.node.site == 0 else f"{block}.{target.name}"


def _variables(view: FileView, function: str | None) -> tuple[Span, ...]:
    """Returns the variables with this name that hold a function; for None, all that hold a transformed function."""
    found = compiled_variables(view)
    if function is None:
        return tuple(view.span(one.site) for one in found if not _holds_lambda(view, one))
    return tuple(view.span(one.site) for one in found if one.name == function.rsplit(".", 1)[-1])


def _compiled_as(view: FileView, name: str) -> tuple[Span, ...]:
    """Returns the functions whose jitted form a variable of the given name holds, as in `self.step = jit(self._f)`."""
    found: set[Span] = set()
    for one in compiled_variables(view):
        assigned = parent_of(view, one.site)
        made = assigned.value if isinstance(assigned, Assign) and one.name == name.rsplit(".", 1)[-1] else None
        if isinstance(made, Call) and made.arguments and dotted_name(view, made.callee) in COMPILES:
            value = made.arguments[0].value
            if isinstance(value, (Name, Attribute)):
                site = Site(one.site.path, one.site.block, value.site)
                found |= {view.span(target.site) for target in _meant(view, site, value)}
    return tuple(sorted(found))


def _holds_lambda(view: FileView, variable: Callee) -> bool:
    assigned = parent_of(view, variable.site)
    return isinstance(assigned, Assign) and isinstance(assigned.value, Lambda)


def _compiled(view: FileView) -> frozenset[Site]:
    """Returns the functions that are passed to `jit`; every candidate if it is uncertain which function is passed."""
    found: set[Site] = set()
    for key in view.facts.blocks:
        for node in nodes_of_block(view, str(view.path), key):
            if isinstance(node, Call) and node.arguments and dotted_name(view, node.callee) in COMPILES:
                value = node.arguments[0].value
                if isinstance(value, (Name, Attribute)):
                    found.update(one.site for one in _meant(view, Site(str(view.path), key, value.site), value))
    return frozenset(found)


def _meant(view: FileView, site: Site, value: Name | Attribute) -> Iterator[Target]:
    """Yields the functions that a name or attribute at a site may refer to; none for an unknown object's attribute."""
    named = [one for one in functions_called(view, value.name) if one.is_method == (isinstance(value, Attribute))]
    if isinstance(value, Name):
        certain = function_at(view, view.span(site))
        yield from (certain,) if certain is not None else named
        return
    for one in named:
        home = class_around(view, one.at(one.node.site))
        if home is not None and is_object(view, site, value.object, home):
            yield one


def _is_jitted(view: FileView, target: Target) -> bool:
    for decorator in target.node.function.decorators:
        names = [decorator]
        if isinstance(decorator, Call):
            names = [decorator.callee, *(value for _, _, value in decorator.arguments[:1])]
        if any(dotted_name(view, name) in COMPILES for name in names):
            return True
    return False


def _of_function(view: FileView, function: str, dotted: str) -> tuple[Span, ...]:
    """Returns the applications of a map to the named function, and those whose result is assigned to that name."""
    name = function.rsplit(".", 1)[-1]
    found = set()
    for binding in view.records.bindings:
        site = binding.binder.site
        if not view.is_here(site) or canonical(binding.binder.dotted) != dotted:
            continue
        fn = decorated(view, binding)
        if (fn is not None and fn.function.name == name) or binding.function == name or name in results_of(view, site):
            found.add(view.span(site))
    return tuple(sorted(found))
