"""Names for the array types that pass between modules, and a few operations on them."""

from typing import Any

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


def read_only(record: Any) -> None:
    """Makes every array of a dataclass instance read-only."""
    for value in vars(record).values():
        if isinstance(value, np.ndarray):
            value.setflags(write=False)
