"""Reads the output of XLA's partitioner: collectives by line, the sharding of each line's value, and flops."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod

from meshlens.tracing.groups import Groups, axes_of
from meshlens.tracing.hlo import WIDTHS, Computation, Instruction, Module, places_in
from meshlens.tracing.model import Collective, Estimate, Place
from meshlens.tracing.rewrites import Moved, moved_in
from meshlens.tracing.specs import spec_of

Mesh = tuple[tuple[str, int], ...]
ToUser = Callable[[Iterable[tuple[str, int]]], list[tuple[str, int]]]
"""Returns the given places that are in the user's files."""

_DIRECTION = re.compile(r"direction=(\w+)")
_KNOWN_TRIPS = re.compile(r'known_trip_count\\?"?:\s*\{\\?"?n\\?"?:\s*\\?"?(\d+)')
_NEAR = 30
_MOST_USERS, _STEPS = 4, 3
_THROUGH = frozenset({"copy", "convert", "bitcast", "reshape"})


@dataclass(frozen=True, slots=True)
class Partitioned:
    """The contents of a partitioned module.

    Attributes:
        collectives: the collectives by line, largest first.
        flops: floating-point operations of matrix products and convolutions on one device.
        unknown_loops: lines of loops with an unknown number of iterations.
        unequal_branches: lines where communication or computation depends on the branch.
        lost: the number of collectives that no user line leads to.
    """

    collectives: tuple[Collective, ...]
    flops: float
    unknown_loops: tuple[Place, ...]
    unequal_branches: tuple[Place, ...]
    lost: int


Estimating = Callable[[str, int, Groups], "Estimate | None"]
"""Returns the minimum time of a collective, given its kind, the bytes of its result and its groups."""


def read_partitioned(module: Module, mesh: Mesh, devices: int, to_user: ToUser, estimate: Estimating) -> Partitioned:
    """Returns the contents of a partitioned module, with its collectives as the target would run them.

    Args:
        module: the module that XLA dumped after its partitioner.
        mesh: the axes of the program's mesh.
        devices: the number of devices.
        to_user: selects places in the user's files.
        estimate: returns the minimum time of a collective.
    """
    locate = _through(module, _locator(module, to_user))
    collectives = moved_in(module, devices)
    sizes = _sizes(module, collectives)
    runs = times_in(module, sizes)
    times = runs.times
    backward = _backward(module)
    rows: dict[tuple[object, ...], Collective] = {}
    lost = 0
    for moved in collectives:
        count = times.get(moved.computation, 0)
        one = _collective(moved, count, mesh, locate)
        if one is None:
            continue
        one = replace(one, backward=moved.instruction.name in backward)
        if (seconds := estimate(moved.kind, moved.bytes, moved.groups)) is not None:
            one = replace(one, seconds=replace(seconds, lower_bound=seconds.lower_bound * count))
        lost += one.place is None
        key = (one.place, one.kind, one.axes, one.group_size, one.backward, one.others)
        rows[key] = _together(rows[key], one) if key in rows else one
    return Partitioned(
        tuple(sorted(rows.values(), key=lambda one: (-one.bytes, one.place or Place("", 0)))),
        sum(computed * times.get(name, 0) for name, (_, computed) in sizes.items()),
        tuple(sorted({place for one in runs.unknown_loops if (place := locate(one)) is not None})),
        tuple(sorted({place for one in runs.unequal_branches if (place := locate(one)) is not None})),
        lost,
    )


def _backward(module: Module) -> set[str]:
    """Returns the names of the instructions of the backward pass, including those of the loops and calls in it."""
    own = {
        one.name
        for computation in module.computations.values()
        for one in computation.instructions.values()
        if "transpose(" in one.text and "transpose(" in one.op_name
    }
    calls = _calls(module)
    forward = {module.entry}
    for name in _callers_first(module.entry, calls):
        if name in forward:
            forward |= {callee for one in calls[name] if one.instruction.name not in own for callee in one.callees}
    return own.union(
        *(computation.instructions for name, computation in module.computations.items() if name not in forward)
    )


def _locator(module: Module, to_user: ToUser) -> Callable[[Instruction], Place | None]:
    of = places_in(module)

    def locate(instruction: Instruction) -> Place | None:
        found = to_user(of(instruction))
        return Place(*found[0]) if found else None

    return locate


def _through(module: Module, locate: Callable[[Instruction], Place | None]) -> Callable[[Instruction], Place | None]:
    """Returns a function that returns the place of an instruction, or else that of one of its operands or users.

    A resharded result has no place, but its operands may have one; a gathered argument has no operands, but its users
    may have a place.
    """
    instructions = {
        one.name: one for computation in module.computations.values() for one in computation.instructions.values()
    }
    users: dict[str, list[str]] = {}

    def nearest(name: str, near: Callable[[str], Iterable[str]]) -> Place | None:
        names = [name]
        for name in names:
            if (one := instructions.get(name)) is None:
                continue
            if (place := locate(one)) is not None:
                return place
            names += [other for other in near(name) if other not in names]
            if len(names) > _NEAR:
                break
        return None

    def located(instruction: Instruction) -> Place | None:
        if (place := nearest(instruction.name, lambda name: instructions[name].operands)) is not None:
            return place
        if not users:
            for computation in module.computations.values():
                users.update(computation.users)
        return nearest(instruction.name, lambda name: users.get(name, ()))

    return located


def _collective(
    moved: Moved, count: int, mesh: Mesh, locate: Callable[[Instruction], Place | None]
) -> Collective | None:
    instruction = moved.instruction
    size = max((len(group) for group in moved.groups), default=0)
    if size < 2 or not count:
        return None
    places = [place for one in (instruction, *moved.merged) if (place := locate(one)) is not None]
    return Collective(
        place=places[0] if places else None,
        kind=moved.kind,
        axes=axes_of(moved.groups, mesh),
        group_size=size,
        count=count,
        bytes=moved.bytes * count,
        dtype=moved.arrays[0].dtype if moved.arrays else "",
        others=tuple(dict.fromkeys(place for place in places[1:] if place != places[0])),
    )


def _together(one: Collective, other: Collective) -> Collective:
    seconds = one.seconds
    if seconds is not None and other.seconds is not None:
        seconds = replace(seconds, lower_bound=seconds.lower_bound + other.seconds.lower_bound)
    return replace(one, count=one.count + other.count, bytes=one.bytes + other.bytes, seconds=seconds)


Size = tuple[int, float]
"""Bytes moved and floating-point operations."""


@dataclass(frozen=True, slots=True)
class Runs:
    """How many times the parts of a module run in one step.

    Attributes:
        times: how many times each computation runs.
        unknown_loops: loops with an unknown number of iterations, whose bodies are counted once.
        unequal_branches: conditionals whose branches differ in size; only the largest branch is counted.
    """

    times: Mapping[str, int]
    unknown_loops: tuple[Instruction, ...]
    unequal_branches: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True)
class _Call:
    """An instruction that runs other computations.

    Attributes:
        instruction: the instruction.
        callees: the computations; a conditional runs one of them.
        trips: how many times they run per run of the instruction.
    """

    instruction: Instruction
    callees: tuple[str, ...]
    trips: int = 1


def times_in(module: Module, sizes: Mapping[str, Size]) -> Runs:
    """Returns how many times each computation runs in one step.

    Args:
        module: the module that XLA dumped.
        sizes: the size of each computation by itself; only the largest branch of a conditional is counted.
    """
    calls = _calls(module)
    unknown = []
    for name, listed in calls.items():
        for index, call in enumerate(listed):
            if call.instruction.opcode == "while":
                trips = _trips(module, module.computations[name].instructions, call.instruction)
                if trips is None:
                    unknown.append(call.instruction)
                else:
                    listed[index] = replace(call, trips=trips)
    order = _callers_first(module.entry, calls)
    whole: dict[str, Size] = {}
    unequal = []
    for name in reversed(order):
        moved, computed = sizes.get(name, (0, 0.0))
        for index, call in enumerate(calls[name]):
            if call.instruction.opcode == "conditional":
                largest = max(call.callees, key=lambda callee: whole.get(callee, (0, 0.0)))
                if len({whole.get(callee) for callee in call.callees}) > 1:
                    unequal.append(call.instruction)
                call = calls[name][index] = replace(call, callees=(largest,))
            for callee in call.callees:
                inner = whole.get(callee, (0, 0.0))
                moved, computed = moved + call.trips * inner[0], computed + call.trips * inner[1]
        whole[name] = moved, computed
    times: dict[str, int] = defaultdict(int)
    for name in order:
        times[name] += name == module.entry
        for call in calls[name]:
            for callee in call.callees:
                times[callee] += times[name] * call.trips
    return Runs(times, tuple(unknown), tuple(unequal))


def _calls(module: Module) -> dict[str, list[_Call]]:
    """Returns the instructions of each computation that run other computations."""
    return defaultdict(list, {name: [_Call(*one) for one in listed] for name, listed in module.calls.items()})


def _sizes(module: Module, collectives: Iterable[Moved]) -> dict[str, Size]:
    """Returns the bytes and operations of each computation by itself."""
    moved: dict[str, int] = defaultdict(int)
    for one in collectives:
        moved[one.computation] += one.bytes
    return {one.name: (moved[one.name], _flops(one)) for one in module.computations.values()}


def _callers_first(entry: str, calls: Mapping[str, list[_Call]]) -> list[str]:
    """Returns the computations in an order in which each follows all its callers."""

    def callees_of(name: str) -> Iterator[str]:
        return (callee for one in calls.get(name, ()) for callee in one.callees)

    done: list[str] = []
    seen: set[str] = {entry}
    stack = [(entry, callees_of(entry))]
    while stack:
        name, callees = stack[-1]
        callee = next((one for one in callees if one not in seen), None)
        if callee is None:
            done.append(name)
            stack.pop()
        else:
            seen.add(callee)
            stack.append((callee, callees_of(callee)))
    return done[::-1]


def _trips(module: Module, around: Mapping[str, Instruction], loop: Instruction) -> int | None:
    """Returns how many times a loop runs, if XLA records that or the loop counts from one constant to another."""
    if found := _KNOWN_TRIPS.search(loop.text):
        return int(found[1])
    condition = module.computations.get(loop.attribute("condition").lstrip("%"))
    body = module.computations.get(loop.attribute("body").lstrip("%"))
    if condition is None or body is None:
        return None
    compare = next((one for one in condition.instructions.values() if one.opcode == "compare"), None)
    if compare is None or len(compare.operands) != 2:
        return None
    counter, limit = (_seen_through(condition.instructions, name) for name in compare.operands)
    direction = _DIRECTION.search(compare.text)
    if counter is None or limit is None or direction is None or counter.opcode != "get-tuple-element":
        return None
    index = counter.attribute("index")
    end = _constant(limit)
    if end is None and limit.opcode == "get-tuple-element":
        end = _initial(around, loop, limit.attribute("index"))
    start = _initial(around, loop, index)
    if end is None or start is None:
        return None
    step = _step(body.instructions, body.root, index)
    if not step:
        return None
    if direction[1] in ("LE", "GE"):
        end += 1 if step > 0 else -1
    return len(range(start, end, step))


def _seen_through(instructions: Mapping[str, Instruction], name: str) -> Instruction | None:
    one = instructions.get(name)
    while one is not None and one.opcode in _THROUGH and one.operands:
        one = instructions.get(one.operands[0])
    return one


def _constant(one: Instruction) -> int | None:
    text = one.literal.strip() if one.opcode == "constant" else ""
    return int(text) if re.fullmatch(r"-?\d{1,12}", text) else None


def _initial(around: Mapping[str, Instruction], loop: Instruction, index: str) -> int | None:
    carried = around.get(loop.operands[0]) if loop.operands else None
    if carried is None or carried.opcode != "tuple" or not index.isdigit() or int(index) >= len(carried.operands):
        return None
    first = _seen_through(around, carried.operands[int(index)])
    if first is not None and first.opcode == "broadcast" and first.operands:
        first = _seen_through(around, first.operands[0])
    return _constant(first) if first is not None else None


def _step(instructions: Mapping[str, Instruction], root: Instruction | None, index: str) -> int | None:
    if root is None or root.opcode != "tuple" or not index.isdigit() or int(index) >= len(root.operands):
        return None
    added = _seen_through(instructions, root.operands[int(index)])
    if added is None or added.opcode not in ("add", "subtract"):
        return None
    for name in added.operands:
        one = _seen_through(instructions, name)
        if one is not None and (value := _constant(one)) is not None:
            return value if added.opcode == "add" else -value
    return None


def _flops(computation: Computation) -> float:
    """Returns the operations of matrix products and convolutions in one run of a computation."""
    total = 0.0
    for one in computation.instructions.values():
        if one.opcode == "dot" and one.operands:
            left = computation.instructions.get(one.operands[0])
            contracted = [int(axis) for axis in re.findall(r"\d+", one.attribute("lhs_contracting_dims"))]
            if left is not None and all(axis < len(left.array.shape) for axis in contracted):
                inner = prod(left.array.shape[axis] for axis in contracted)
                total += 2.0 * inner * one.array.elements
        elif one.opcode == "convolution" and len(one.operands) > 1:
            kernel = computation.instructions.get(one.operands[1])
            if kernel is not None:
                features = _features(one.attribute("dim_labels"), kernel.array.shape)
                total += 2.0 * one.array.elements * kernel.array.elements / max(features, 1)
    return total


def _features(labels: str, shape: tuple[int, ...]) -> int:
    kernel = labels.partition("_")[2].partition("-")[0]
    place = kernel.find("o")
    return shape[place] if 0 <= place < len(shape) else 1


def shardings_in(
    module: Module, mesh: Mesh, to_user: ToUser
) -> tuple[dict[Place, list[tuple[tuple[int, ...], str]]], tuple[int, int]]:
    """Returns the specs of each line's values, in order, and the numbers of all instructions and of those with a place.

    Args:
        module: the module that XLA dumped between sharding propagation and the partitioner.
        mesh: the axes of the program's mesh.
        to_user: selects places in the user's files.
    """
    locate = _locator(module, to_user)
    backward = _backward(module)
    found: dict[Place, list[tuple[tuple[int, ...], str]]] = defaultdict(list)
    counted = placed = 0
    for computation in module.computations.values():
        if _is_reducer(computation):
            continue
        without_place = []
        for one in computation.instructions.values():
            name = one.op_name
            if not name or one.opcode in ("parameter", "constant", "get-tuple-element", "tuple", "call"):
                continue
            if one.opcode in ("copy", "custom-call") and name.endswith("shard_map"):
                # These mark the start and end of a shard_map; they are not in the user's code.
                continue
            place = locate(one)
            counted += 1
            placed += place is not None
            if place is None:
                without_place.append(one.name)
                continue
            sharding = one.attribute("sharding")
            if not sharding or one.name in backward or one.array.dtype not in WIDTHS:
                continue
            if spec := spec_of(sharding, len(one.array.shape), mesh):
                found[place].append((one.array.shape, spec))
        placed += _made_for_a_line(computation, without_place, locate) if without_place else 0
    return found, (counted, placed)


def _is_reducer(computation: Computation) -> bool:
    """Returns whether a computation uses only scalars, as do those with which reductions combine two elements."""
    return all(not array.shape for one in computation.instructions.values() for array in one.arrays)


def _made_for_a_line(
    computation: Computation, names: Iterable[str], locate: Callable[[Instruction], Place | None]
) -> int:
    """Returns how many of the given instructions XLA created for a user's line, for example to broadcast a constant."""
    users = computation.users

    def is_for_a_line(name: str, steps: int) -> bool:
        return any(
            locate(computation.instructions[user]) is not None or (steps > 1 and is_for_a_line(user, steps - 1))
            for user in users[name][:_MOST_USERS]
        )

    return sum(is_for_a_line(name, _STEPS) for name in names)
