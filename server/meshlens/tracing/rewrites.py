"""What a target's compiler makes of the collectives that XLA's partitioner has put in.

XLA's compiler for CPUs leaves them as they are; those for GPUs and TPUs rewrite them before they count.  Each function
here does what one pass does; docs/trace.md compares the results with what the GPU's compiler gives.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace

from meshlens.tracing.hlo import Array, Computation, Instruction, Module

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


def moved_in(module: Module) -> tuple[Moved, ...]:
    """Returns the collectives that a target's compiler leaves of a partitioned module."""
    found: list[Moved] = []
    for computation in module.computations.values():
        if any(_kind(one) for one in computation.instructions.values()):
            found += _scattered(computation, _summed(computation))
    return tuple(found)


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
    """A sum of all-reduces over the same groups becomes one all-reduce of the sum."""
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
            if one.opcode not in _UNARY:
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


def _scattered(computation: Computation, moved: Iterable[Moved]) -> list[Moved]:
    """An all-reduce of which each device uses its own slice alone becomes a reduce-scatter."""
    users = users_in(computation)
    out = []
    for one in moved:
        if one.kind == "all-reduce" and (share := _share(computation, users, one)) > 1:
            arrays = tuple(replace(array, shape=_divided(array.shape, share)) for array in one.arrays)
            one = replace(one, kind="reduce-scatter", arrays=arrays)
        out.append(one)
    return out


def _share(computation: Computation, users: dict[str, list[str]], moved: Moved) -> int:
    """Returns how many times smaller the slices are that are used of a result; 1 if more than slices is used."""
    ends, slices = [moved.instruction.name], []
    seen = set(ends)
    root = computation.root
    while ends:
        name = ends.pop()
        if root is not None and root.name == name:
            return 1
        for user in users[name]:
            if user in seen:
                continue
            seen.add(user)
            one = computation.instructions[user]
            if one.opcode == "dynamic-slice":
                slices.append(one)
            elif one.opcode in _SLICED or one.opcode == "get-tuple-element":
                ends.append(user)
            else:
                return 1
    shares = {
        computation.instructions[one.operands[0]].array.elements // max(one.array.elements, 1)
        for one in slices
        if one.operands and one.operands[0] in computation.instructions
    }
    return min(shares) if shares else 1


def _divided(shape: tuple[int, ...], share: int) -> tuple[int, ...]:
    """A shape with so many times fewer elements; which axis is cut is told by the slice, and only its bytes matter."""
    for axis, size in enumerate(shape):
        if size % share == 0 and size:
            return (*shape[:axis], size // share, *shape[axis + 1 :])
    return shape
