"""The records of all roots, grouped by file."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields

from meshlens.axes.runs.records import Records
from meshlens.axes.runs.roots import RootResult

RootKey = tuple[str, str]

_LISTS = tuple(one.name for one in fields(Records))


@dataclass(frozen=True, slots=True)
class Sorted:
    """Records by file.

    Attributes:
        parts: the records of each root by file.
        roots: the roots with records in each file, in order.
        by_file: the records by file, root by root.
    """

    parts: Mapping[RootKey, Mapping[str, Records]]
    roots: Mapping[str, tuple[tuple[str, str], ...]]
    by_file: Mapping[str, Records]

    def of(self, path: str, roots: Collection[RootKey]) -> Records:
        """Returns the records of the given roots in a file."""
        keys = tuple([key for key in self.roots.get(path, ()) if key in roots])
        return _joined(self.parts, path, keys) if keys else Records()


def sorted_records(results: Mapping[tuple[str, str], RootResult]) -> Sorted:
    """Returns the records of these roots by file."""
    parts = {key: parted(result.records) for key, result in results.items()}
    roots: dict[str, list[tuple[str, str]]] = {}
    for key, part in parts.items():
        for path in part:
            roots.setdefault(path, []).append(key)
    ordered = {path: tuple(keys) for path, keys in roots.items()}
    return Sorted(parts, ordered, {path: _joined(parts, path, keys) for path, keys in ordered.items()})


def with_others(before: Sorted, others: Sorted) -> Sorted:
    """Returns the records by file, with those of other runs of some roots in place of their own."""
    parts = {**before.parts, **others.parts}
    by_file = dict(before.by_file)
    roots = dict(before.roots)
    touched = {path for key in others.parts for path in (*before.parts.get(key, ()), *others.parts[key])}
    for path in touched:
        keys = (*before.roots.get(path, ()), *others.roots.get(path, ()))
        roots[path] = tuple([key for key in dict.fromkeys(keys) if path in parts[key]])
        by_file[path] = _joined(parts, path, roots[path]) if roots[path] else Records()
    return Sorted(parts, roots, by_file)


def resorted(
    before: Sorted, order: Mapping[tuple[str, str], RootResult], fresh: Mapping[tuple[str, str], RootResult]
) -> Sorted:
    """Returns the records by file after the given roots ran again; `order` lists every root."""
    parts = dict(before.parts)
    roots = dict(before.roots)
    touched: set[str] = set()
    for key, result in fresh.items():
        old, new = parts[key], parted(result.records)
        parts[key] = new
        touched.update(old, new)
        for path in old.keys() - new.keys():
            roots[path] = tuple(one for one in roots[path] if one != key)
        for path in new.keys() - old.keys():
            known = {key, *roots.get(path, ())}
            roots[path] = tuple(one for one in order if one in known)
    by_file = dict(before.by_file)
    for path in touched:
        by_file[path] = _joined(parts, path, roots[path])
    return Sorted(parts, roots, by_file)


def _joined(
    parts: Mapping[tuple[str, str], Mapping[str, Records]], path: str, keys: tuple[tuple[str, str], ...]
) -> Records:
    if len(keys) == 1:
        return parts[keys[0]][path]
    joined = Records()
    for name in _LISTS:
        into = getattr(joined, name)
        for key in keys:
            into += getattr(parts[key][path], name)
    return joined


def parted(made: Records) -> dict[str, Records]:
    """Returns the records of one root by file."""
    by_file: dict[str, Records] = {}

    def records(path: str) -> Records:
        found = by_file.get(path)
        if found is None:
            found = by_file[path] = Records()
        return found

    for use in made.uses:
        records(use.call.path).uses.append(use)
    for call in made.calls:
        records(call.call.path).calls.append(call)
    for mention in made.mentions:
        records(mention.site.path).mentions.append(mention)
    for binding in made.bindings:
        records(binding.binder.site.path).bindings.append(binding)
    for mapped_call in made.mapped_calls:
        records(mapped_call.call.path).mapped_calls.append(mapped_call)
        records(mapped_call.binder.site.path).calls_of_maps.append(mapped_call)
    for random_use in made.random_uses:
        places = (random_use.call, random_use.key, random_use.made)
        for path in {place.path for place in places if place is not None}:
            records(path).random_uses.append(random_use)
    for gradient_use in made.gradient_uses:
        records(gradient_use.site.path).gradient_uses.append(gradient_use)
    return by_file
