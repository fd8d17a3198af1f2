"""Methods: a map compiles the values of the instance's attributes into the program, so they must never change."""

from __future__ import annotations

from meshlens.facts.nodes import Attribute, ClassDef, FunctionDef, Name
from meshlens.project.trees import walk
from meshlens.project.view import FileView
from meshlens.refactoring.maps.form import Form
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.reading.functions import Target, functions
from meshlens.refactoring.reading.mentions import storing
from meshlens.refactoring.reading.object_kinds import kind_of_class
from meshlens.refactoring.reading.scopes import class_around

_COMPARES = frozenset({"__eq__", "__hash__"})


def must_have_a_fixed_object(view: FileView, target: Target, form: Form) -> None:
    """Checks that a method's instance is or can become a static argument.

    Raises:
        Obstacle: the instance cannot become one.
    """
    if not target.has_object or form.is_bound:
        return
    receiver = target.node.function.parameters[0].name if target.node.function.parameters else ""
    if form.folded is not None:
        owner = (class_around(view, target.at(target.node.site)) or "").split("~")[0]
        if form.around and (form.folded.library != "jax" or kind_of_class(view, owner) not in (None, "plain")):
            return
        if receiver not in form.folded.static:
            raise Obstacle(
                "object-argument", f'jit treats the "self" of "{target.name}" as a pytree, whose leaves pmap would map'
            )
        return
    home = class_around(view, target.at(target.node.site)) or ""
    block = view.facts.blocks.get(home)
    if block is None or not isinstance(block.shape, ClassDef):
        raise Obstacle("method", f'the class of "{target.name}" is not defined at the top level')
    methods = {one.name: one.node for one in functions(view) if one.is_method and one.site.block.startswith(f"{home}.")}
    bases, decorators = block.shape.bases, block.shape.decorators
    plain = all(base.name == "object" for _, _, base in bases if isinstance(base, Name)) and not decorators
    if not plain or any(not isinstance(base, Name) for _, _, base in bases) or methods.keys() & _COMPARES:
        raise Obstacle(
            "object-hash", f'pmap may confuse different instances of "{home}" when they are static arguments'
        )
    for name in sorted(_read(target, receiver, methods)):
        if storing(view, name) - {"__init__"}:
            raise Obstacle(
                "object-changes", f'"{target.name}" reads the attribute "{name}", which is set outside __init__'
            )


def _read(target: Target, receiver: str, methods: dict[str, FunctionDef]) -> set[str]:
    """Returns the attributes that a method, and the methods that it calls, read from the instance."""
    found: set[str] = set()
    waiting = [target.node]
    while waiting:
        node = waiting.pop()
        taken = {
            inner.name
            for inner in walk(node)
            if isinstance(inner, Attribute) and isinstance(inner.object, Name) and inner.object.name == receiver
        }
        waiting += [methods[name] for name in taken - found if name in methods]
        found |= taken
    return found
