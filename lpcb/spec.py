"""What the algorithm is run with: parameters as printed, and the set of repairs switched on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

REPAIRS: frozenset[str] = frozenset(
    {
        "symmetric-noise",  # Laplace noise on the upper triangle in place of Wishart noise
        "replacement-sensitivity",  # one user's change touches two cells
        "joint-actions",  # the dummy context is counted nowhere
        "residual-range",  # y_h is y less the clipped prediction, and noise covers its range
        "width-cap",  # intervals capped at 2, negative error estimates at 0
        "inactive-width",  # an inactive bin keeps its parent's error
        "root-n-margin",  # the margin of Algorithm 5 falls like 1/sqrt(n)
        "dummy-width",  # what is not estimated is bounded by its norm, 0 for the dummy context
        "eigenvalue-guard",  # a bin with too small an eigenvalue is inactive
    }
)

MAX_HORIZON = 2**62
"""Counts are 64-bit integers; beyond this their sums over an epoch could overflow."""

MAX_LEVELS = 10**4


@dataclass(frozen=True)
class Spec:
    """Parameters of Algorithms 1-6, all derived from (alpha, beta, delta, T, d, A) as printed.

    ``beta`` defaults to 1/ln T and ``delta`` to 1/T^2. ``activation`` scales kappa_1 and kappa_1',
    ``width`` scales kappa_2 and kappa_3; 1 is the printed value, with repairs too. Intervals stay valid:
    kappa_2 and kappa_3 are several times what the repaired noise needs, and with `eigenvalue-guard`
    validity does not rest on kappa_1 (which the proof of Lemma 4.3 would want to be 2d times larger).

    >>> spec = Spec(d=2, actions=2, horizon=10**18)
    >>> spec.M, spec.first_epoch
    (21, 2896)
    """

    d: int
    actions: int
    horizon: int
    alpha: float = 1.0
    beta: float | None = None
    delta: float | None = None
    activation: float = 1.0
    width: float = 1.0
    repairs: frozenset[str] = field(default=REPAIRS)

    def __post_init__(self) -> None:
        _whole("d", self.d, 1, 12)
        _whole("actions", self.actions, 1, 10**4)
        _whole("horizon", self.horizon, 2, MAX_HORIZON)
        _inside("alpha", self.alpha, 0.0, 1.0)
        if self.beta is not None:
            _inside("beta", self.beta, 0.0, 0.5)
        elif self.horizon < math.exp(2):
            raise ValueError(f"horizon {self.horizon}: beta = 1/ln T must be at most 1/2, so T is at least 8")
        if self.delta is not None:
            _inside("delta", self.delta, 0.0, 1.0)
        if self.M > MAX_LEVELS or self.actions * (self.M + 1) ** self.d > MAX_HORIZON:
            raise ValueError(
                f"beta {self.b:g} gives {self.M} levels and {self.M + 1}^{self.d} bins an action; "
                f"at most {MAX_LEVELS} levels and 2^62 bins in all can be numbered"
            )
        for name in ("activation", "width"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} is a finite factor of at least 0, not {value!r}")
        if not isinstance(self.repairs, frozenset) or not self.repairs <= REPAIRS:
            raise ValueError(f"repairs are a frozenset of {sorted(REPAIRS)}, not {self.repairs!r}")

    def has(self, repair: str) -> bool:
        if repair not in REPAIRS:
            raise ValueError(f"unknown repair {repair!r}; there are {sorted(REPAIRS)}")
        return repair in self.repairs

    @cached_property
    def b(self) -> float:
        """beta, with its default filled in."""
        return self.beta if self.beta is not None else 1 / math.log(self.horizon)

    @cached_property
    def failure(self) -> float:
        """delta, with its default filled in."""
        return self.delta if self.delta is not None else float(self.horizon) ** -2

    @cached_property
    def gamma(self) -> float:
        return float(self.horizon**self.b)

    @cached_property
    def M(self) -> int:
        """Number of partitioning levels per layer, ceil(1/(2 beta)).

        beta = 1/ln T is rounded, so 1/(2 beta) may exceed an integer by an ulp; that is not a level.
        """
        return math.ceil(1 / (2 * self.b) * (1 - 4e-16))

    def log_term(self, c: float) -> float:
        """ln(c d / (beta delta)), the logarithm in every bound."""
        return math.log(c * self.d) - math.log(self.b) - math.log(self.failure)

    @cached_property
    def kappa1(self) -> float:
        """Lemma 4.3, at equality."""
        return self.activation * 43 / self.alpha * self.log_term(48)

    @cached_property
    def kappa1_prime(self) -> float:
        """Lemma 4.4, at equality."""
        return self.activation * 15 / self.alpha * self.log_term(48)

    @cached_property
    def kappa2(self) -> float:
        """Lemma 4.4, at equality."""
        return self.width * 118 / self.alpha * self.log_term(24)

    @cached_property
    def kappa3(self) -> float:
        """Lemma 4.4, at equality."""
        return self.width * 300 / self.alpha * self.log_term(48)

    @cached_property
    def n0(self) -> int:
        """ceil(4 d^2 ln(24d/(beta delta))), so that every batch has n >= 2d ln(24d/(beta delta))."""
        return math.ceil(4 * self.d**2 * self.log_term(24))

    @property
    def first_epoch(self) -> int:
        return 2 * self.n0

    def epoch_length(self, tau: int) -> int:
        """n_tau = 2^tau n_0 for tau = 1, 2, ..."""
        return self.n0 << tau

    def batch(self, tau: int) -> int:
        """Users per batch: 2d batches an epoch, an update and an interval batch for each layer."""
        return self.epoch_length(tau) // (2 * self.d)

    def epochs(self) -> list[tuple[int, int]]:
        """(tau, rounds played) until the horizon, which truncates the last epoch."""
        if self.horizon < self.first_epoch:
            raise ValueError(
                f"horizon {self.horizon} is shorter than the first epoch of {self.first_epoch} rounds "
                f"(d={self.d}, delta={self.failure:g})"
            )
        out, left, tau = [], self.horizon, 1
        while left > 0:
            out.append((tau, min(left, self.epoch_length(tau))))
            left -= out[-1][1]
            tau += 1
        return out

    def as_dict(self) -> dict[str, Any]:
        """Every parameter, given and derived, for reports."""
        names = ["d", "actions", "horizon", "alpha", "activation", "width", "gamma", "M"]
        names += ["kappa1", "kappa1_prime", "kappa2", "kappa3", "n0"]
        return {name: getattr(self, name) for name in names} | {
            "beta": self.b,
            "delta": self.failure,
            "repairs": sorted(self.repairs),
        }


def PAPER(**parameters: Any) -> Spec:
    """The algorithm as printed, with what is wrong in it."""
    return Spec(**parameters, repairs=frozenset())


def REPAIRED(**parameters: Any) -> Spec:
    """The algorithm with the smallest set of repairs that makes its claims true."""
    return Spec(**parameters, repairs=REPAIRS)


def _whole(name: str, value: object, low: int, high: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} is a whole number from {low} to {high}, not {value!r}")


def _inside(name: str, value: float, low: float, high: float) -> None:
    if not low < value <= high:
        raise ValueError(f"{name} lies in ({low:g}, {high:g}], not {value!r}")
