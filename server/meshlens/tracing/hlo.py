"""Parses a module in XLA's text form: computations, instructions, and their source lines.

The text comes from a process that runs the user's code, so it is not trusted: unreadable parts are skipped.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from math import prod

WIDTHS = {
    "pred": 1.0, "s2": 0.25, "u2": 0.25, "s4": 0.5, "u4": 0.5, "s8": 1.0, "u8": 1.0, "s16": 2.0, "u16": 2.0, "s32": 4.0,
    "u32": 4.0, "s64": 8.0, "u64": 8.0, "bf16": 2.0, "f16": 2.0, "f32": 4.0, "f64": 8.0, "c64": 8.0, "c128": 16.0,
    "f4e2m1fn": 0.5, "f8e3m4": 1.0, "f8e4m3": 1.0, "f8e4m3b11fnuz": 1.0, "f8e4m3fn": 1.0, "f8e4m3fnuz": 1.0,
    "f8e5m2": 1.0, "f8e5m2fnuz": 1.0, "f8e8m0fnu": 1.0,
}  # fmt: skip
"""Bytes per element of each type."""

_HEAD = re.compile(r"^(ENTRY )?%?([\w.\-]+) (?:\(.*)?\{\s*$")
_INSTRUCTION = re.compile(r"^\s+(ROOT )?%?([\w.\-]+) = ")
_OPCODE = re.compile(r"([a-z][\w\-]*)\(")
_ARRAY = re.compile(r"\b([a-z]+[0-9a-z]*)\[([0-9,<=]*)\]")
_BRACKET = re.compile(r'[(){}\[\]"]')
_NAME = re.compile(r"%([\w.\-]+(?:#\d+)*)")
_PLAIN_NAME = re.compile(r"[A-Za-z_][\w.\-]*")
_COMMENT = re.compile(r"/\*.*?\*/")
_CALLED = re.compile(r"\b(?:calls|to_apply|condition|body|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"\b(?:branch_computations|called_computations|calls)=\{([^}]*)\}")
_OP_NAME = re.compile(r'op_name="((?:[^"\\]|\\.)*)"')
_FRAME = re.compile(r"stack_frame_id=(\d+)")
_SOURCE = re.compile(r'source_file="((?:[^"\\]|\\.)*)"(?: source_line=(\d+))?')
_TO_COMMA = re.compile(r'[^,({\["]*')
_FIELD = re.compile(r"(\w+)=(-?\d+)")
_MOST_LINES = 2_000_000


@dataclass(frozen=True, slots=True)
class Array:
    """The type of an array.

    Attributes:
        dtype: XLA's name, such as "bf16".
        shape: its sizes.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def elements(self) -> int:
        """Returns the number of elements."""
        return prod(self.shape)

    @property
    def bytes(self) -> int:
        """Returns the size in bytes."""
        return int(self.elements * WIDTHS.get(self.dtype, 0.0))


@dataclass(slots=True)
class Instruction:
    """One instruction.

    Attributes:
        name: its name.
        opcode: its operation, such as "all-reduce".
        arrays: the types of its results.
        operands: names of the instructions whose results it uses.
        text: the text after its operands.
        literal: the text in its brackets, for a constant or a parameter.
        is_root: whether it is the result of its computation.
    """

    name: str
    opcode: str
    arrays: tuple[Array, ...]
    operands: tuple[str, ...]
    text: str
    literal: str = ""
    is_root: bool = False

    @property
    def array(self) -> Array:
        """Returns the type of the first result."""
        return self.arrays[0] if self.arrays else Array("", ())

    @property
    def op_name(self) -> str:
        """Returns the name that JAX gave to the instruction."""
        found = _OP_NAME.search(self.text)
        return found[1].replace("\\'", "'").replace('\\"', '"') if found else ""

    @property
    def called(self) -> tuple[str, ...]:
        """Returns the names of the computations that the instruction runs."""
        # The names come before the metadata, which is most of the text.
        text = self.text.partition(" metadata={")[0]
        names = _CALLED.findall(text)
        for listed in _BRANCHES.findall(text):
            names += _operands(listed)
        return tuple(dict.fromkeys(names))

    def attribute(self, name: str) -> str:
        """Returns the value of an attribute, up to the comma after it; empty if there is none."""
        start = self.text.find(f" {name}=")
        if start < 0:
            return ""
        start += len(name) + 2
        if self.text.startswith("mesh[", start):
            # Groups over mesh axes have a comma before the device numbers.
            end = self.text.find("}", start)
            return self.text[start : end + 1] if end > 0 else ""
        return _balanced(self.text, start)


@dataclass
class Computation:
    """A computation: its instructions by name, in order; they do not change once the computation has been read."""

    name: str
    instructions: dict[str, Instruction] = field(default_factory=dict)

    @cached_property
    def users(self) -> dict[str, list[str]]:
        """Returns the names of the instructions that use each result; none for an unused result."""
        users: dict[str, list[str]] = defaultdict(list)
        for one in self.instructions.values():
            for operand in dict.fromkeys(one.operands):
                users[operand].append(one.name)
        return users

    @cached_property
    def root(self) -> Instruction | None:
        """Returns the instruction that produces the result of the computation."""
        last = None
        for last in self.instructions.values():
            if last.is_root:
                return last
        return last


@dataclass(slots=True)
class Frames:
    """The tables of files, lines and frames at the start of a module; empty in older releases."""

    files: dict[int, str] = field(default_factory=dict)
    locations: dict[int, tuple[int, int]] = field(default_factory=dict)
    frames: dict[int, tuple[int, int]] = field(default_factory=dict)


@dataclass
class Module:
    """A module in XLA's text form.

    Attributes:
        computations: the computations by name.
        entry: the name of the computation that runs first.
        frames: the source positions of its instructions.
    """

    computations: dict[str, Computation]
    entry: str
    frames: Frames

    @cached_property
    def calls(self) -> dict[str, list[tuple[Instruction, tuple[str, ...]]]]:
        """Returns, for each computation, its instructions that run other computations, with the names of the latter."""
        found: dict[str, list[tuple[Instruction, tuple[str, ...]]]] = defaultdict(list)
        for computation in self.computations.values():
            for one in computation.instructions.values():
                if callees := tuple(name for name in one.called if name in self.computations):
                    found[computation.name].append((one, callees))
        return found


def read_module(text: str) -> Module:
    """Parses a module that XLA dumped as text."""
    computations: dict[str, Computation] = {}
    entry, current = "", None
    frames = Frames()
    table = ""
    for number, line in enumerate(text.splitlines()):
        if number > _MOST_LINES:
            break
        if current is None:
            if line in ("FileNames", "FunctionNames", "FileLocations", "StackFrames"):
                table = line
            elif line[:1].isdigit() and table:
                _read_row(table, line, frames)
            elif head := _HEAD.match(line):
                current = computations.setdefault(head[2], Computation(head[2]))
                entry = head[2] if head[1] else entry
        elif line.startswith("}"):
            current = None
        elif instruction := _instruction(line):
            for operand in instruction.operands:
                if "#" in operand and operand not in current.instructions:
                    current.instructions[operand] = _element(current, operand)
            current.instructions[instruction.name] = instruction
    return Module(computations, entry or next(reversed(computations), ""), frames)


def _read_row(table: str, line: str, frames: Frames) -> None:
    number, _, rest = line.partition(" ")
    if not number.isdigit():
        return
    key = int(number)
    if table == "FileNames":
        frames.files[key] = rest.strip().strip('"')
        return
    fields = {name: int(value) for name, value in _FIELD.findall(rest)}
    if table == "FileLocations":
        frames.locations[key] = (fields.get("file_name_id", 0), fields.get("line", 0))
    elif table == "StackFrames":
        # Parent numbers are stored plus one, so that 0 means none.
        parent = fields.get("parent_frame_id", 0)
        frames.frames[key] = (fields.get("file_location_id", 0), parent - 1 if parent else 0)


def _instruction(line: str) -> Instruction | None:
    head = _INSTRUCTION.match(line)
    if head is None:
        return None
    kind_start = head.end()
    if line[kind_start] == "(":
        kind_end = _closing(line, kind_start) + 1
    else:
        kind_end = line.find(" ", kind_start)
    opcode = _OPCODE.match(line, kind_end + 1) if kind_end > 0 else None
    if opcode is None:
        return None
    inside_start = opcode.end()
    inside_end = _closing(line, inside_start - 1)
    inside = line[inside_start:inside_end]
    literal = inside if opcode[1] in ("constant", "parameter", "iota") else ""
    return Instruction(
        name=head[2],
        opcode=opcode[1],
        arrays=arrays_in(line[kind_start:kind_end]),
        operands=() if literal else _operands(inside),
        text=line[inside_end + 1 :],
        literal=literal,
        is_root=head[1] is not None,
    )


def _element(computation: Computation, name: str) -> Instruction:
    """Returns a tuple element, which newer releases name by its number: `%while.1#3`."""
    whole, _, index = name.rpartition("#")
    of_whole = computation.instructions.get(whole)
    arrays = of_whole.arrays[int(index) : int(index) + 1] if of_whole is not None else ()
    return Instruction(name, "get-tuple-element", arrays, (whole,), f", index={index}")


def _operands(inside: str) -> tuple[str, ...]:
    """Returns the operand names in an instruction's brackets; older releases write them without a percent sign."""
    if "%" in inside:
        return tuple(_NAME.findall(inside))
    return tuple(_PLAIN_NAME.findall(_COMMENT.sub("", inside))) if "[" not in inside else ()


@lru_cache(maxsize=4096)
def arrays_in(text: str) -> tuple[Array, ...]:
    """Returns the array types in a string."""
    return tuple(
        Array(dtype, tuple(int(size) for size in re.findall(r"\d+", sizes)))
        for dtype, sizes in _ARRAY.findall(text)
        if dtype in WIDTHS
    )


def _closing(text: str, start: int) -> int:
    """Returns the offset of the bracket that closes the bracket at an offset."""
    depth, place = 0, start
    while found := _BRACKET.search(text, place):
        place = found.end()
        if (character := found[0]) == '"':
            place = _after_string(text, found.start())
        elif character in "({[":
            depth += 1
        else:
            depth -= 1
            if not depth:
                return found.start()
    return len(text)


def _after_string(text: str, start: int) -> int:
    place = start + 1
    while place < len(text) and text[place] != '"':
        place += 2 if text[place] == "\\" else 1
    return place + 1


def _balanced(text: str, start: int) -> str:
    place = start
    while found := _TO_COMMA.match(text, place):
        place = found.end()
        if place >= len(text) or text[place] == ",":
            break
        place = _after_string(text, place) if text[place] == '"' else _closing(text, place) + 1
    return text[start:place].strip()


Places = Callable[[Instruction], "tuple[tuple[str, int], ...]"]


def places_in(module: Module) -> Places:
    """Returns a function from an instruction to the source lines that led to it, innermost first."""
    frames = module.frames
    known: dict[int, tuple[tuple[str, int], ...]] = {}

    def of_frame(number: int) -> tuple[tuple[str, int], ...]:
        if number not in known:
            known[number] = tuple(_chain(frames, number))
        return known[number]

    def of(instruction: Instruction) -> tuple[tuple[str, int], ...]:
        if frames.frames:
            found = _FRAME.search(instruction.text)
            return of_frame(int(found[1])) if found else ()
        source = _SOURCE.search(instruction.text)
        return ((source[1], int(source[2] or 0)),) if source else ()

    return of


def _chain(frames: Frames, number: int) -> Iterator[tuple[str, int]]:
    for _ in range(1000):
        if number not in frames.frames:
            return
        location, parent = frames.frames[number]
        file, row = frames.locations.get(location, (0, 0))
        if file in frames.files:
            yield frames.files[file], row
        if parent == number:
            return
        number = parent


def with_arrays(instruction: Instruction, arrays: tuple[Array, ...]) -> Instruction:
    """Returns a copy of an instruction with the given result types."""
    return replace(instruction, arrays=arrays)
