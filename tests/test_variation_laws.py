"""The laws of `axes/domain/variation.py`: knowledge is ordered, joined and passed on, and more of it never misleads."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from meshlens.axes.data import transfer
from meshlens.axes.domain.variation import (
    ABOVE,
    INVARIANT,
    UNTOLD,
    VARYING,
    Along,
    Variation,
    is_below,
    joined,
    joined_along,
    of,
)
from meshlens.axes.jax.carrying import after_step

TYPES = (UNTOLD, INVARIANT, VARYING)
TRUTHS = (UNTOLD, *(word for word in ABOVE if word not in TYPES))
ALL = [Along(truth, typed) for truth in TRUTHS for typed in TYPES]

ALONG = st.sampled_from(ALL)
VARIATIONS = st.builds(of, st.dictionaries(st.sampled_from("abc"), ALONG, max_size=3).map(lambda d: d.items()), ALONG)

ONE = {
    name: getattr(transfer, name)
    for name in (
        "linear bounded summed averaged within_rows picked transposed gathered totalled averaged_over same_over "
        "different_over divided_anew indexed cast_to_varying as_zeros as_constant entered_by_row left_by_row stacked "
        "gathered_invariant arranged arranged_first inner reshaped taken_apart curved"
    ).split()
}
TWO = {
    name: getattr(transfer, name)
    for name in (
        "added added_arrays subtracted subtracted_arrays multiplied divided product looked_up rowwise judged mixed "
        "chosen differentiated curved arranged arranged_first inner summed_by networked layered"
    ).split()
}
TWO |= {"differentiated_checked": transfer.differentiated_checked, "after_step": after_step}


def knows_more(one: Along, other: Along) -> bool:
    return is_below(one.truth, other.truth) and is_below(one.typed, other.typed)


@given(VARIATIONS, VARIATIONS, VARIATIONS)
def test_joins_are_associative_commutative_and_idempotent(a: Variation, b: Variation, c: Variation) -> None:
    assert joined(a, joined(b, c)) == joined(joined(a, b), c)
    assert joined(a, b) == joined(b, a)
    assert joined(a, a) == a


@given(VARIATIONS, VARIATIONS)
def test_a_join_is_above_both_and_the_least_that_is(a: Variation, b: Variation) -> None:
    both = joined(a, b)
    for axis in "abcd":
        assert knows_more(a.over(axis), both.over(axis))
        assert knows_more(b.over(axis), both.over(axis))
        for upper in ALL:
            if knows_more(a.over(axis), upper) and knows_more(b.over(axis), upper):
                assert knows_more(both.over(axis), upper)


ORDERED = {(more, less): None for more, less in product(ALL, ALL) if knows_more(more, less)}


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_argument_are_monotone(name: str) -> None:
    how = ONE[name]
    for more, less in ORDERED:
        assert knows_more(how(more), how(less)), (more, less, how(more), how(less))


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_arguments_are_monotone(name: str) -> None:
    found = {pair: TWO[name](*pair) for pair in product(ALL, ALL)}
    for (more, less), other in product(ORDERED, ALL):
        assert (found[more, other], found[less, other]) in ORDERED, (more, less, other)
        assert (found[other, more], found[other, less]) in ORDERED, (more, less, other)


@pytest.mark.parametrize("name", [*ONE, *TWO])
def test_what_is_not_known_gives_nothing_sure(name: str) -> None:
    """Exempts collectives and the like, whose results are known whatever their arguments are."""
    given = (Along(),) if name in ONE else (Along(), Along())
    made = (ONE | TWO)[name](*given)
    certain = {
        "gathered",
        "totalled",
        "averaged_over",
        "same_over",
        "different_over",
        "divided_anew",
        "indexed",
        "cast_to_varying",
    }
    known = {"as_zeros", "as_constant", "gathered_invariant"}
    assert made == Along() or name in certain | known


def test_a_join_of_what_is_said_of_one_axis_is_that_of_the_words() -> None:
    for one, other in product(ALL, ALL):
        assert joined_along(one, other) == joined_along(other, one)
