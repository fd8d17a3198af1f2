"""Sentences that explain each collective or axis query, and its result."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Words:
    """The description of one collective.

    Attributes:
        does: what it does; `{over}` stands for the axes.
        out: its result; `{size}` stands for the number of indices, or for "n" if unknown, `{last}` for the last index,
            `{everywhere}` for all indices; "" if `does` includes the result.
    """

    does: str
    out: str


_SAME = "The result is the same {everywhere} and has the same shape as the operand."

COLLECTIVE_WORDS: dict[str, Words] = {
    "psum": Words("Sums the operand over {over}.", _SAME),
    "pmean": Words("Averages the operand over {over}.", _SAME),
    "pmax": Words("Computes the elementwise maximum over {over}.", _SAME),
    "pmin": Words("Computes the elementwise minimum over {over}.", _SAME),
    "all_gather": Words(
        "Collects the operands from all indices of {over}.",
        "Every index gets all of them, stacked along a new array axis of size {size}.",
    ),
    "all_gather tiled": Words(
        "Collects the operands from all indices of {over}.",
        "Every index gets all of them, concatenated: one array axis is {size} times as long.",
    ),
    "all_gather_invariant": Words(
        "Collects the operands from all indices of {over}.",
        "Every index gets all of them; JAX types the result as not varying.",
    ),
    "all_to_all": Words(
        "Splits the operand along split_axis and sends piece i to index i of {over}.",
        "Every index gets one piece from each index, concatenated along concat_axis.",
    ),
    "ragged_all_to_all": Words(
        "Sends slices of different sizes to the indices of {over}.",
        "Every index gets back its output argument, updated with the slices sent to it.",
    ),
    "psum_scatter": Words(
        "Sums the operand over {over} and leaves index i with piece i of the sum.",
        "Removes the array axis scatter_dimension, which has size {size}.",
    ),
    "psum_scatter tiled": Words(
        "Sums the operand over {over} and leaves index i with piece i of the sum.",
        "The size of the array axis scatter_dimension is divided by {size}.",
    ),
    "ppermute": Words(
        "Sends the operand from one index of {over} to another, along the (source, destination) pairs in perm.",
        "Every index gets the operand sent to it, or zeros.",
    ),
    "pshuffle": Words(
        "Permutes the operand among the indices of {over}.", "Index i gets the operand of index perm[i]."
    ),
    "psend": Words("Sends the operand along {over} according to perm.", "Returns a token for precv."),
    "precv": Words("Receives what psend sent along {over}.", "Returns an array with the shape out_shape."),
    "pswapaxes": Words(
        "Swaps {over} with an array axis of the operand that has the same size.",
        "The result has the same shape as the operand.",
    ),
    "pbroadcast": Words("Sends the operand at the index given by source to every index of {over}.", _SAME),
    "pdot": Words("Multiplies two arrays and sums over {over}.", "The result is the same {everywhere}."),
    "axis_index": Words(
        "Returns the index along {over}; nothing is communicated.", "An int32 scalar from 0 to {last}."
    ),
    "axis_size": Words("Returns the size of {over}; nothing is communicated.", "A Python int: {size}."),
    "pcast": Words(
        "Changes whether the operand is typed as varying along {over}; nothing is communicated.",
        "The values do not change.",
    ),
    "pvary": Words("Marks the operand as varying along {over}; nothing is communicated.", "The values do not change."),
    "BatchNorm": Words("Averages the batch statistics over {over}.", "All devices normalize with the same statistics."),
    "LayerNorm": Words("Averages its statistics over {over}.", "All devices normalize with the same statistics."),
    "RMSNorm": Words("Averages its statistics over {over}.", "All devices normalize with the same statistics."),
    "GroupNorm": Words("Averages its statistics over {over}.", "All devices normalize with the same statistics."),
    "InstanceNorm": Words("Averages its statistics over {over}.", "All devices normalize with the same statistics."),
    "VectorQuantizer": Words("Averages its codebook statistics over {over}.", ""),
    "VectorQuantizerEMA": Words(
        "Sums its codebook statistics over {over}.", "The codebooks stay the same on all devices."
    ),
    "sam": Words("Averages the gradients of its inner step over {over}.", ""),
    "DynamicScale.value_and_grad": Words(
        "Averages the gradients over {over}.", "The gradients are the same {everywhere}."
    ),
}


def words_for(kind: str, arguments: frozenset[str]) -> Words:
    """Returns the description of a collective.

    Args:
        kind: its name.
        arguments: the parameters for which True is passed.
    """
    if "tiled" in arguments and f"{kind} tiled" in COLLECTIVE_WORDS:
        return COLLECTIVE_WORDS[f"{kind} tiled"]
    return COLLECTIVE_WORDS.get(kind, Words("Reduces over {over}.", ""))
