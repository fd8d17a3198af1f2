"""The callables that use axis names: collectives, axis queries, reductions of arrays with named axes."""

from __future__ import annotations

from dataclasses import dataclass

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Collective:
    """A callable that uses an axis name.

    Attributes:
        name: its name in messages.
        dotted: its canonical name.
        axis_parameter: the parameter for the axis name.
        axis_index: its position; None if it is keyword-only.
        parameters: names of the positional parameters in order.
        keywords: names of the keyword-only parameters.
        reduces: "sum", "mean", "max", "min", "gather", "scatter", "permute", "to_all", "index", "size",
            "cast", or "" if it does none of these.
        tuples: whether it accepts a tuple of names.
        lists: whether it accepts a list of names.
        ints: whether an int is a positional axis, not a name.
        none: the effect of None as the axis: "error" or "noop".
        outside: the effect of a call outside any map: "error" or "noop".
        since, until: first version with it, first version without it.
        communicates: whether devices communicate; false for axis queries and casts.
        differentiable: whether `grad` has a rule for it.
    """

    name: str
    dotted: str
    axis_parameter: str
    axis_index: int | None
    parameters: tuple[str, ...]
    keywords: tuple[str, ...] = ()
    reduces: str = ""
    tuples: bool = True
    lists: bool = False
    ints: bool = False
    none: str = "error"
    outside: str = "error"
    since: Version | None = None
    until: Version | None = None
    communicates: bool = True
    differentiable: bool = True

    @property
    def operand(self) -> str | None:
        """Returns the parameter for the value to communicate; None for an axis query."""
        return None if self.reduces in {"index", "size"} else self.parameters[0]


_GROUPS = ("axis_index_groups",)
_TILED = ("axis_index_groups", "tiled")
_RAGGED = ("operand", "output", "input_offsets", "send_sizes", "output_offsets", "recv_sizes")

_ROWS = (
    Collective("psum", "jax.lax.psum", "axis_name", 1, ("x", "axis_name"), _GROUPS, "sum", lists=True, ints=True),
    Collective("pmean", "jax.lax.pmean", "axis_name", 1, ("x", "axis_name"), _GROUPS, "mean", lists=True),
    Collective(
        "pmax", "jax.lax.pmax", "axis_name", 1, ("x", "axis_name"), _GROUPS, "max", ints=True, differentiable=False
    ),
    Collective(
        "pmin", "jax.lax.pmin", "axis_name", 1, ("x", "axis_name"), _GROUPS, "min", ints=True, differentiable=False
    ),
    Collective(
        "all_gather",
        "jax.lax.all_gather",
        "axis_name",
        1,
        ("x", "axis_name"),
        ("axis_index_groups", "axis", "tiled", "to"),
        "gather",
    ),
    Collective(
        "all_gather_invariant",
        "jax.lax.all_gather_invariant",
        "axis_name",
        1,
        ("x", "axis_name"),
        ("axis", "tiled"),
        "gather",
        since=(0, 6, 2),
        until=(0, 8, 2),
    ),
    Collective(
        "all_to_all",
        "jax.lax.all_to_all",
        "axis_name",
        1,
        ("x", "axis_name", "split_axis", "concat_axis"),
        _TILED,
        "to_all",
    ),
    Collective(
        "ragged_all_to_all",
        "jax.lax.ragged_all_to_all",
        "axis_name",
        None,
        _RAGGED,
        ("axis_name", "axis_index_groups"),
        "to_all",
        since=(0, 4, 38),
    ),
    Collective(
        "psum_scatter",
        "jax.lax.psum_scatter",
        "axis_name",
        1,
        ("x", "axis_name"),
        ("scatter_dimension", *_TILED),
        "scatter",
    ),
    Collective("ppermute", "jax.lax.ppermute", "axis_name", 1, ("x", "axis_name", "perm"), (), "permute"),
    Collective("pshuffle", "jax.lax.pshuffle", "axis_name", 1, ("x", "axis_name", "perm"), (), "permute"),
    Collective("pswapaxes", "jax.lax.pswapaxes", "axis_name", 1, ("x", "axis_name", "axis"), _GROUPS, "to_all"),
    Collective("pbroadcast", "jax.lax.pbroadcast", "axis_name", 1, ("x", "axis_name", "source"), (), "gather"),
    Collective("psend", "jax.lax.psend", "axis_name", 1, ("x", "axis_name", "perm"), (), "permute", since=(0, 7, 0)),
    Collective(
        "precv",
        "jax.lax.precv",
        "axis_name",
        2,
        ("token", "out_shape", "axis_name", "perm"),
        (),
        "permute",
        since=(0, 7, 0),
    ),
    Collective(
        "pdot",
        "jax.lax.pdot",
        "axis_name",
        2,
        ("x", "y", "axis_name", "pos_contract", "pos_batch", "precision"),
        (),
        "sum",
        until=(0, 4, 31),
    ),
    Collective(
        "axis_index",
        "jax.lax.axis_index",
        "axis_name",
        0,
        ("axis_name",),
        (),
        "index",
        lists=True,
        communicates=False,
    ),
    Collective(
        "axis_size",
        "jax.lax.axis_size",
        "axis_name",
        0,
        ("axis_name",),
        (),
        "size",
        lists=True,
        since=(0, 6, 1),
        communicates=False,
    ),
    Collective(
        "pcast",
        "jax.lax.pcast",
        "axis_name",
        1,
        ("x", "axis_name"),
        ("to",),
        "cast",
        since=(0, 8, 2),
        communicates=False,
    ),
    Collective(
        "pvary",
        "jax.lax.pvary",
        "axis_name",
        1,
        ("x", "axis_name"),
        (),
        "cast",
        since=(0, 6, 0),
        until=(0, 10, 0),
        communicates=False,
    ),
    Collective(
        "pmean", "flax.jax_utils.pmean", "axis_name", 1, ("xs", "axis_name"), (), "mean", tuples=True, lists=True
    ),
    Collective(
        "pmean_if_pmap",
        "kfac_jax.utils.pmean_if_pmap",
        "axis_name",
        1,
        ("obj", "axis_name"),
        (),
        "mean",
        none="noop",
        outside="noop",
    ),
    Collective(
        "psum_if_pmap",
        "kfac_jax.utils.psum_if_pmap",
        "axis_name",
        1,
        ("obj", "axis_name"),
        (),
        "sum",
        none="noop",
        outside="noop",
    ),
)

COLLECTIVES: dict[str, Collective] = {row.dotted: row for row in _ROWS}

WAITING = frozenset(row.name for row in _ROWS if row.communicates and row.outside == "error")
"""The names of the collectives in which a device waits for all others along the axis."""


@dataclass(frozen=True, slots=True)
class NamedReduction:
    """An array reduction whose `axis` may contain axis names.

    Attributes:
        dotted: its canonical name.
        axis_index: position of `axis`.
        reduces: "sum", "mean", "max", "min" or "" for another statistic.
        bare: the meaning of a bare string of several characters: "characters" or "name".
    """

    dotted: str
    axis_index: int
    reduces: str = ""
    bare: str = "characters"


_NAMED = (
    NamedReduction("jax.numpy.sum", 1, "sum"),
    NamedReduction("jax.numpy.mean", 1, "mean"),
    NamedReduction("jax.numpy.max", 1, "max"),
    NamedReduction("jax.numpy.min", 1, "min"),
    NamedReduction("jax.numpy.var", 1),
    NamedReduction("jax.numpy.std", 1),
    NamedReduction("jax.numpy.nansum", 1, "sum"),
    NamedReduction("jax.numpy.nanmean", 1, "mean"),
    NamedReduction("jax.numpy.nanmax", 1, "max"),
    NamedReduction("jax.numpy.nanmin", 1, "min"),
    NamedReduction("jax.nn.softmax", 1),
    NamedReduction("jax.nn.log_softmax", 1),
    NamedReduction("jax.nn.standardize", 1),
    NamedReduction("jax.scipy.special.logsumexp", 1, bare="name"),
)

NAMED_REDUCTIONS: dict[str, NamedReduction] = {row.dotted: row for row in _NAMED}

NAMED_METHODS: dict[str, NamedReduction] = {
    name: NamedReduction(name, 0, reduces)
    for name, reduces in (("sum", "sum"), ("mean", "mean"), ("max", "max"), ("min", "min"), ("var", ""), ("std", ""))
}

PROCESS_COLLECTIVES = frozenset(
    f"jax.experimental.multihost_utils.{name}"
    for name in ("sync_global_devices", "process_allgather", "broadcast_one_to_all", "assert_equal")
)
"""Calls in which every process waits for the others; they name no axis."""


def collective(dotted: str) -> Collective | None:
    """Returns the collective or axis query with the given canonical name, or None."""
    return COLLECTIVES.get(dotted)
