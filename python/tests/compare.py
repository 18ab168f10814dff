"""Comparisons of arrays in which NaN equals nothing; numpy's own accept NaN on both sides."""

import numpy as np


def assert_close(found, expected, **tolerances):
    """Asserts that numbers agree within `rtol` and `atol`."""
    np.testing.assert_allclose(found, expected, equal_nan=False, **tolerances)


def assert_same(found, expected):
    """Asserts that arrays are equal, element by element, and hold no NaN."""
    found = np.asarray(found)
    np.testing.assert_array_equal(found, expected)
    # NaN is the one value that differs from itself, in arrays of objects too
    assert (found == found).all(), "NaN among the values"  # noqa: PLR0124
