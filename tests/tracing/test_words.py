"""Times in words."""

import pytest

from meshlens.tracing.words import least_in_words, time_in_words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, ""),
        (0.0, "0 s"),
        (3.25e-13, "< 1 ns"),
        (1e-9, "1 ns"),
        (2.5e-7, "250 ns"),
        (2.24e-3, "2.24 ms"),
        (0.9996, "1 s"),
        (999.96e-6, "1 ms"),
        (86400.0, "86400 s"),
    ],
)
def test_times_are_written_without_exponents(seconds, words):
    assert time_in_words(seconds) == words


@pytest.mark.parametrize(("seconds", "words"), [(3.25e-13, "< 1 ns"), (0.0, "at least 0 s"), (2e-6, "at least 2 µs")])
def test_lower_bounds(seconds, words):
    assert least_in_words(seconds) == words
