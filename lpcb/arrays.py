"""Names for the array types that pass between modules, and two operations on rows."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


def dot(a: Array, b: Array) -> Array:
    """Inner products of rows."""
    return np.asarray(np.einsum("...j,...j->...", a, b), dtype=np.float64)


def group_sum(values: Array, rows: Ints, groups: int) -> Array:
    """Sums of ``values[i]`` (scalars, vectors or matrices) over the i with equal ``rows[i]``."""
    out = np.zeros((groups, *values.shape[1:]))
    np.add.at(out, rows, values)
    return out
