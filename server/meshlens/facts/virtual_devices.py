"""The number of virtual devices that a file requests: `XLA_FLAGS`, `jax_num_cpu_devices`, `chex.set_n_cpu_devices`.

A number counts only if it certainly takes effect before anything runs: at the top level, outside conditions.
"""

from __future__ import annotations

import re
from itertools import pairwise

from meshlens.facts.model import DevicesSaid
from meshlens.syntax.kinds import COMMENT, kind, kinds
from meshlens.syntax.lines import Tree, nodes_at
from meshlens.syntax.parse import Node

_WORDS = re.compile(
    rb"(?P<flag>xla_force_host_platform_device_count)"
    rb"|(?P<config>jax_num_cpu_devices|JAX_NUM_CPU_DEVICES)|(?P<chex>set_n_cpu_devices)"
)
_NEEDED = (b"_cpu_devices", b"_CPU_DEVICES", b"xla_force_host_platform_device_count")
"""Substrings of the words above; searching a whole file for bytes is much faster than matching a pattern."""
_FLAG_NUMBER = re.compile(rb"\s*=\s*(\d+)(?![\w.])")
_NUMBER = re.compile(rb"[\"']?\s*\]?\s*[,=(]\s*(?:n\s*=\s*)?[\"']?(\d+)(?![\w.])\s*[\"']?\s*(?:[),;#]|\Z|\n)")
_MAIN = re.compile(rb"if\s+__name__\s*==\s*[\"']__main__[\"']\s*:")
_SETTERS = re.compile(rb"\benviron\b|\bputenv$|\bconfig\b|\bset_n_cpu_devices$|\bsetenv$")

_SOMETIMES = kinds(
    (
        "function_definition", "lambda", "while_statement", "for_statement", "match_statement", "with_statement",
        "conditional_expression", "boolean_operator", "ERROR",
    )
)  # fmt: skip
_IF = kind("if_statement")
_STATEMENT = kind("expression_statement")
_STRING = kind("string")
_CALL = kind("call")
_ASSIGNMENT = kind("assignment")
_IMPORTS = kinds(("import_statement", "import_from_statement"))


def speaks_of_virtual_devices(source: bytes, begin: int, end: int) -> bool:
    """Returns whether a span of a file contains a word required in requests for virtual devices."""
    return any(source.find(needed, begin, end) >= 0 for needed in _NEEDED)


def virtual_devices(source: bytes, tree: Tree) -> DevicesSaid | None:
    """Returns the virtual devices that a file requests, with an empty text if their number is uncertain.

    `jax_num_cpu_devices` takes precedence over `XLA_FLAGS`, as in JAX 0.10.2.
    """
    found: dict[str, set[bytes]] = {}
    for word in _WORDS.finditer(source):
        nodes = nodes_at(tree, word.start())
        if not nodes or nodes[-1].kind_id == COMMENT or nodes[0].kind_id in _IMPORTS or _is_text(nodes):
            continue
        number = _number(source, word, nodes)
        if number is None:
            return DevicesSaid("", "code")
        found.setdefault("config" if word["config"] else "flag", set()).add(number)
    if not found:
        return None
    numbers = found.get("config") or found["flag"]
    return DevicesSaid(numbers.pop().decode() if len(numbers) == 1 else "", "code")


def _is_text(nodes: list[Node]) -> bool:
    """Returns whether the innermost node is in a docstring."""
    return any(outer.kind_id == _STATEMENT and inner.kind_id == _STRING for outer, inner in pairwise(nodes))


def _number(source: bytes, word: re.Match[bytes], nodes: list[Node]) -> bytes | None:
    """Returns the number of devices that the flag or option at a match sets unconditionally; None if there is none."""
    for node in nodes:
        if node.kind_id in _SOMETIMES or (node.kind_id == _IF and not _MAIN.match(source, node.start_byte)):
            return None
    if not any(_sets(source, node) for node in nodes):
        return None
    found = (_FLAG_NUMBER if word["flag"] else _NUMBER).match(source, word.end())
    return found[1] if found is not None else None


def _sets(source: bytes, node: Node) -> bool:
    field = "function" if node.kind_id == _CALL else "left" if node.kind_id == _ASSIGNMENT else ""
    part = node.child_by_field_name(field) if field else None
    return part is not None and _SETTERS.search(source[part.start_byte : part.end_byte]) is not None
