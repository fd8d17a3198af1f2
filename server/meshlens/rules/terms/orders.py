"""Random orders of records, and the shares of them that each device, process or worker selects."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from meshlens.axes.domain.values import Site
from meshlens.rules.terms.model import Term, mentions, walk_term

Args: TypeAlias = "tuple[tuple[str | None, Term], ...]"

_WORDS = ("permutation", "permuted", "shuffle", "shuffled", "randperm")
SHUFFLES = re.compile(f"^_?({'|'.join(_WORDS)})$")
"""Matches names of functions that draw random orders."""

_LARGE = 1 << 16
_SAME_ORDER = frozenset({"tolist", "copy", "astype", "ravel", "flatten", "numpy", "squeeze"})
_OF_ARRAYS = ("numpy", "jax.numpy", "torch")
_KEEPS = frozenset({"asarray", "array", "resize", "concatenate", "append", "concat", "cat", "take", "int32", "int64"})
_SPLITS = frozenset({"array_split", "split", "reshape", "chunk", "tensor_split"})
_GENERATORS = frozenset(
    " numpy.random.default_rng numpy.random.RandomState numpy.random.Generator numpy.random.PCG64 numpy.random.Philox"
    " numpy.random.MT19937 numpy.random.SFC64 numpy.random.SeedSequence random.Random torch.Generator".split()
)
_KEYS = frozenset({"jax.random.key", "jax.random.PRNGKey", "jax.random.fold_in", "jax.random.split"})
_SEEDS = frozenset({"random.seed", "numpy.random.seed", "torch.manual_seed"})
_THROUGH = frozenset({"hash", "int", "abs", "str", "list", "tuple", "numpy.uint32", "numpy.int64"})
_LIST = frozenset({"list", "tuple", "iter", "enumerate", "itertools.chain"})


class Share(NamedTuple):
    """The part of a random order that one of several ranks selects, although the order differs between the ranks.

    Attributes:
        selected: where it is selected.
        rank: the number that selects the part, as it is written there.
        seed: that number, as it is written in the seed; None if a generator is shared but draws an order for each part.
        others: what else determines the part, such as its length.
    """

    selected: Site
    rank: Term
    seed: Term | None
    others: Term


def may_shuffle(source: bytes) -> bool:
    """Returns whether a source contains the name of a function that draws random orders."""
    return any(word.encode() in source for word in _WORDS)


def of_subscript(container: Term, key: Term, shares: list[Share], site: Site) -> Term:
    """Returns the value of `container[key]`; notes the share that it selects from a random order."""
    if container.kind == "order":
        if key.name != "slice":
            _note_picked(container, (key,), shares, site)
            return Term("unknown", str(site), scope="entry")
        lower, upper, step = key.parts
        if _note_start(container, lower, step if not step.is_constant else upper, shares, site):
            return Term("unknown", str(site), scope="share")
        is_whole = lower.is_constant and step.is_constant
        return container if is_whole else Term("unknown", str(site), scope="part")
    if container.kind == "table":
        _note_picked(container, key.parts if key.name == "tuple" else (key,), shares, site)
        return Term("unknown", str(site), scope="share")
    if key.kind == "order":
        return Term("order", parts=(key.parts[0], container))
    return Term("operation", "[]", (container, key))


def of_call(callee: Term, args: Args, shares: list[Share], loops: tuple[Term, ...], site: Site) -> Term:
    """Returns the result of a call of code outside the workspace; notes a share that it selects."""
    terms = tuple([term for _, term in args])
    name, first = callee.name, next(iter(terms), None)
    if callee.kind == "attribute":
        (of,) = callee.parts
        return _of_method(of, name, args, loops)
    if callee.kind != "outside":
        return Term("call", name, (callee, *terms))
    last = name.rpartition(".")[-1]
    if name in _GENERATORS or name in _KEYS:
        return Term("generator", name, terms, value=len(loops))
    order = _drawn(name, args, loops)
    if order is not None:
        return order
    if first is not None and first.kind == "order":
        if name in _LIST or (name.startswith(_OF_ARRAYS) and last in _KEEPS):
            return first
        if name.startswith(_OF_ARRAYS) and last in _SPLITS:
            return Term("table", parts=first.parts)
        if name == "itertools.islice" and len(terms) == 4:
            _note_start(first, *terms[1:4:2], shares, site)
        if last in ("dynamic_slice", "dynamic_slice_in_dim") and len(terms) > 2:
            starts = terms[1].parts if terms[1].name == "tuple" else terms[1:2]
            for start in starts:
                _note_start(first, start, terms[2], shares, site)
        return Term("call", name, (callee, *terms))
    if last == "take" and len(terms) > 1 and terms[1].kind == "order":
        return Term("order", parts=(*terms[1].parts[:1], terms[0]))
    if first is not None and first.name == "tuple" and last in ("concatenate", "concat", "cat"):
        of_parts = next(iter(first.parts), None)
        if of_parts is not None and of_parts.kind == "order":
            return of_parts
    return Term("call", name, terms)


def changed_by_call(callee: Term, args: Args, loops: tuple[Term, ...], site: Site) -> Term | None:
    """Returns what a call makes of its first argument, if it shuffles it, or of a generator, if it seeds it."""
    seeded = callee.kind == "outside" and callee.name in _SEEDS
    if seeded or (callee.kind == "attribute" and callee.name in ("seed", "manual_seed")):
        return Term("generator", callee.name, tuple([term for _, term in args]), value=len(loops), site=site)
    if callee.kind == "attribute" and callee.name == "shuffle" and len(args) == 1:
        (of,) = callee.parts
        return _of_method(of, "shuffle", args, loops) if of.kind == "generator" else None
    return None


def of_filter(iterable: Term, test: Term, shares: list[Share], site: Site) -> None:
    """Notes the share of `[x for i, x in enumerate(order) if i % count == rank]`."""
    if iterable.kind != "order" or test.name != "cmp" or len(test.parts) != 2:
        return
    for one, other in (test.parts, test.parts[::-1]):
        if one.kind == "operation" and one.name == "%":
            index, count = one.parts
            if index.kind == "loop":
                _note(iterable, other, count, shares, site)


def _of_method(of: Term, name: str, args: Args, loops: tuple[Term, ...]) -> Term:
    terms = tuple([term for _, term in args])
    if of.kind == "generator":
        if name in ("permutation", "permuted", "shuffle") and terms:
            return _order(of, next(iter(terms)), loops)
        if name in ("spawn", "manual_seed", "jumped"):
            return Term("generator", name, (of, *terms) if name != "manual_seed" else terms, value=len(loops))
    if of.kind == "order":
        if name in _SAME_ORDER:
            return of
        if name in _SPLITS:
            return Term("table", parts=of.parts)
    return Term("call", name, (of, *terms))


def _drawn(name: str, args: Args, loops: tuple[Term, ...]) -> Term | None:
    """Returns the random order that a function draws; None if it draws none, or with a generator that is unknown."""
    terms = [term for _, term in args]
    if name == "jax.random.permutation" and len(terms) > 1:
        return Term("order", parts=tuple(terms[:2]))
    if name == "torch.randperm":
        generator = next((term for label, term in args if label == "generator"), None)
        is_known = generator is not None and generator.kind == "generator"
        return _order(generator, next(iter(terms)), loops) if generator is not None and is_known else None
    return None


def _order(generator: Term, records: Term, loops: tuple[Term, ...]) -> Term:
    """Returns a random order; a generator that was made before a loop draws another order in each iteration."""
    inner = loops[generator.value :]
    seed = Term("generator", "drawn again", (generator, *inner)) if inner else generator
    return Term("order", parts=(seed, records))


def _note_start(order: Term, start: Term, count: Term, shares: list[Share], site: Site) -> bool:
    """Notes a share that begins at a place computed from the rank: `rank`, `rank * count`, `first + rank * count`."""
    before = len(shares)
    for summand in _operands(start, "+"):
        for factor in _operands(summand, "*"):
            others = [one for one in _operands(start, "+") if one is not summand]
            others += [one for one in _operands(summand, "*") if one is not factor]
            if not any(mentions(other, factor) for other in others):
                _note(order, factor, count, shares, site)
    return len(shares) > before


def _note_picked(order: Term, keys: tuple[Term, ...], shares: list[Share], site: Site) -> None:
    if order.kind == "table":
        for key in keys:
            _note(order, key, Term("constant"), shares, site)


def _note(order: Term, rank: Term, count: Term, shares: list[Share], site: Site) -> None:
    seed, records = order.parts
    if rank.kind in ("constant", "unknown") or mentions(records, rank):
        return
    for place in _mixed_in(seed, rank):
        shares.append(Share(site, rank, place, count))
        return


def _operands(term: Term, operator: str) -> list[Term]:
    """Returns the summands or factors of a term; `a * b // c` has the factors of `a * b`, and `int(x)` those of x."""
    if term.kind == "operation" and term.name == operator:
        return [part for operand in term.parts for part in _operands(operand, operator)]
    if operator == "*" and term.kind == "operation" and term.name == "//":
        left, right = term.parts
        return [*_operands(left, operator), right]
    return [term]


def _mixed_in(seed: Term, rank: Term) -> Iterator[Term | None]:
    """Yields the places in a seed where a number goes into it in a way that makes each number's seed different."""
    if seed == rank:
        yield seed
    elif seed.kind == "generator":
        for part in seed.parts:
            found = list(_mixed_in(part, rank))
            yield from [None] if found and seed.name == "drawn again" and part == rank else found
    elif seed.kind == "operation" and seed.name in ("+", "-", "*", "^", "|", "tuple"):
        for part in seed.parts:
            yield from _mixed_in(part, rank)
    elif seed.kind == "operation" and seed.name in ("%", "&", "[]"):
        left, right = seed.parts
        if seed.name == "[]" and left.kind == "generator" and left.name in ("jax.random.split", "spawn"):
            yield from _mixed_in(left, rank)
            yield from _mixed_in(right, rank)
        elif seed.name != "[]" and _is_large(right):
            yield from _mixed_in(left, rank)
    elif seed.kind == "call" and seed.name in _THROUGH:
        for part in seed.parts:
            yield from _mixed_in(part, rank)


def _is_large(term: Term) -> bool:
    """Returns whether a number is certainly large, such as `2**32`, so that a remainder keeps seeds apart."""
    if term.is_constant:
        return isinstance(term.value, int) and term.value >= _LARGE
    return any(part.kind == "operation" and part.name in ("**", "<<") for part in walk_term(term))
