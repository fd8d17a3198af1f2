"""The changes that a target's compiler makes to the collectives that XLA's partitioner inserted.

XLA's compiler for CPUs leaves them unchanged; its compilers for GPUs and TPUs rewrite them. Each function here does
what one compiler pass does; docs/trace.md compares the results with those of the GPU compiler.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import prod

from meshlens.tracing.groups import Groups, groups_in, numbers
from meshlens.tracing.hlo import WIDTHS, Array, Computation, Instruction, Module

MOVES = (
    "all-gather",
    "all-reduce",
    "reduce-scatter",
    "collective-permute",
    "all-to-all",
    "ragged-all-to-all",
    "collective-broadcast",
)
_UNARY = frozenset({"convert", "reshape", "transpose", "copy", "bitcast", "negate"})
_KEPT = frozenset({"reshape", "transpose", "copy", "bitcast", "slice"})
_COPIES = ("copy", "bitcast")
_NARROWED = ("all-gather", "all-to-all", "collective-permute", "collective-broadcast")
_SLICED = frozenset({"convert", "reshape", "transpose", "copy", "bitcast"})


@dataclass(frozen=True, slots=True)
class Moved:
    """A collective that remains after the rewrites.

    Attributes:
        kind: its kind, such as "all-reduce".
        instruction: the instruction in the partitioned module that it comes from.
        arrays: the types of its results.
        computation: the name of its computation.
        groups: the groups of devices.
        result: the name of the instruction whose value the collective provides.
        merged: other instructions merged into it.
    """

    kind: str
    instruction: Instruction
    arrays: tuple[Array, ...]
    computation: str
    groups: Groups
    result: str
    merged: tuple[Instruction, ...] = ()

    @property
    def bytes(self) -> int:
        """Returns the bytes of its results on one device."""
        return sum(array.bytes for array in self.arrays)


def moved_in(module: Module, devices: int) -> tuple[Moved, ...]:
    """Returns the collectives that a target's compiler leaves in a partitioned module.

    Args:
        module: the module that XLA dumped after its partitioner.
        devices: the number of devices.
    """
    found: list[Moved] = []
    loops = _loops(module)
    for original in module.computations.values():
        if any(_kind(one) for one in original.instructions.values()):
            computation = _simplified(original)
            reduced = _reduced(module, computation, _folded(module, computation, devices))
            summed = _summed(module, computation, reduced)
            if around := loops.get(computation.name):
                summed = _out_of_loop(computation, around, summed)
            found += _scattered(computation, _narrowed(computation, _needed(computation, summed)))
    return tuple(found)


def _simplified(computation: Computation) -> Computation:
    """Returns a computation with reductions over axes of size 1 replaced with reshapes."""
    instructions = dict(computation.instructions)
    for name, one in computation.instructions.items():
        operand = instructions.get(one.operands[0]) if one.operands else None
        if one.opcode == "reduce" and operand is not None and operand.array.elements == one.array.elements:
            instructions[name] = replace(one, opcode="reshape", operands=one.operands[:1])
    return Computation(computation.name, instructions)


def _loops(module: Module) -> dict[str, str]:
    """Returns the bodies of loops by name, each with the computation that contains the loop."""
    return {
        one.attribute("body").lstrip("%"): computation.name
        for computation in module.computations.values()
        for one in computation.instructions.values()
        if one.opcode == "while"
    }


def _kind(instruction: Instruction) -> str:
    opcode = instruction.opcode.removesuffix("-start")
    return opcode if opcode in MOVES else ""


def _folded(module: Module, computation: Computation, devices: int) -> dict[str, Moved]:
    """Returns the collectives by name, merging an all-reduce of an all-reduce into one over the devices of both."""
    users = computation.users
    moved = {
        one.name: Moved(_kind(one), one, one.arrays, computation.name, _groups(one, devices), one.name)
        for one in computation.instructions.values()
        if _kind(one) and not one.opcode.endswith("-done")
    }
    for name, outer in list(moved.items()):
        inner = moved.get(outer.instruction.operands[0]) if outer.instruction.operands else None
        if inner is None or outer.kind != "all-reduce" or inner.kind != "all-reduce" or len(users[inner.result]) != 1:
            continue
        groups = _both(inner.groups, outer.groups)
        if groups and _reduces(module, inner.instruction) == _reduces(module, outer.instruction):
            del moved[inner.result]
            moved[name] = replace(outer, groups=groups, merged=(inner.instruction, *inner.merged))
    return moved


def _groups(instruction: Instruction, devices: int) -> Groups:
    if pairs := instruction.attribute("source_target_pairs"):
        return tuple(pair for pair in groups_in(pairs, devices) if len(set(pair)) > 1)
    return groups_in(instruction.attribute("replica_groups"), devices)


def _both(inner: Groups, outer: Groups) -> Groups:
    """Returns the combined groups of two consecutive all-reduces; none if a value would be counted twice."""
    of_device = {device: group for group in inner for device in group}
    folded: dict[int, tuple[int, ...]] = {}
    for group in outer:
        devices = [one for device in group for one in of_device.get(device, ())]
        if len(set(devices)) != len(devices):
            return ()
        folded |= dict.fromkeys(group, tuple(sorted(devices)))
    if any(folded.get(device) != group for group in folded.values() for device in group):
        return ()
    return tuple(sorted(set(folded.values())))


def _reduces(module: Module, instruction: Instruction) -> str:
    """Returns the operation of a reduction, such as "add"."""
    computation = module.computations.get(instruction.attribute("to_apply").lstrip("%"))
    return computation.root.opcode if computation is not None and computation.root is not None else ""


def _reduced(module: Module, computation: Computation, moved: dict[str, Moved]) -> dict[str, Moved]:
    """Moves the all-reduce of a sum past further sums, because XLA sums over all axes at once."""
    users = computation.users
    instructions = computation.instructions
    out = {}
    for key, one in moved.items():
        name, operand = one.result, instructions.get(one.instruction.operands[0]) if one.instruction.operands else None
        while len(users[name]) == 1 and instructions[users[name][0]].opcode in _SLICED:
            name = users[name][0]
        further = instructions[users[name][0]] if len(users[name]) == 1 else None
        if (
            one.kind == "all-reduce"
            and operand is not None
            and further is not None
            and operand.opcode == further.opcode == "reduce"
            and {_reduces(module, reducing) for reducing in (operand, one.instruction, further)} == {"add"}
            and not one.merged
        ):
            out[further.name] = replace(one, arrays=further.arrays, result=further.name)
        else:
            out[key] = one
    return out


def _summed(module: Module, computation: Computation, moved: dict[str, Moved]) -> list[Moved]:
    """Replaces a sum of all-reduces over the same groups, or of their slices, with one all-reduce of the sum."""
    users = computation.users
    instructions = computation.instructions
    # The all-reduce that replaces an addition, by the name of the addition.
    stands_for: dict[str, str] = {}

    def reduced(name: str) -> str:
        while True:
            one = instructions.get(name)
            if one is None or len(users[name]) != 1:
                return ""
            if name in stands_for:
                return stands_for[name]
            if name in moved:
                adds = moved[name].kind == "all-reduce" and _reduces(module, moved[name].instruction) == "add"
                return name if adds and len(one.arrays) == 1 else ""
            if one.opcode not in _UNARY and one.opcode != "dynamic-slice":
                return ""
            name = one.operands[0]

    for one in instructions.values():
        if one.opcode != "add" or len(one.operands) != 2:
            continue
        left, right = map(reduced, one.operands)
        if not left or not right or left == right or moved[left].groups != moved[right].groups:
            continue
        if any(_adds_to_nothing(module, computation, moved[name].instruction) for name in (left, right)):
            continue
        first, second = moved[left], moved.pop(right)
        wide = one.arrays if one.array.elements == first.arrays[0].elements else first.arrays
        merged = (*first.merged, second.instruction, *second.merged)
        moved[left] = replace(first, arrays=wide, result=one.name, merged=merged)
        stands_for[one.name] = left
        for name, target in stands_for.items():
            if target == right:
                stands_for[name] = left
    return list(moved.values())


def _adds_to_nothing(module: Module, computation: Computation, reducing: Instruction) -> bool:
    """Returns whether an all-reduce reduces a scatter-add into zeros; XLA scatters into the other summand instead."""
    instructions = computation.instructions
    one = instructions.get(reducing.operands[0]) if reducing.operands else None
    if one is None or one.opcode != "scatter" or _reduces(module, one) != "add":
        return False
    bases = list(one.operands[:1])
    for name in bases:
        base = instructions.get(name)
        if base is None or base.opcode not in ("select", "broadcast", "constant"):
            return False
        if base.opcode == "constant" and base.literal.strip() not in ("0", "-0"):
            return False
        bases += base.operands[1:] if base.opcode == "select" else base.operands
    return True


def _out_of_loop(computation: Computation, around: str, moved: Iterable[Moved]) -> list[Moved]:
    """Replaces an all-reduce that a loop only adds to an accumulator: the accumulator is reduced after the loop."""
    users = computation.users
    out = []
    for one in moved:
        added = _added(computation, users, one) if one.kind == "all-reduce" else ()
        arrays = tuple([array for addition in added for array in addition.arrays])
        out.append(replace(one, computation=around, arrays=arrays) if added else one)
    return out


def _added(computation: Computation, users: dict[str, list[str]], moved: Moved) -> tuple[Instruction, ...]:
    """Returns the additions to accumulators that are the only uses of an all-reduce, or of all its slices."""
    name = moved.result
    while len(users[name]) == 1 and computation.instructions[users[name][0]].opcode in _SLICED:
        name = users[name][0]
    is_cut = all(computation.instructions[user].opcode == "slice" for user in users[name])
    found = [_addition(computation, users, part) for part in (users[name] if is_cut else [name])]
    return tuple([one for one in found if one is not None]) if None not in found else ()


def _addition(computation: Computation, users: dict[str, list[str]], name: str) -> Instruction | None:
    """Returns the addition to an accumulator that is the only use of a value."""
    instructions, root = computation.instructions, computation.root
    while len(users[name]) == 1:
        one = instructions[users[name][0]]
        if one.opcode in _SLICED:
            name = one.name
        elif one.opcode == "add" and root is not None:
            other = next((operand for operand in one.operands if operand != name), "")
            return one if _accumulates(instructions, users, other, one, root) else None
        else:
            return None
    return None


def _accumulates(
    instructions: dict[str, Instruction],
    users: dict[str, list[str]],
    accumulator: str,
    added: Instruction,
    root: Instruction,
) -> bool:
    # Explicit axes and constraints leave copies around each value.
    user = added.name
    while (carried := instructions.get(accumulator)) is not None and users[accumulator] == [user]:
        if carried.opcode not in _COPIES:
            break
        accumulator, user = carried.operands[0], accumulator
    if carried is None or carried.opcode != "get-tuple-element" or users[accumulator] != [user]:
        return False
    index = carried.attribute("index")
    if root.opcode != "tuple" or not index.isdigit() or int(index) >= len(root.operands):
        return False
    result, user = root.operands[int(index)], root.name
    while result in instructions and instructions[result].opcode in _COPIES and users[result] == [user]:
        result, user = instructions[result].operands[0], result
    return result == added.name and users[result] == [user]


def _needed(computation: Computation, moved: Iterable[Moved]) -> list[Moved]:
    """Returns the collectives, without any all-gather of which each device uses only the part that it already had."""
    users = computation.users
    return [one for one in moved if one.kind != "all-gather" or not _is_undone(computation, users, one.instruction)]


def _is_undone(computation: Computation, users: dict[str, list[str]], gather: Instruction) -> bool:
    """Returns whether the only use of an all-gather is a slice as large as its operand, along the gathered axis."""
    operand = computation.instructions.get(gather.operands[0]) if len(gather.operands) == 1 else None
    name = gather.name
    while len(users[name]) == 1:
        one = computation.instructions[users[name][0]]
        if one.opcode == "dynamic-slice":
            return operand is not None and one.operands[0] == name and one.array == operand.array
        if one.opcode not in _COPIES:
            return False
        name = one.name
    return False


def _narrowed(computation: Computation, moved: Iterable[Moved]) -> list[Moved]:
    """Returns the collectives with the narrower type if conversions surround them, so that XLA moves fewer bytes."""
    users = computation.users
    out = []
    for one in moved:
        if one.kind in _NARROWED and len(one.arrays) == 1 and len(one.instruction.operands) == 1:
            dtypes = (_before(computation, one.instruction), _after(computation, users, one.instruction))
            narrow = min(filter(None, dtypes), key=lambda dtype: WIDTHS[dtype], default="")
            if narrow and WIDTHS[narrow] < WIDTHS.get(one.arrays[0].dtype, 0.0):
                one = replace(one, arrays=(replace(one.arrays[0], dtype=narrow),))
        out.append(one)
    return out


def _before(computation: Computation, moved: Instruction) -> str:
    """Returns the type of a value before its conversion on the way to a collective."""
    one = computation.instructions.get(moved.operands[0])
    while one is not None and one.operands:
        if one.opcode == "convert":
            source = computation.instructions.get(one.operands[0])
            return source.array.dtype if source is not None and _both_real(source, one) else ""
        if one.opcode not in _KEPT:
            return ""
        one = computation.instructions.get(one.operands[0])
    return ""


def _after(computation: Computation, users: dict[str, list[str]], moved: Instruction) -> str:
    """Returns the type that a collective's result is converted to before any other use."""
    name = moved.name
    while len(users[name]) == 1:
        one = computation.instructions[users[name][0]]
        if one.opcode == "convert":
            return one.array.dtype if _both_real(moved, one) and len(set(_uses(computation, users, one))) < 2 else ""
        if one.opcode not in _KEPT:
            return ""
        name = one.name
    return ""


def _uses(computation: Computation, users: dict[str, list[str]], value: Instruction) -> Iterable[tuple[object, ...]]:
    """Yields the uses of a value; in a product, XLA uses the value itself, its transpose or a reshape of it."""
    for name in users[value.name]:
        one = computation.instructions[name]
        if one.opcode in _COPIES:
            yield from _uses(computation, users, one)
        elif one.opcode == "reshape":
            yield one.opcode, one.array.shape
        elif one.opcode == "dot":
            sides = ("rhs", "lhs") if _is_transposed(computation, users, one) else ("lhs", "rhs")
            for written, side, operand in zip(("lhs", "rhs"), sides, one.operands, strict=False):
                if operand == value.name:
                    yield _multiplied(one, written, side, value.array.shape)
        else:
            yield (name,)


def _is_transposed(computation: Computation, users: dict[str, list[str]], product: Instruction) -> bool:
    """Returns whether a product is transposed, in which case XLA multiplies in the other order."""
    name = product.name
    while len(product.array.shape) == 2 and len(users[name]) == 1:
        one = computation.instructions[users[name][0]]
        if one.opcode == "transpose":
            return one.attribute("dimensions") == "{1,0}"
        if one.opcode not in ("all-reduce", "convert", "copy"):
            break
        name = one.name
    return False


def _multiplied(product: Instruction, written: str, side: str, shape: tuple[int, ...]) -> tuple[object, ...]:
    """Returns how XLA lays out an operand of a product, given the side as written and the side on which XLA puts it."""
    batch, inner = (numbers(product.attribute(f"{written}_{kind}_dims")) for kind in ("batch", "contracting"))
    free = [axis for axis in range(len(shape)) if axis not in batch and axis not in inner]
    order = [*batch, *free, *inner] if side == "lhs" else [*batch, *inner, *free]
    if order != sorted(order):
        return "transpose", tuple(order)
    if len(free) < 2 and len(inner) < 2:
        return "dot", side
    rows, columns = (free, inner) if side == "lhs" else (inner, free)
    matrix = (prod(shape[axis] for axis in part) for part in (rows, columns) if part)
    return "reshape", (*(shape[axis] for axis in batch), *matrix)


def _both_real(one: Instruction, other: Instruction) -> bool:
    return all(array.dtype.startswith(("f", "bf")) for array in (one.array, other.array))


def _scattered(computation: Computation, moved: Iterable[Moved]) -> list[Moved]:
    """Replaces an all-reduce with a reduce-scatter if each device uses only its own slice of the result."""
    users = computation.users
    out = []
    for one in moved:
        if one.kind == "all-reduce" and len(one.arrays) == 1 and one.computation == computation.name:
            number = max((len(group) for group in one.groups), default=1)
            if number > 1 and _is_sliced(computation, users, one.result, number):
                array = one.arrays[0]
                one = replace(one, kind="reduce-scatter", arrays=(replace(array, shape=_cut(array.shape, number)),))
        out.append(one)
    return out


def _is_sliced(computation: Computation, users: dict[str, list[str]], name: str, number: int) -> bool:
    """Returns whether the only use of a result is one slice, along an axis cut into one part per device."""
    root = computation.root
    while len(users[name]) == 1 and (root is None or root.name != name):
        one = computation.instructions[users[name][0]]
        if one.opcode == "dynamic-slice" and one.operands[0] == name:
            whole = computation.instructions[name].array.shape
            cut = [(a, b) for a, b in zip(whole, one.array.shape, strict=False) if a != b]
            return len(cut) == 1 and cut[0][0] == cut[0][1] * number
        if one.opcode not in _SLICED:
            return False
        name = one.name
    return False


def _cut(shape: tuple[int, ...], number: int) -> tuple[int, ...]:
    """Returns a shape with `number` times fewer elements; only its size in bytes matters, not which axis is cut."""
    for axis, size in enumerate(shape):
        if size and size % number == 0:
            return (*shape[:axis], size // number, *shape[axis + 1 :])
    return shape
