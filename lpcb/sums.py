"""Exact laws of sums over n users, drawn at once at a cost that does not depend on n.

Every sampler is exact up to rounding of float64, for n up to 2^62. A sum of n terms of size one is
known to n 2^-53, while its noise has standard deviation of order sqrt(n): the granularity relative to
the noise is sqrt(n) 2^-53, which is 3.5e-8 at n = 10^17 and 3e-7 at n = 2^62. It would eat the signal
from n ~ 2^106. A difference of two Gamma(n) sums loses no more than that; scaling a normal variable,
as done here for Laplace noise, loses nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lpcb.arrays import Array, Ints
from lpcb.boundary import checked, fits, numbers_of, short

MAX_COUNT = 2**62
SOUND = 2**24
"""Up to this n numpy's binomial sampler is exact; see :func:`binomial`."""
FEW = 16.0
"""Up to this mean successes are counted one by one."""


@checked
def laplace_sum(
    scale: ArrayLike, n: int, rng: np.random.Generator, shape: tuple[int, ...] | None = None
) -> Array:
    """Sums of n independent Laplace variables with the given scale b.

    A Laplace variable is b sqrt(2 E) N with E exponential and N normal; given the E's the sum is normal
    with variance 2 b^2 Gamma(n).
    """
    _check_count("n", n)
    b = _scale(scale, shape)
    size = b.shape if shape is None else shape
    out: Array = b * np.sqrt(2 * rng.standard_gamma(float(n), size)) * rng.standard_normal(size)
    return out


@checked
def gaussian_sum(
    scale: ArrayLike, n: int, rng: np.random.Generator, shape: tuple[int, ...] | None = None
) -> Array:
    """Sums of n independent centred normal variables with the given standard deviation."""
    _check_count("n", n)
    sd = _scale(scale, shape)
    out: Array = sd * np.sqrt(float(n)) * rng.standard_normal(sd.shape if shape is None else shape)
    return out


@checked
def sign_sum(count: Ints, mean: Array, rng: np.random.Generator) -> Array:
    """Sums of ``count`` independent variables that are +1 or -1 and have the given mean.

    The rarer sign is drawn, so that a mean close to +-1 keeps its precision. Beyond 2^53 the result is
    rounded to a multiple of up to 2^9; noise smaller than that (mean within 1e-13 of +-1) is not seen.
    """
    counts = np.asarray(count)
    mean = np.asarray(mean, dtype=np.float64)
    if counts.shape != mean.shape:
        raise ValueError(f"count and mean have one shape, not {counts.shape} and {mean.shape}")
    if np.any(np.abs(mean) > 1):
        raise ValueError(f"mean of a +-1 variable lies in [-1, 1], found {np.abs(mean).max():g}")
    _check_counts("count", counts)
    rare = binomial(count, (1 - np.abs(mean)) / 2, rng)
    # count - rare - rare, for 2 * rare would overflow at the largest counts.
    total: Array = np.where(mean < 0, -1.0, 1.0) * (np.asarray(count) - rare - rare)
    return total


@checked
def multinomial_counts(n: int | Ints, p: Array, rng: np.random.Generator) -> Ints:
    """Counts of n independent draws over the C cells of each row of ``p``, shape (..., C).

    An array ``n`` holds one number of draws for each row.

    Binomials down a binary tree of cells, a level at a time. At each fork the lighter half is drawn, whose
    probability, a ratio of sums and never a difference, keeps its relative precision. (Drawn one cell after
    the other, a cell of 1e-17 behind one of 1 - 1e-17 is never seen, because 1 - 1e-17 is 1 in float64: so
    numpy's multinomial.)
    """
    weights = np.asarray(p, dtype=np.float64)
    if weights.ndim == 0 or weights.shape[-1] == 0:
        raise ValueError(f"p has shape (..., cells), not {weights.shape}")
    total = weights.sum(axis=-1)
    if not np.all(weights >= 0) or not np.all(np.abs(total - 1) <= 1e-9):
        raise ValueError(f"p holds probabilities that sum to one, found sums {np.unique(total)}")
    draws = _check_counts("n", n)
    if draws.ndim and draws.shape != weights.shape[:-1]:
        raise ValueError(f"n is one number, or one for each row of p, not of shape {draws.shape}")
    counts = np.broadcast_to(draws, weights.shape[:-1])[..., None]
    cells = weights.shape[-1]
    depth = (cells - 1).bit_length()
    padded = np.zeros((*weights.shape[:-1], 2**depth))
    padded[..., :cells] = weights
    levels = [padded]
    for _ in range(depth):
        levels.append(levels[-1][..., 0::2] + levels[-1][..., 1::2])
    for level, both in zip(levels[-2::-1], levels[:0:-1], strict=True):
        left, right = level[..., 0::2], level[..., 1::2]
        chance = np.divide(np.minimum(left, right), both, out=np.zeros_like(both), where=both > 0)
        lighter = binomial(counts, chance, rng)
        first = np.where(left <= right, lighter, counts - lighter)
        counts = np.stack([first, counts - first], axis=-1).reshape(*counts.shape[:-1], -1)
    return counts[..., :cells]


@checked
def wishart_sum_centred(
    d: int, dof: int, scale: float, n: int, rng: np.random.Generator, shape: tuple[int, ...]
) -> Array:
    """Sums of n independent W_d(dof, scale I) - dof scale I, shape (*shape, d, d).

    The sum of the Wishart matrices is W_d(N, scale I) with N = n dof; Bartlett's L has L_ii^2 chi-square
    with N - i degrees of freedom (i = 0, 1, ...) and standard normal entries below the diagonal. With
    L = S + D the mean is taken off where it arises: L L' - N I = S S' + S D + D S' + (D^2 - N I).
    """
    _check_count("n", n)
    _scale(scale)
    if not d <= 100 or n * dof > 2 * 10**20:
        raise ValueError(f"d is at most 100 and n dof at most 2e20, not {d} and {n} * {dof}")
    if d < 1 or dof < d:
        raise ValueError(f"dof is at least d >= 1 for a Wishart matrix with a density, not {dof} at d={d}")
    if n == 0:
        return np.zeros((*shape, d, d))
    N = n * dof
    square = 2 * rng.standard_gamma([float(N - i) / 2 for i in range(d)], (*shape, d))
    S = np.tril(rng.standard_normal((*shape, d, d)), -1)
    SD = S * np.sqrt(square)[..., None, :]
    centred = S @ S.swapaxes(-1, -2) + SD + SD.swapaxes(-1, -2)
    centred[..., np.arange(d), np.arange(d)] += square - float(N)
    out: Array = scale * centred
    return out


def binomial(n: ArrayLike, p: ArrayLike, rng: np.random.Generator) -> Ints:
    """Binomial counts for n up to 2^62 and any p; n and p broadcast.

    numpy's sampler (BTPE) decides the hard cases by n log((n+1-m)/(n+1-y)), which float64 knows to about
    n 2^-53 only, and squares an int64 that overflows near n = 2^62. Measured with numpy 2.4 on 400 000
    draws: at n = 10^17, p = 10^-15 the mean is 28 standard errors off, at n = 2^62, p = 1/2 the variance
    is 8 % too large. It is used where n 2^-53 is negligible. Above, the exact recursion on order
    statistics is used (the i-th smallest of n uniforms is Beta(i, n + 1 - i)); the mean of what is left
    falls to its square root at each step.
    """
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng is a Generator, not {short(rng)}")
    try:
        trials, chance = np.broadcast_arrays(_check_counts("n", n), _chances(p))
    except ValueError as error:
        raise ValueError(f"n and p broadcast: {error}") from None
    flip = chance > 0.5
    rare = _binomial(trials.ravel(), np.where(flip, 1 - chance, chance).ravel(), rng).reshape(trials.shape)
    return np.where(flip, trials - rare, rare)


def _binomial(n: Ints, p: Array, rng: np.random.Generator) -> Ints:
    out = np.empty(n.shape, dtype=np.int64)
    sound = n <= SOUND
    few = ~sound & (n * p <= FEW)
    many = ~(sound | few)
    out[sound] = rng.binomial(n[sound], p[sound])
    if few.any():
        out[few] = _by_waiting_times(n[few], p[few], rng)
    if many.any():
        out[many] = _by_order_statistic(n[many], p[many], rng)
    return out


def _by_waiting_times(n: Ints, p: Array, rng: np.random.Generator) -> Ints:
    """Successes are geometric waiting times apart; count those within n trials."""
    count = np.zeros(n.shape, dtype=np.int64)
    time = np.zeros(n.shape)
    with np.errstate(divide="ignore"):  # p = 0: wait for ever
        wait = -1 / np.log1p(-p)
    while True:
        time += np.floor(rng.standard_exponential(n.shape) * wait) + 1
        within = time <= n
        if not within.any():
            return count
        count += within


def _by_order_statistic(n: Ints, p: Array, rng: np.random.Generator) -> Ints:
    """n uniforms, how many below p? Draw the i-th smallest, B, with i near the mean n p.

    If B <= p there are i, and each of the n - i above B is below p with probability (p - B)/(1 - B).
    Otherwise, of the i - 1 below B, each is above p with probability (B - p)/B.
    """
    i = np.maximum((n * p).astype(np.int64), 1)
    B = rng.beta(i, n + 1 - i)
    low = p >= B
    rest = _binomial(np.where(low, n - i, i - 1), np.where(low, (p - B) / (1 - B), (B - p) / B), rng)
    return np.where(low, i + rest, i - 1 - rest)


def _scale(scale: ArrayLike, shape: tuple[int, ...] | None = None) -> Array:
    value = np.asarray(scale, dtype=np.float64)
    if not np.all(np.isfinite(value) & (value >= 0)):
        raise ValueError(f"scale is finite and at least 0, not {short(scale)}")
    if shape is not None and not fits(value.shape, shape):
        raise ValueError(f"scale of shape {value.shape} does not fit shape {shape}")
    return value


def _chances(p: ArrayLike) -> Array:
    try:
        found = numbers_of("p", p)
    except ValueError as error:
        raise ValueError(f"p lies in [0, 1]: {error}") from None
    if not np.all((found >= 0) & (found <= 1)):
        raise ValueError("p lies in [0, 1]")
    return found


def _check_count(name: str, n: int) -> None:
    if not 0 <= n <= MAX_COUNT:
        raise ValueError(f"{name} lies in [0, 2^62], not {short(n)}")


def _check_counts(name: str, counts: ArrayLike) -> Ints:
    """``counts`` as whole numbers from 0 to 2^62; one that is no whole number would be cut off."""
    found = np.asarray(counts)
    if found.dtype.kind not in "iu":
        numbers = numbers_of(name, counts)
        if not (np.isfinite(numbers) & (numbers == np.floor(numbers))).all():
            raise ValueError(f"{name} holds whole numbers, not {short(counts)}")
    if found.size and not (found.min() >= 0 and found.max() <= MAX_COUNT):
        raise ValueError(f"{name} lies in [0, 2^62], found {found.min()} to {found.max()}")
    return found.astype(np.int64, copy=False)
