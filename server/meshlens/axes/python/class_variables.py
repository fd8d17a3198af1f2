"""Class variables: changes after the class was created, and the hook that a class calls for each of its subclasses."""

from __future__ import annotations

from dataclasses import replace

from meshlens.axes.domain.classes import class_attribute, inner_of, lineage
from meshlens.axes.domain.joining import join
from meshlens.axes.domain.values import UNKNOWN, Arg, Bound, Class, Dict, Ext, Function, Made, Seq, Value
from meshlens.axes.python.tables_of_modules import grow, with_added
from meshlens.axes.runs.context import Context
from meshlens.axes.runs.frames import Frame
from meshlens.axes.runs.invocation import Invocation
from meshlens.axes.runs.run import Run
from meshlens.axes.runs.scopes import Place, put
from meshlens.facts.nodes import Assign, Attribute, Name
from meshlens.facts.walking import nodes

_HOOK = "__init_subclass__"
_REPLACED = Ext("meshlens.replaced")
"""The key, among the entries that a run adds to a class variable, of a value that it assigns to the variable."""


def variable(run: Run, cls: Class, name: str) -> Value | None:
    """Returns the value of a class variable in this run, found on a class or its bases; None if there is none."""
    if not run.grown and not run.scoped:
        value = class_attribute(cls, name)
    else:
        value = next((value for one in lineage(cls) if (value := _own_variable(run, one, name)) is not None), None)
    if type(value) is Dict and not value.items:
        # Other runs may find entries.
        run.overlaid += 1
    if type(value) is Made and value.dotted == "dataclasses.field":
        return dict(value.arguments).get("default", value)
    return value


def _own_variable(run: Run, cls: Class, name: str) -> Value | None:
    if run.scoped and (scoped := run.scoped.get(Place(*_key(cls, name)))) is not None:
        return scoped
    value = cls.frame.vars.get(name)
    changes = run.grown.get(_key(cls, name))
    if changes is None:
        return value
    run.overlaid += 1
    known = dict(changes)
    value = known.pop(_REPLACED, value)
    return with_added(value, tuple(known.items())) if known and isinstance(value, Dict) else value


def _key(cls: Class, name: str) -> tuple[str, str]:
    return (cls.path, f"{cls.name}@{cls.site.index}.{name}")


def set_variable(run: Run, cls: Class, name: str, value: Value, is_certain: bool) -> None:
    """Sets a class variable; only for this run if another run created the class."""
    known = variable(run, cls, name) if not is_certain else None
    if put(run, Place(*_key(cls, name)), value, known or UNKNOWN, not is_certain):
        return
    _set(run, cls, name, join(known, value) if known is not None else value)


def _set(run: Run, cls: Class, name: str, value: Value) -> None:
    run.epoch += 1
    if cls in run.own_classes:
        cls.frame.vars[name] = value
        if run.moments:
            # The watched statement would see the new value.
            run.moments = None
    else:
        run.grown[_key(cls, name)] = ((_REPLACED, value),)


def change_variable(run: Run, cls: Class, name: str, before: Value, after: Value, ctx: Context) -> None:
    """Replaces a container in a class variable, such as a registry, after a change in place.

    Args:
        run: the run.
        cls: the class through which the variable was found.
        name: the variable.
        before: the container before the change.
        after: the container after it.
        ctx: the context.
    """
    holder = next((one for one in lineage(cls) if _own_variable(run, one, name) is not None), cls)
    if isinstance(after, Dict) and not after.attributes:
        # Other classes may also add entries to the table.
        after = replace(after, open=True)
    if ctx.conditional:
        after = join(before, after)
    if put(run, Place(*_key(holder, name)), after, before, False):
        return
    if holder not in run.own_classes and isinstance(before, Dict) and isinstance(after, Dict):
        grow(run, _key(holder, name), before, after)
    else:
        is_list = holder not in run.own_classes and isinstance(after, Seq)
        _set(run, holder, name, replace(after, open=True) if is_list and isinstance(after, Seq) else after)


def tell_bases(run: Run, cls: Class, keywords: tuple[Arg, ...], frame: Frame, ctx: Context) -> None:
    """Calls the `__init_subclass__` of a new class's bases, as Python does once the body of the class has run.

    Args:
        run: the run.
        cls: the new class.
        keywords: the keywords of the class statement.
        frame: the frame of the class statement.
        ctx: the context.
    """
    hook = inner_of(next((one.frame.vars[_HOOK] for one in cls.above if _HOOK in one.frame.vars), UNKNOWN))
    if not isinstance(hook, Function):
        return
    entered = run.bodies
    run.invoke(Invocation(Bound(cls, hook), keywords, cls.site, cls.site, frame, ctx, "start"))
    if run.bodies == entered and hook.parameters:
        # The hook did not run, so what it sets is unknown.
        own = hook.parameters[0].name
        for node in nodes(run.body(hook)):
            for target in node.targets if isinstance(node, Assign) else ():
                if isinstance(target, Attribute) and isinstance(target.object, Name) and target.object.name == own:
                    _set(run, cls, target.name, UNKNOWN)


def has_hook(cls: Class) -> bool:
    """Returns whether a base of a class has an `__init_subclass__`."""
    return any(_HOOK in one.frame.vars for one in cls.above)
