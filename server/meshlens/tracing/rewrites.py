"""What a target's compiler makes of the collectives that XLA's partitioner has put in.

XLA's compiler for CPUs leaves them as they are; those for GPUs and TPUs rewrite them before they count.  Each function
here does what one pass does; docs/trace.md compares the results with what the GPU's compiler gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from meshlens.tracing.groups import groups_in
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
_NARROWED = ("all-gather", "all-to-all", "collective-permute", "collective-broadcast")
_SLICED = frozenset({"convert", "reshape", "transpose", "copy", "bitcast"})


@dataclass(frozen=True, slots=True)
class Moved:
    """A collective that remains.

    Attributes:
        kind: what it is: "all-reduce".
        instruction: the one of the partitioned module that it comes from.
        arrays: the types of its results.
        computation: the name of the computation that it runs in.
        merged: further instructions that went into it.
    """

    kind: str
    instruction: Instruction
    arrays: tuple[Array, ...]
    computation: str
    merged: tuple[Instruction, ...] = ()

    @property
    def bytes(self) -> int:
        """Those of its results on one device."""
        return sum(array.bytes for array in self.arrays)


def moved_in(module: Module, devices: int) -> tuple[Moved, ...]:
    """Returns the collectives that a target's compiler leaves of a partitioned module.

    Args:
        module: as XLA dumped it after its partitioner.
        devices: how many there are.
    """
    found: list[Moved] = []
    loops = _loops(module)
    for computation in module.computations.values():
        if any(_kind(one) for one in computation.instructions.values()):
            summed = _summed(computation)
            if around := loops.get(computation.name):
                summed = _out_of_loop(computation, around, summed)
            found += _scattered(computation, _narrowed(computation, summed), devices)
    return tuple(found)


def _loops(module: Module) -> dict[str, str]:
    """Returns the bodies of loops by name, each with the computation that its loop stands in."""
    return {
        one.attribute("body").lstrip("%"): computation.name
        for computation in module.computations.values()
        for one in computation.instructions.values()
        if one.opcode == "while"
    }


def _kind(instruction: Instruction) -> str:
    opcode = instruction.opcode.removesuffix("-start")
    return opcode if opcode in MOVES else ""


def users_in(computation: Computation) -> dict[str, list[str]]:
    """Returns the names of the instructions that use each result."""
    users: dict[str, list[str]] = defaultdict(list)
    for one in computation.instructions.values():
        for operand in dict.fromkeys(one.operands):
            users[operand].append(one.name)
    return users


def _summed(computation: Computation) -> list[Moved]:
    """A sum of all-reduces over the same groups becomes one all-reduce of the sum; so does a sum of their slices."""
    users = users_in(computation)
    instructions = computation.instructions
    moved = {
        one.name: Moved(_kind(one), one, one.arrays, computation.name)
        for one in instructions.values()
        if _kind(one) and not one.opcode.endswith("-done")
    }
    # The all-reduce that an addition stands for, by the name of the addition.
    stands_for: dict[str, str] = {}

    def reduced(name: str) -> str:
        while True:
            one = instructions.get(name)
            if one is None or len(users[name]) != 1:
                return ""
            if name in stands_for:
                return stands_for[name]
            if one.opcode == "all-reduce":
                return name if len(one.arrays) == 1 else ""
            if one.opcode not in _UNARY and one.opcode != "dynamic-slice":
                return ""
            name = one.operands[0]

    for one in instructions.values():
        if one.opcode != "add" or len(one.operands) != 2:
            continue
        left, right = map(reduced, one.operands)
        if not left or not right or left == right or _over(moved[left]) != _over(moved[right]):
            continue
        first, second = moved[left], moved.pop(right)
        wide = one.arrays if one.array.elements == first.arrays[0].elements else first.arrays
        moved[left] = replace(first, arrays=wide, merged=(*first.merged, second.instruction, *second.merged))
        stands_for[one.name] = left
        for name, target in stands_for.items():
            if target == right:
                stands_for[name] = left
    return list(moved.values())


def _over(moved: Moved) -> str:
    return moved.instruction.attribute("replica_groups")


def _out_of_loop(computation: Computation, around: str, moved: Iterable[Moved]) -> list[Moved]:
    """An all-reduce that a loop only adds to an accumulator is done once, on the accumulator, after the loop."""
    users = users_in(computation)
    out = []
    for one in moved:
        added = _added(computation, users, one) if one.kind == "all-reduce" else None
        out.append(replace(one, computation=around, arrays=added.arrays) if added is not None else one)
    return out


def _added(computation: Computation, users: dict[str, list[str]], moved: Moved) -> Instruction | None:
    """Returns the addition to an accumulator that is all that becomes of an all-reduce."""
    instructions, root = computation.instructions, computation.root
    names = {one.name for one in (moved.instruction, *moved.merged)}
    name = moved.instruction.name
    while len(users[name]) == 1:
        one = instructions[users[name][0]]
        if one.opcode in _SLICED or (one.opcode == "add" and _is_merged(instructions, one, names, name)):
            name = one.name
        elif one.opcode == "add" and root is not None:
            other = next((operand for operand in one.operands if operand != name), "")
            return one if _accumulates(instructions, users, other, one, root) else None
        else:
            return None
    return None


def _is_merged(instructions: dict[str, Instruction], added: Instruction, names: set[str], name: str) -> bool:
    """Whether the other summand is one of the all-reduces that were put together."""
    other = next((operand for operand in added.operands if operand != name), "")
    while other in instructions:
        if other in names:
            return True
        one = instructions[other]
        if one.opcode not in _UNARY:
            return False
        other = one.operands[0]
    return False


def _accumulates(
    instructions: dict[str, Instruction],
    users: dict[str, list[str]],
    accumulator: str,
    added: Instruction,
    root: Instruction,
) -> bool:
    carried = instructions.get(accumulator)
    if carried is None or carried.opcode != "get-tuple-element" or users[accumulator] != [added.name]:
        return False
    index = carried.attribute("index")
    if root.opcode != "tuple" or not index.isdigit() or int(index) >= len(root.operands):
        return False
    result = root.operands[int(index)]
    while result in instructions and instructions[result].opcode in ("copy", "bitcast"):
        result = instructions[result].operands[0]
    return result == added.name and users[added.name] in ([root.name], [])


def _narrowed(computation: Computation, moved: Iterable[Moved]) -> list[Moved]:
    """What is widened before it is moved, or narrowed after, is moved in the narrower type."""
    users = users_in(computation)
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
    """The type that a value had before it was converted on its way to a collective."""
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
    """The type that the result of a collective is converted to before anything else is made of it."""
    name = moved.name
    while len(users[name]) == 1:
        one = computation.instructions[users[name][0]]
        if one.opcode == "convert":
            return one.array.dtype if _both_real(moved, one) else ""
        if one.opcode not in _KEPT:
            return ""
        name = one.name
    return ""


def _both_real(one: Instruction, other: Instruction) -> bool:
    return all(array.dtype.startswith(("f", "bf")) for array in (one.array, other.array))


def _scattered(computation: Computation, moved: Iterable[Moved], devices: int) -> list[Moved]:
    """An all-reduce of which each device uses its own slice alone becomes a reduce-scatter."""
    users = users_in(computation)
    out = []
    for one in moved:
        if one.kind == "all-reduce" and len(one.arrays) == 1 and one.computation == computation.name:
            groups = groups_in(one.instruction.attribute("replica_groups"), devices)
            number = max((len(group) for group in groups), default=1)
            if number > 1 and _is_sliced(computation, users, one.instruction.name, number):
                array = one.arrays[0]
                one = replace(one, kind="reduce-scatter", arrays=(replace(array, shape=_cut(array.shape, number)),))
        out.append(one)
    return out


def _is_sliced(computation: Computation, users: dict[str, list[str]], name: str, number: int) -> bool:
    """Whether all that is used of a result is one slice, cut along one axis into as many as there are devices."""
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
    """A shape with so many times fewer elements; only its bytes matter, and the slice tells which axis is cut."""
    for axis, size in enumerate(shape):
        if size and size % number == 0:
            return (*shape[:axis], size // number, *shape[axis + 1 :])
    return shape
