"""Scores: functions of an output by which an event {score ≥ t} or {score ≤ t} tells two inputs apart.

Columns are plain numbers seen in an output (an entry, a difference of entries, an eigenvalue, the low bits of
a float). Learned scores estimate the log-likelihood ratio from a training sample: histograms of columns and
their sum, a linear projection, repeated outcomes, gradient boosting. A NaN score lies in no event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from verification.evidence.privacy.outputs import Array, Keys, Outputs

MOST_ENTRIES = 64
"""Entries of an output that get columns of their own; of more, those whose means differ most."""
MOST_PAIRED = 8
BINS = 64
REAL_BITS = 30
"""What is computed from outputs is rounded to this many bits of its ingredients."""
BOOST_FROM, BOOST_ROWS = 2000, 40_000
"""Boosting needs this many training rows under each input, and is given no more than these."""


class Score(Protocol):
    """A name for the report, and the score of every output."""

    @property
    def name(self) -> str: ...
    def __call__(self, outputs: Outputs) -> Array: ...


ColumnKind = Literal[
    "entry",
    "difference",
    "sum",
    "total",
    "largest",
    "smallest",
    "eigenvalue",
    "fraction",
    "remainder",
    "bits",
]


@dataclass(frozen=True)
class Column:
    """One number seen in an output."""

    kind: ColumnKind
    i: int = 0
    j: int = 0

    @property
    def name(self) -> str:
        return {
            "entry": f"entry {self.i}",
            "difference": f"entry {self.i} − entry {self.j}",
            "sum": f"entry {self.i} + entry {self.j}",
            "total": "sum of entries",
            "largest": "largest entry",
            "smallest": "smallest entry",
            "eigenvalue": f"eigenvalue {self.i}",
            "bits": f"lowest bit of entry {self.i}",
            "fraction": f"fractional part of entry {self.i}",
            "remainder": f"entry {self.i} modulo {self.j}",
        }[self.kind]

    def __call__(self, outputs: Outputs) -> Array:
        x = outputs.numbers
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(_COLUMNS[self.kind](self, x, outputs.shape), dtype=np.float64)


def _eigenvalue(column: Column, x: Array, shape: tuple[int, ...]) -> Array:
    matrix = x.reshape(len(x), *shape)
    good = np.isfinite(matrix).all(axis=(1, 2))
    out = np.full(len(x), np.nan)
    out[good] = np.linalg.eigvalsh(matrix[good])[:, column.i]
    return as_real(out, np.abs(x).max(axis=1))


def as_real(values: Array, size: Array) -> Array:
    """``values`` computed from numbers of magnitude ``size``, without the digits that rounding made.

    What is computed from noisy numbers has rounding errors that show the low bits of its ingredients. They
    say more about floating-point numbers than about the mechanism, so they are kept out (see ``bits``).
    """
    exponent = np.frexp(np.where(np.isfinite(size), size, 1.0))[1] - REAL_BITS
    return np.asarray(np.ldexp(np.rint(np.ldexp(values, -exponent)), exponent))


def _bits(x: Array) -> Array:
    """The exponent of a double's lowest set bit: 1 + noise is a multiple of 2^−53, 0 + noise need not be."""
    mantissa, exponent = np.frexp(x)
    whole = np.ldexp(np.nan_to_num(mantissa, posinf=0.0, neginf=0.0), 53).astype(np.int64)
    low = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
    return np.where(whole == 0, np.nan, low + exponent - 53)


_COLUMNS: dict[ColumnKind, Callable[[Column, Array, tuple[int, ...]], Array]] = {
    "entry": lambda c, x, shape: x[:, c.i],
    "difference": lambda c, x, shape: as_real(x[:, c.i] - x[:, c.j], np.abs(x[:, [c.i, c.j]]).max(axis=1)),
    "sum": lambda c, x, shape: as_real(x[:, c.i] + x[:, c.j], np.abs(x[:, [c.i, c.j]]).max(axis=1)),
    "total": lambda c, x, shape: as_real(x.sum(axis=1), np.abs(x).max(axis=1)),
    "largest": lambda c, x, shape: x.max(axis=1),
    "smallest": lambda c, x, shape: x.min(axis=1),
    "eigenvalue": _eigenvalue,
    "bits": lambda c, x, shape: _bits(x[:, c.i]),
    "remainder": lambda c, x, shape: np.mod(x[:, c.i], c.j),
    "fraction": lambda c, x, shape: as_real(x[:, c.i] - np.floor(x[:, c.i]), np.abs(x[:, c.i])),
}


def columns(first: Outputs, second: Outputs, bits: bool = False) -> list[Column]:
    """The columns worth looking at; of very long outputs, those whose entries differ most.

    Without ``bits`` outputs are looked at as real numbers. With them nearly every mechanism that adds
    floating-point noise to a number is broken: 1 + noise has coarser low bits than 0 + noise.
    """
    m = first.numbers.shape[1]
    entries = list(range(m)) if m <= MOST_ENTRIES else _most_different(first.numbers, second.numbers)
    found = [Column("entry", i) for i in entries]
    if m >= 2:
        found += [Column("total"), Column("largest"), Column("smallest")]
    if m <= MOST_PAIRED:
        for i in range(m):
            for j in range(i):
                found += [Column("difference", i, j), Column("sum", i, j)]
    else:
        found += [Column("difference", i, i - 1) for i in entries if i > 0]
    if _symmetric(first) and _symmetric(second):
        found += [Column("eigenvalue", i) for i in range(first.shape[0])]
    if _has_fractions(first.numbers) or _has_fractions(second.numbers):
        found += [Column("fraction", i) for i in entries[: MOST_ENTRIES // 2]]
    elif m <= MOST_PAIRED:
        found += [Column("remainder", i, j) for i in entries for j in (2, 10)]
    if bits:
        found += [Column("bits", i) for i in entries]
    return found


def _most_different(x: Array, y: Array) -> list[int]:
    with np.errstate(all="ignore"):
        x, y = (np.nan_to_num(z, nan=0.0, posinf=0.0, neginf=0.0) for z in (x, y))
        centre = (x.mean(axis=0) + y.mean(axis=0)) / 2
        far, near = np.abs(x - centre), np.abs(y - centre)
        spread = np.sqrt(x.var(axis=0) + y.var(axis=0)) + 1e-300
        gap = np.maximum(
            np.abs(x.mean(axis=0) - y.mean(axis=0)), np.abs(far.mean(axis=0) - near.mean(axis=0))
        )
    return [int(i) for i in np.argsort(-np.nan_to_num(gap / spread), kind="stable")[:MOST_ENTRIES]]


def _symmetric(outputs: Outputs) -> bool:
    shape = outputs.shape
    if len(shape) != 2 or shape[0] != shape[1] or not 2 <= shape[0] <= 16:
        return False
    matrix = outputs.numbers.reshape(-1, *shape)
    return bool(np.array_equal(matrix, matrix.swapaxes(1, 2), equal_nan=True))


def _has_fractions(x: Array) -> bool:
    finite = x[np.isfinite(x)]
    return bool((finite != np.floor(finite)).any())


@dataclass(frozen=True, eq=False)
class Histogram:
    """The log-ratio of a column's histograms; frequent values have bins of their own."""

    column: Column
    edges: Array
    logs: Array

    @property
    def name(self) -> str:
        return f"likelihood ratio of {self.column.name} (histogram)"

    def __call__(self, outputs: Outputs) -> Array:
        return self.of(self.column(outputs))

    def of(self, values: Array) -> Array:
        return np.asarray(self.logs[_bin(self.edges, values)])


def _bin(edges: Array, values: Array) -> NDArray[np.int64]:
    """2k for what lies between edges, 2k + 1 for what equals one; NaN is the last bin."""
    place = np.searchsorted(edges, values, "left") + np.searchsorted(edges, values, "right")
    return np.where(np.isnan(values), 2 * len(edges) + 1, place)


def histogram(column: Column, x: Array, y: Array) -> Histogram | None:
    """None where there is nothing to learn: a constant column."""
    pooled = np.sort(np.concatenate([x[~np.isnan(x)], y[~np.isnan(y)]]))
    if len(pooled) == 0:
        return None
    edges = np.unique(pooled[np.linspace(0, len(pooled) - 1, BINS + 1).astype(int)])
    size = 2 * len(edges) + 2
    counts = [np.bincount(_bin(edges, z), minlength=size) for z in (x, y)]
    if (counts[0] + counts[1] > 0).sum() < 2:
        return None
    return Histogram(column, edges, np.log((counts[0] + 1) / (counts[1] + 1)))


@dataclass(frozen=True, eq=False)
class Additive:
    """The sum of the entries' log-ratios: the whole ratio if entries are independent."""

    parts: tuple[Histogram, ...]
    name: str = "likelihood ratio, entries independent (histograms)"

    def __call__(self, outputs: Outputs) -> Array:
        return np.asarray(sum(part(outputs) for part in self.parts), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class Linear:
    """Fisher's projection of the entries; NaN and infinities count as 0."""

    weights: Array
    centre: Array
    name: str = "linear projection"

    def __call__(self, outputs: Outputs) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            parts = _finite(outputs.numbers - self.centre) * self.weights
            return as_real(parts.sum(axis=1), np.abs(parts).max(axis=1))


def linear(x: Array, y: Array) -> Linear:
    """(S + tiny)⁻¹ (mean − mean'): a direction without noise, if there is one, gets nearly all the weight."""
    with np.errstate(invalid="ignore", over="ignore"):
        x, y = _finite(x), _finite(y)
        centre = (x.mean(axis=0) + y.mean(axis=0)) / 2
        scale = np.sqrt((x.var(axis=0) + y.var(axis=0)) / 2)
        scale[~(scale > 0) | ~np.isfinite(scale)] = 1.0
        within = sum(np.atleast_2d(np.cov((z - z.mean(axis=0)) / scale, rowvar=False)) for z in (x, y))
        gap = (x.mean(axis=0) - y.mean(axis=0)) / scale
        weights = np.linalg.lstsq(_finite(np.asarray(within)) + 1e-9 * np.eye(len(gap)), _finite(gap))[0]
    return Linear(_finite(weights / scale), _finite(centre))


@dataclass(frozen=True, eq=False)
class Repeated:
    """The log-ratio of outcomes seen more than once in training; ``rest`` is that of all others together."""

    keys: Keys
    logs: Array
    rest: float
    name: str = "likelihood ratio of repeated outcomes"

    def __call__(self, outputs: Outputs) -> Array:
        place = np.minimum(np.searchsorted(self.keys, outputs.keys), len(self.keys) - 1)
        return np.where(self.keys[place] == outputs.keys, self.logs[place], self.rest)


def repeated(first: Outputs, second: Outputs) -> Repeated | None:
    keys, counts = np.unique(np.concatenate([first.keys, second.keys]), return_counts=True)
    keys = keys[counts > 1]
    if len(keys) == 0:
        return None
    tally = []
    for outputs in (first, second):
        place = np.minimum(np.searchsorted(keys, outputs.keys), len(keys) - 1)
        hit = keys[place] == outputs.keys
        tally.append((np.bincount(place[hit], minlength=len(keys)), int((~hit).sum())))
    (ours, our_rest), (theirs, their_rest) = tally
    return Repeated(keys, np.log((ours + 1) / (theirs + 1)), float(np.log((our_rest + 1) / (their_rest + 1))))


@dataclass(frozen=True, eq=False)
class Boosted:
    """The log-odds of scikit-learn's gradient boosting over all columns."""

    columns: tuple[Column, ...]
    model: Any
    name: str = "likelihood ratio (gradient boosting)"

    def __call__(self, outputs: Outputs) -> Array:
        with threadpool_limits(limits=1):
            return np.asarray(self.model.decision_function(_table(self.columns, outputs)))


def boosted(found: Sequence[Column], first: Outputs, second: Outputs, seed: int) -> Boosted | None:
    """None for samples too small to learn from."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # a second to import, seldom needed

    rows = min(len(first), len(second), BOOST_ROWS)
    if rows < BOOST_FROM or not found:
        return None
    table = np.concatenate([_table(found, first[:rows]), _table(found, second[:rows])])
    if not (np.ptp(np.nan_to_num(table), axis=0) > 0).any():
        return None
    model = HistGradientBoostingClassifier(
        max_iter=40, max_leaf_nodes=15, learning_rate=0.2, early_stopping=False, random_state=seed
    )
    with threadpool_limits(limits=1):  # one order of summation, so that an audit can be repeated
        model.fit(table, np.repeat([1, 0], rows))
    return Boosted(tuple(found), model)


@dataclass(frozen=True, eq=False)
class Density:
    """The exact log-likelihood ratio, where the randomizer knows its log-density."""

    ratio: Callable[[Outputs], Array]
    name: str = "likelihood ratio (log-density)"

    def __call__(self, outputs: Outputs) -> Array:
        ratio = self.ratio(outputs)
        return np.where(np.isfinite(ratio), np.round(ratio, 9), ratio)  # not its rounding errors: as_real


@dataclass(frozen=True)
class Kind:
    """1 for outputs of one shape and type, 0 for others: where that alone tells the inputs apart."""

    kind: str

    @property
    def name(self) -> str:
        return f"output is {self.kind}"

    def __call__(self, outputs: Outputs) -> Array:
        return np.full(len(outputs), float(outputs.kind == self.kind))


def learn(first: Outputs, second: Outputs, seed: int, boost: bool = True, bits: bool = False) -> list[Score]:
    """All scores for telling ``first`` from ``second``, simple ones first."""
    if first.kind != second.kind:
        return [Kind(first.kind)]
    found = columns(first, second, bits)
    scores: list[Score] = list(found)
    histograms = {c: h for c in found if (h := histogram(c, c(first), c(second))) is not None}
    scores += histograms.values()
    entries = [h for c, h in histograms.items() if c.kind == "entry"]
    if len(entries) > 1:
        scores += [Additive(tuple(entries)), linear(first.numbers, second.numbers)]
    for score in (repeated(first, second), boosted(found, first, second, seed) if boost else None):
        if score is not None:
            scores.append(score)
    return scores


def _table(found: Sequence[Column], outputs: Outputs) -> Array:
    table = np.stack([column(outputs) for column in found], axis=1)
    return np.clip(table, -1e300, 1e300)  # keeps NaN, which boosting understands, and no infinities


def _finite(x: Array) -> Array:
    return np.nan_to_num(x, nan=0.0, posinf=0.0, neginf=0.0)
