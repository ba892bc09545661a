"""What every randomizer asks of its parameters and tables; internal to the mechanisms."""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from lpcb.arrays import Array
from lpcb.boundary import check_fields, fits, kind, numbers_of, short

MAX_SAMPLES = 10**9
"""Numbers that one call may draw: 8 GB."""


class Parameters(Protocol):
    @property
    def unit(self) -> Array: ...
    @property
    def sensitivity(self) -> float: ...
    @property
    def epsilon(self) -> float: ...


class OfMatrices(Parameters, Protocol):
    @property
    def d(self) -> int: ...


def check_mechanism(mechanism: Parameters) -> None:
    """Refuses parameters without a noise of positive, finite scale."""
    check_fields(mechanism)
    unit = np.asarray(mechanism.unit)
    if not (np.isfinite(unit) & (unit > 0)).all():
        raise ValueError(f"unit holds finite sizes above 0, not {short(mechanism.unit)}")
    object.__setattr__(mechanism, "unit", unit)
    for name in ("sensitivity", "epsilon"):
        value = getattr(mechanism, name)
        if not 0 < value < math.inf:
            raise ValueError(f"{name} is a finite number above 0, not {short(value)}")
    ratio = float(mechanism.sensitivity) / float(mechanism.epsilon)
    if not 0 < ratio * float(unit.min(initial=1.0)) <= ratio * float(unit.max(initial=1.0)) < 1e300:
        raise ValueError(f"sensitivity / epsilon = {ratio:g} gives noise of no positive, finite scale")
    d = getattr(mechanism, "d", 1)
    if not 1 <= d <= 100:
        raise ValueError(f"d lies in [1, 100], not {short(d)}")


def check_tables(unit: Array, **tables: Any) -> None:
    """Finite numbers, all of one shape, to whose cells ``unit`` broadcasts."""
    shapes = {np.shape(table) for table in tables.values()}
    for name, table in tables.items():
        if not np.isfinite(table).all():
            raise ValueError(f"{name} holds finite numbers, not {short(table)}")
    if len(shapes) > 1:
        raise ValueError(f"{' and '.join(tables)} have one shape, not {sorted(shapes)}")
    (shape,) = shapes
    if not fits(unit.shape, shape):
        raise ValueError(f"{next(iter(tables))} has shape {shape}, which does not fit unit's {unit.shape}")


def check_matrices(mechanism: OfMatrices, **tables: Any) -> None:
    """The same for a symmetric d x d matrix in each cell."""
    d = mechanism.d
    for name, table in tables.items():
        if np.shape(table)[-2:] != (d, d):
            raise ValueError(f"{name} holds {d} x {d} matrices, not shape {np.shape(table)}")
    check_tables(mechanism.unit[..., None, None], **tables)


def check_outputs(output: Any, value: Any) -> None:
    """Samples on leading axes, each of the shape of ``value``; an output may be infinite, not NaN."""
    trailing = np.shape(output)[len(np.shape(output)) - len(np.shape(value)) :]
    if len(np.shape(output)) < len(np.shape(value)) or trailing != np.shape(value):
        raise ValueError(f"output ends in the shape of value, {np.shape(value)}, not {np.shape(output)}")


def check_release(
    unit: Array, value: Any, rng: Any, size: Any, mechanism: OfMatrices | None = None
) -> tuple[Array, int | None]:
    """What a release takes, as an array and a whole number; written out, for every user calls it."""
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng is a Generator, not {short(rng)}")
    if not (type(value) is np.ndarray and value.dtype == np.float64):
        value = numbers_of("value", value)
    if mechanism is None:
        check_tables(unit, value=value)
    else:
        check_matrices(mechanism, value=value)
    if size is not None:
        size = kind(int)("size", size)
        check_size(size, value)
    return value, size


def check_size(size: int | None, value: Any) -> None:
    if size is not None and not 0 <= size * np.size(value) <= MAX_SAMPLES:
        raise ValueError(
            f"size is at least 0 and at most {MAX_SAMPLES:.0e} numbers in all, not {short(size)}"
        )
