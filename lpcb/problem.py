"""Linear bandits with finitely many contexts: the paper's instances, random ones, and a user's own."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lpcb.arrays import Array
from lpcb.boundary import Range, checked, numbers_of, short

Reward = Literal["sign", "noiseless", "beta"]
REWARDS: tuple[Reward, ...] = get_args(Reward)
TOLERANCE = 1e-12
"""Norms and probabilities may miss their bound by this much before they are wrong input."""
MAX_NUMBERS = 10**7
"""Contexts times actions times d: so many features are 80 MB, and a run holds several copies."""
MAX_HORIZON = 2**62


@dataclass(frozen=True, eq=False)
class Problem:
    """Contexts x = 0..K-1 drawn with ``weights``; action a has features phi(x, a) and mean phi'theta.

    ``reward`` is the law of y given its mean m: "sign" is +1 or -1, "noiseless" is m itself, "beta" is
    continuous on [-1, 1]. Arrays are read-only; norms are at most one.
    """

    features: Array
    weights: Array
    theta: Array
    reward: Reward = "sign"
    name: str = "custom"

    def __post_init__(self) -> None:
        for field in ("features", "weights", "theta"):
            value = numbers_of(field, getattr(self, field))
            if not np.all(np.isfinite(value)):
                raise ValueError(f"{field} must be finite numbers")
            value.setflags(write=False)
            object.__setattr__(self, field, value)
        if self.features.ndim != 3 or 0 in self.features.shape:
            raise ValueError(f"features have shape (contexts, actions, d), not {self.features.shape}")
        if self.weights.shape != (self.contexts,):
            raise ValueError(f"weights have shape ({self.contexts},), not {self.weights.shape}")
        if self.theta.shape != (self.d,):
            raise ValueError(f"theta has shape ({self.d},), not {self.theta.shape}")
        if self.weights.min() < 0 or abs(math.fsum(self.weights) - 1) > 1e-9:
            total = math.fsum(self.weights)
            raise ValueError(f"weights are probabilities that sum to one, not to {total:g}")
        for field in ("features", "theta"):
            norm = float(np.linalg.norm(getattr(self, field), axis=-1).max())
            if norm > 1 + TOLERANCE:
                raise ValueError(f"{field} have Euclidean norm at most 1, found {norm:g}")
        if not isinstance(self.reward, str) or self.reward not in REWARDS:
            raise ValueError(f"reward is one of {REWARDS}, not {short(self.reward)}")
        if not isinstance(self.name, str):
            raise ValueError(f"name is text, not {short(self.name)}")

    @property
    def contexts(self) -> int:
        return int(self.features.shape[0])

    @property
    def actions(self) -> int:
        return int(self.features.shape[1])

    @property
    def d(self) -> int:
        return int(self.features.shape[2])

    @property
    def means(self) -> Array:
        """f*(x, a), clipped against rounding of norms, shape (K, A)."""
        return np.clip(self.features @ self.theta, -1.0, 1.0)

    @property
    def gaps(self) -> Array:
        """f*(x, a*) - f*(x, a), shape (K, A)."""
        means = self.means
        gaps: Array = means.max(axis=1, keepdims=True) - means
        return gaps

    @property
    def uniform_regret(self) -> float:
        """Expected regret per round of acting uniformly at random."""
        return float(self.weights @ self.gaps.mean(axis=1))

    @checked
    def draw_reward(self, mean: ArrayLike, rng: np.random.Generator) -> Array:
        """One reward in [-1, 1] for each mean."""
        m = np.asarray(mean, dtype=np.float64)
        if not (np.abs(m) <= 1).all():
            raise ValueError(f"mean lies in [-1, 1], not {short(mean)}")
        match self.reward:
            case "noiseless":
                return m.copy()
            case "sign":
                return np.where(rng.random(m.shape) < (1 + m) / 2, 1.0, -1.0)
            case "beta":
                # Beta with total concentration 4; the floor keeps both shapes positive at |m| = 1.
                p = np.clip((1 + m) / 2, 1e-12, 1 - 1e-12)
                return 2 * rng.beta(4 * p, 4 * (1 - p)) - 1

    @classmethod
    def from_csv(cls, path: str | Path, theta: ArrayLike | None = None, **options: Any) -> Problem:
        """One row per context and action: columns ``context``, ``action``, optionally ``weight``,
        and one column per feature. See :meth:`from_frame`."""
        try:
            with Path(path).open(newline="", encoding="utf-8") as file:
                reader = csv.reader(file)
                header = next(reader, None)
                rows = [row for row in reader if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise ValueError(f"{path}: not a CSV file of UTF-8 text ({error})") from None
        if not header or not rows:
            raise ValueError(f"{path}: expected a header line and at least one row")
        if len(header) == 1 and (other := next((sign for sign in ";\t|" if sign in header[0]), None)):
            raise ValueError(f"{path}: columns are separated by {other!r}; a comma is expected")
        for at, row in enumerate(rows, 1):
            if len(row) != len(header):
                raise ValueError(
                    f"{path}: row {at} after the header has {len(row)} columns; every row needs the "
                    f"{len(header)} columns of the header"
                )
        columns = {name.strip(): [row[i] for row in rows] for i, name in enumerate(header)}
        try:
            return cls.from_frame(columns, theta, **({"name": Path(path).stem} | options))
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from None

    @classmethod
    def from_frame(
        cls,
        frame: Mapping[str, Sequence[Any]] | Any,
        theta: ArrayLike | None = None,
        *,
        reward: Reward = "sign",
        name: str = "custom",
        seed: int = 0,
    ) -> Problem:
        """A data frame, or any mapping of columns, in the layout of :meth:`from_csv`.

        Contexts without a weight column are equally likely. Every context needs every action.
        Without ``theta`` a unit vector is drawn with ``seed``.
        """
        columns = _columns(frame)
        for needed in ("context", "action"):
            if needed not in columns:
                raise ValueError(f"column {needed!r} is missing; found {sorted(columns)}")
        names = [key for key in columns if key not in ("context", "action", "weight")]
        if not names:
            raise ValueError("no feature columns beside context, action and weight")
        contexts, x = np.unique(columns["context"], return_inverse=True)
        actions, a = np.unique(columns["action"], return_inverse=True)
        if len(x) != len(contexts) * len(actions) or len(set(zip(x, a, strict=True))) != len(x):
            raise ValueError(_not_a_table(x, a, contexts, actions))
        features = np.empty((len(contexts), len(actions), len(names)))
        for j, key in enumerate(names):
            features[x, a, j] = _numbers(columns[key], key, columns)
        _inside_the_ball(features[x, a], columns)
        weights = np.full(len(contexts), 1 / len(contexts))
        if "weight" in columns:
            weight = _numbers(columns["weight"], "weight", columns)
            weights[x] = weight
            if not np.array_equal(weights[x], weight):
                raise ValueError("column 'weight' differs between the actions of one context")
        if theta is None:
            theta = _sphere(np.random.default_rng(seed), len(names))
        return cls(features, weights, numbers_of("theta", theta), reward, name)


@checked
def random(d: int, actions: int, contexts: int, seed: int = 0, reward: Reward = "sign") -> Problem:
    """Features uniform in the unit ball, theta on the sphere, Dirichlet weights."""
    _sizes(d=d, actions=actions, contexts=contexts)
    rng = np.random.default_rng(seed)
    radius = rng.random((contexts, actions, 1)) ** (1 / d)
    features = radius * _sphere(rng, contexts, actions, d)
    return Problem(features, rng.dirichlet(np.ones(contexts)), _sphere(rng, d), reward, "random")


@checked
def line(d: int, actions: int, contexts: int, seed: int = 0, reward: Reward = "sign") -> Problem:
    """All features on one line through the origin: rank one, so deeper layers see nothing."""
    _sizes(d=d, actions=actions, contexts=contexts)
    rng = np.random.default_rng(seed)
    features = rng.uniform(-1, 1, (contexts, actions, 1)) * _sphere(rng, d)
    return Problem(features, np.full(contexts, 1 / contexts), _sphere(rng, d), reward, "line")


@checked
def family_f(s: float, sign: Annotated[int, Range(-1, 1)] = 1, reward: Reward = "sign") -> Problem:
    """F(s): x = +-1 equally likely, phi = (1/2, +-x s), theta = (1/2, sign/2); the gap is s."""
    if not 0 < s <= math.sqrt(0.75):
        raise ValueError(f"s lies in (0, sqrt(3)/2], not {s!r}")
    x = np.array([1.0, -1.0])
    features = np.stack([np.stack([np.full(2, 0.5), b * x * s], axis=-1) for b in (1, -1)], axis=1)
    return Problem(features, np.full(2, 0.5), np.array([0.5, math.copysign(0.5, sign)]), reward, "f")


@checked
def theorem_2_1(
    n: Annotated[float, Range(0, math.inf, "()")],
    alpha: Annotated[float, Range(0, 100, "(]")] = 1.0,
    hypothesis: Annotated[int, Range(-1, 1)] = 1,
    reward: Reward = "sign",
) -> Problem:
    """D_n of Theorem 2.1: e_2 with probability c/sqrt(n), c = 1/(4 sqrt(2) (e^alpha - 1)), else e_1."""
    inverse = 4 * math.sqrt(2) * math.expm1(alpha) * math.sqrt(n)
    rare = 1 / inverse if inverse > 0 else math.inf
    if not rare <= 1:
        raise ValueError(f"n={n:g}, alpha={alpha:g}: c/sqrt(n) = {rare:g} is not a probability")
    return _two_point([[1, 0], [0, 1]], [1 - rare, rare], [0, float(hypothesis)], reward, "theorem-2.1")


@checked
def theorem_2_2(
    n: Annotated[float, Range(0, math.inf, "()")],
    c: float = 0.07,
    hypothesis: Annotated[int, Range(0, 2)] = 2,
    reward: Reward = "noiseless",
) -> Problem:
    """D_n of Theorem 2.2: (1/2, +-c n^(-1/3)); theta = (1/2, 0) under H_1, (1/2, 1/2) under H_2."""
    s = c * n ** (-1 / 3)
    if not abs(s) <= math.sqrt(0.75):
        raise ValueError(f"c={c:g}, n={n:g}: c n^(-1/3) = {s:g} makes features longer than 1")
    theta = [0.5, 0.5 * (hypothesis - 1)]
    return _two_point([[0.5, s], [0.5, -s]], [0.5, 0.5], theta, reward, "theorem-2.2")


@checked
def case_1(
    small: Annotated[float, Range(0, 1)], theta: Sequence[float] = (0.0, 1.0), reward: Reward = "sign"
) -> Problem:
    """Section 2.3, Case I: e_2 with probability ``small``, else e_1."""
    return _two_point([[1, 0], [0, 1]], [1 - small, small], theta, reward, "case-1")


@checked
def case_2(
    small: Annotated[float, Range(0, 1)], theta: Sequence[float] = (0.0, 1.0), reward: Reward = "sign"
) -> Problem:
    """Section 2.3, Case II: (sqrt(1-small), +-sqrt(small)), shrunk from the printed (1, ...) to norm one."""
    a, b = math.sqrt(1 - small), math.sqrt(small)
    return _two_point([[a, b], [a, -b]], [0.5, 0.5], theta, reward, "case-2")


@checked
def build(
    name: str,
    *,
    horizon: Annotated[int, Range(1, MAX_HORIZON)],
    d: int | None = None,
    actions: int | None = None,
    contexts: int | None = None,
    alpha: float = 1.0,
    seed: int = 0,
) -> Problem:
    """A named problem. Random ones have the size asked for; hard instances scale with the horizon."""
    size = (2 if d is None else d, 2 if actions is None else actions, 16 if contexts is None else contexts)
    builders: dict[str, Callable[[], Problem]] = {
        "random": lambda: random(*size, seed),
        "line": lambda: line(*size, seed),
        "f": lambda: family_f(min(0.5, horizon**-0.25)),
        "theorem-2.1": lambda: theorem_2_1(horizon, alpha),
        "theorem-2.2": lambda: theorem_2_2(horizon),
        "case-1": lambda: case_1(horizon**-0.5),
        "case-2": lambda: case_2(horizon**-0.5),
    }
    if name not in builders:
        raise ValueError(f"unknown problem {name!r}; there are {', '.join(builders)}")
    problem = builders[name]()
    for what, asked in (("d", d), ("actions", actions), ("contexts", contexts)):
        if asked is not None and asked != getattr(problem, what):
            raise ValueError(f"problem {name!r} has {what}={getattr(problem, what)}, not {asked}")
    return problem


def _two_point(
    points: Sequence[Sequence[float]],
    weights: Sequence[float],
    theta: Sequence[float],
    reward: Reward,
    name: str,
) -> Problem:
    """A regression design as a bandit with one action."""
    features = np.array(points, dtype=np.float64)[:, None, :]
    return Problem(features, np.array(weights), numbers_of("theta", theta), reward, name)


def _sizes(**sizes: int) -> None:
    for name, value in sizes.items():
        if value < 1:
            raise ValueError(f"{name} is at least 1, not {short(value)}")
    if math.prod(map(int, sizes.values())) > MAX_NUMBERS:
        asked = " * ".join(f"{name} ({short(value)})" for name, value in sizes.items())
        raise ValueError(f"{asked} is at most {MAX_NUMBERS:.0e}: so many numbers a problem may hold")


def _sphere(rng: np.random.Generator, *shape: int) -> Array:
    v = rng.standard_normal(shape)
    unit: Array = v / np.linalg.norm(v, axis=-1, keepdims=True)
    return unit


def _columns(frame: Any) -> dict[str, NDArray[Any]]:
    """The columns of a data frame, or of a mapping, all of one length and of plain numbers or text."""
    try:
        columns = {str(key): np.asarray(frame[key]) for key in frame}
    except (TypeError, ValueError, KeyError, IndexError) as error:
        raise ValueError(f"frame is a data frame or a mapping of columns: {error}") from None
    lengths = {name: column.shape for name, column in columns.items()}
    if len(set(lengths.values())) > 1 or any(len(shape) != 1 or 0 in shape for shape in lengths.values()):
        raise ValueError(f"frame has columns of one length of at least 1, not of shapes {lengths}")
    for name in ("context", "action"):
        if name in columns and columns[name].dtype.kind not in "biufUSMO":
            raise ValueError(f"column {name!r} holds names or numbers, not {columns[name].dtype}")
        if name in columns and columns[name].dtype.kind == "O":  # so that what is mixed can be sorted
            columns[name] = columns[name].astype(str)
    return columns


def _numbers(column: NDArray[Any], name: str, columns: Mapping[str, NDArray[Any]]) -> Array:
    try:
        found: Array = column.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        bad = next(i for i, cell in enumerate(column.tolist()) if not _is_number(cell))
        raise ValueError(
            f"column {name!r} must hold numbers: {_where(bad, columns)} has {column.tolist()[bad]!r}"
        ) from None
    if not np.isfinite(found).all():
        bad = int(np.argmin(np.isfinite(found)))
        raise ValueError(
            f"column {name!r} must hold finite numbers: {_where(bad, columns)} has {column.tolist()[bad]!r}"
        )
    return found


def _is_number(cell: Any) -> bool:
    try:
        float(cell)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


def _where(row: int, columns: Mapping[str, NDArray[Any]]) -> str:
    """Where a reader of the file finds the row."""
    context, action = (columns[key].tolist()[row] for key in ("context", "action"))
    return f"row {row + 1} (context {context!r}, action {action!r})"


def _inside_the_ball(features: Array, columns: Mapping[str, NDArray[Any]]) -> None:
    norms = np.linalg.norm(features, axis=-1)
    if norms.max() > 1 + TOLERANCE:
        worst = int(norms.argmax())
        raise ValueError(
            f"features have Euclidean norm at most 1, found {norms[worst]:g} in {_where(worst, columns)}"
        )


def _not_a_table(x: Any, a: Any, contexts: NDArray[Any], actions: NDArray[Any]) -> str:
    """Which context lacks an action, or has it twice."""
    count = np.zeros((len(contexts), len(actions)), dtype=int)
    np.add.at(count, (x, a), 1)
    at, which = np.argwhere(count != 1)[0]
    context, action = contexts.tolist()[at], actions.tolist()[which]
    return (
        "every context needs exactly one row for every action: "
        f"context {context!r} has {count[at, which] or 'none'} for action {action!r}"
    )
