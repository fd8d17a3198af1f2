"""Writes the application of `jax.pmap`: a decorator, a call instead of `jit`, or a wrapper."""

from __future__ import annotations

from meshlens.project.view import FileView
from meshlens.refactoring.maps.pmap import Obstacle
from meshlens.refactoring.maps.prefix import axes_text
from meshlens.refactoring.maps.step import Step
from meshlens.refactoring.reading.functions import Target
from meshlens.refactoring.reading.jit import operand_of
from meshlens.refactoring.reading.parameters import AXIS_PARAMETER
from meshlens.refactoring.writing.on_devices import MAPS, each_device
from meshlens.refactoring.writing.spelling import Spelling, fresh
from meshlens.refactoring.writing.writing import Call, Source, around, call_text, width_of
from meshlens.text import Edit, FileEdit, Span

_STATIC = "static_broadcasted_argnums"


def mapped_by_pmap(
    view: FileView, target: Target, step: Step, spelling: Spelling, devices: str | None, around_calls: str = ""
) -> tuple[str, tuple[FileEdit, ...]]:
    """Returns the mapped function's new name ("" if its calls keep the old name), and the edits that apply the map.

    Args:
        view: the file.
        target: the function.
        step: the analyzed step.
        spelling: spells the names.
        devices: the devices as code; None for all.
        around_calls: the decorator that maps the function without changing its calls; "" for a plain map.

    Raises:
        Obstacle: the application cannot be written.
    """
    arguments = _arguments(target, step, devices)
    if step.form.how == "decorator":
        library = Call(around_calls, arguments) if around_calls else None
        if library is None and step.library != "jax":
            library = Call(spelling.of(*MAPS[step.library]), arguments)
        return "", _decorator(view, target, spelling, step, arguments, library)
    if step.form.how == "call":
        assert step.folded is not None
        if step.folded.comments:
            raise Obstacle("comments", "there are comments between the arguments of this jit; move them first")
        return "", _instead(view, spelling, step, arguments, around_calls)
    if step.optional_axis and step.folded is not None:
        message = f'other uses of "{target.name}" compile it without an axis to average over'
        raise step.form.obstacle or Obstacle("compiled-for-others", message)
    if step.library != "jax":
        message = f'other uses of "{target.name}" compile it without a map'
        raise step.form.obstacle or Obstacle("compiled-for-others", message)
    name = fresh(view, f"parallel_{target.name}", f"p_{target.name}")
    start = view.span(target.at(target.node.site)).start
    end = view.span(target.at(target.node.site)).end
    indent, _ = around(view, Span(start, start))
    operand = _operand(target.name, step, spelling)
    call = Call(spelling.of("jax", "pmap"), (operand, *arguments))
    text = call_text(call, indent, width_of(view), len(indent) + len(name) + 3)
    gap = "\n\n" if indent else "\n\n\n"
    return name, (FileEdit(view.path, Edit(Span(end, end), f"{gap}{indent}{name} = {text}")),)


def _arguments(target: Target, step: Step, devices: str | None) -> tuple[str, ...]:
    folded = step.arguments(target)
    axes = step.axes
    around = step.form.around
    arguments = [f"axis_name={step.axis}"]
    if target.has_object and not step.form.is_bound:
        axes = (None, *axes)
        if not around and not any(argument.startswith(f"{_STATIC}=") for argument in folded):
            folded = (f"{_STATIC}=(0,)", *folded)
    if around or any(one is None for one in axes):
        arguments.append(f"in_axes=({', '.join(map(str, axes))}{',' * (len(axes) == 1)})")
    if around or step.out != 0:
        arguments.append(f"out_axes={axes_text(step.out)}")
    if devices is not None:
        arguments.append(f"devices={devices}")
    return (*arguments, *folded)


def _decorator(
    view: FileView,
    target: Target,
    spelling: Spelling,
    step: Step,
    arguments: tuple[str, ...],
    call: Call | None,
) -> tuple[FileEdit, ...]:
    folded = step.folded
    call = call or Call(spelling.of("functools", "partial"), (spelling.of("jax", "pmap"), *arguments))
    span = view.span(folded.site if folded is not None else target.at(target.node.site))
    indent, _ = around(view, Span(span.start, span.start))
    text = call_text(call, indent, width_of(view), len(indent) + 1)
    below, helper = each_device(view, spelling, step.care, step.axis)
    if folded is None:
        text = f"@{text}\n{indent}" + (f"@{below}\n{indent}" if below else "")
        return (*helper, FileEdit(view.path, Edit(Span(span.start, span.start), text)))
    text += f"\n{indent}@{below}" if below else ""
    at = view.source.rindex(b"@", 0, span.start)
    above = "".join(f"{comment}\n{indent}" for comment in folded.comments)
    comments = (FileEdit(view.path, Edit(Span(at, at), above)),) if above else ()
    return (*helper, *comments, FileEdit(view.path, Edit(span, text)))


def _instead(
    view: FileView, spelling: Spelling, step: Step, arguments: tuple[str, ...], around_calls: str
) -> tuple[FileEdit, ...]:
    assert step.folded is not None
    span = view.span(step.folded.site)
    indent, taken = around(view, span)
    text = _operand(view.text(operand_of(view, step.folded)), step, spelling)
    below, helper = each_device(view, spelling, step.care, step.axis)
    text = f"{below}({text})" if below else text
    if around_calls:
        written = f"{call_text(Call(around_calls, arguments), indent, width_of(view), taken)}({text})"
        return (*helper, FileEdit(view.path, Edit(span, written)))
    is_code = step.optional_axis or bool(below)
    call = Call(spelling.of(*MAPS[step.library]), (text if is_code else Source(text, indent), *arguments))
    return (*helper, FileEdit(view.path, Edit(span, call_text(call, indent, width_of(view), taken))))


def _operand(text: str, step: Step, spelling: Spelling) -> str:
    if not step.optional_axis:
        return text
    return f"{spelling.of('functools', 'partial')}({text}, {AXIS_PARAMETER}={step.axis})"
