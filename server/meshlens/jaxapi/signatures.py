"""The signatures of JAX's maps and collectives in each release, and links to their documentation.

JAX publishes documentation only for its newest release, so for an older one only the signature is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap

from meshlens.jaxapi.binders import BINDERS
from meshlens.jaxapi.collectives import COLLECTIVES
from meshlens.jaxapi.keywords import keywords
from meshlens.jaxapi.meshes import MESHES

Version = tuple[int, ...]

_COLUMNS = 80
_PAGE = "https://docs.jax.dev/en/latest/_autosummary/{}.html"
_PAGES = frozenset(
    {"jax.pmap", "jax.vmap", "jax.shard_map", "jax.smap", "jax.jit", "jax.make_mesh"}
    | {f"jax.lax.{name}" for name in ("all_gather", "all_to_all", "psum", "psum_scatter", "pmax", "pmin", "pmean")}
    | {f"jax.lax.{name}" for name in ("ppermute", "pshuffle", "pswapaxes", "axis_index", "axis_size", "psend", "precv")}
)

_EXPERIMENTAL = "jax.experimental.shard_map.shard_map"

SUMMARIES: dict[str, str] = {
    "jax.pmap": "Maps a function over an axis of its arguments, one device for each index, and compiles it.",
    "jax.vmap": "Vectorizes a function over an axis of its arguments.",
    "jax.shard_map": "Runs a function on each device of a mesh, with that device's shards of the arguments.",
    _EXPERIMENTAL: "Runs a function on each device of a mesh, with that device's shards of the arguments.",
    "jax.smap": "Maps a function over one axis of the context mesh.",
    "jax.make_mesh": "Makes a mesh of devices with named axes.",
}
"""Each map's effect in a sentence; `ide/hovering/collective_words.py` describes collectives."""

_NONE = "None"
_DEFAULTS: dict[tuple[str, str], str] = {
    **{
        ("jax.pmap", name): text
        for name, text in {
            "axis_name": _NONE,
            "in_axes": "0",
            "out_axes": "0",
            "static_broadcasted_argnums": "()",
            "devices": _NONE,
            "backend": _NONE,
            "axis_size": _NONE,
            "donate_argnums": "()",
            "global_arg_shapes": _NONE,
        }.items()
    },
    **{
        ("jax.vmap", name): text
        for name, text in {
            "in_axes": "0",
            "out_axes": "0",
            "axis_name": _NONE,
            "axis_size": _NONE,
            "spmd_axis_name": _NONE,
            "sum_match": "False",
        }.items()
    },
    ("jax.shard_map", "mesh"): _NONE,
    ("jax.shard_map", "in_specs"): "jax.sharding.Infer",
    ("jax.smap", "in_axes"): "jax.sharding.Infer",
    ("jax.shard_map", "axis_names"): "frozenset()",
    ("jax.shard_map", "check_vma"): "True",
    (_EXPERIMENTAL, "check_rep"): "True",
    (_EXPERIMENTAL, "auto"): "frozenset()",
    ("jax.make_mesh", "axis_types"): _NONE,
    ("jax.make_mesh", "devices"): _NONE,
    ("jax.make_mesh", "axis_sizes"): _NONE,
}
_DEFAULTS_OF_COLLECTIVES = {"axis_index_groups": _NONE, "tiled": "False", "scatter_dimension": "0", "axis": "0"}
_BEFORE: dict[tuple[str, str], tuple[Version, str]] = {
    ("jax.shard_map", "in_specs"): ((0, 7, 1), _NONE),
    ("jax.shard_map", "axis_names"): ((0, 7, 1), "set()"),
}
"""Earlier defaults: a release, and the default in all releases before it."""


@dataclass(frozen=True, slots=True)
class Signature:
    """A callable of JAX in one release.

    Attributes:
        text: `jax.lax.psum(x, axis_name, *, axis_index_groups=None)`, wrapped for a hover.
        page: the URL of its documentation in the newest release; None if it has none.
    """

    text: str
    page: str | None


def signature(dotted: str, version: Version) -> Signature | None:
    """Returns the signature of a map or collective of JAX.

    Args:
        dotted: its canonical name.
        version: the release of JAX.

    Returns:
        The signature; None for other callables, and for callables that the release lacks.
    """
    row = COLLECTIVES.get(dotted) or BINDERS.get(dotted) or MESHES.get(dotted)
    if row is None or not (dotted.startswith("jax.lax.") or dotted in SUMMARIES):
        return None
    until = getattr(row, "until", None)
    if (row.since is not None and version < row.since) or (until is not None and version >= until):
        return None
    accepted = keywords(dotted, version) or frozenset()
    is_positional_only = getattr(row, "positional_only", False)
    shown = [name for name in row.parameters if name in accepted or is_positional_only]
    positional = [_with_default(dotted, name, version) for name in shown]
    by_keyword = [_with_default(dotted, name, version) for name in row.keywords if name in accepted]
    marks = ["/"] if is_positional_only else []
    parameters = [*positional, *marks, *(["*"] if by_keyword else []), *by_keyword]
    page = _PAGE.format(dotted) if dotted in _PAGES else None
    whole = f"{dotted}({', '.join(parameters)})"
    return Signature("\n".join(wrap(whole, _COLUMNS, subsequent_indent="    ", break_long_words=False)), page)


def _with_default(dotted: str, name: str, version: Version) -> str:
    default = _DEFAULTS.get((dotted, name))
    until, earlier = _BEFORE.get((dotted, name), ((), ""))
    if version < until:
        default = earlier
    if default is None and dotted in COLLECTIVES and dotted != "jax.lax.pswapaxes":
        default = _DEFAULTS_OF_COLLECTIVES.get(name)
    if dotted == "jax.lax.all_gather" and name == "to":
        default = '"varying"'
    if dotted == "jax.lax.pswapaxes" and name == "axis_index_groups":
        default = _NONE
    return f"{name}={default}" if default is not None else name
