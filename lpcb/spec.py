"""What the algorithm is run with: parameters as printed, and the set of repairs switched on."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from lpcb.boundary import check_number, short

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
MIN_ALPHA = 1e-40
"""Below this, noise could outgrow what a server takes for an entry."""
MAX_FACTOR = 1e100
MAX_EPOCH = 62


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
        self._keep("d", _whole("d", self.d, 1, 12))
        self._keep("actions", _whole("actions", self.actions, 1, 10**4))
        self._keep("horizon", _whole("horizon", self.horizon, 2, MAX_HORIZON))
        self._keep("alpha", _inside("alpha", self.alpha, 0.0, 1.0))
        if self.alpha < MIN_ALPHA:
            raise ValueError(f"alpha is at least {MIN_ALPHA:g}, not {self.alpha!r}")
        if self.beta is not None:
            self._keep("beta", _inside("beta", self.beta, 0.0, 0.5))
        elif self.horizon < math.exp(2):
            raise ValueError(f"horizon {self.horizon}: beta = 1/ln T must be at most 1/2, so T is at least 8")
        if self.delta is not None:
            self._keep("delta", _inside("delta", self.delta, 0.0, 1.0))
        if self.b * MAX_LEVELS < 0.25:  # before M, which could be infinite
            raise ValueError(f"beta {self.b:g} gives more than {MAX_LEVELS} levels")
        if self.M > MAX_LEVELS or self.actions * (self.M + 1) ** self.d > MAX_HORIZON:
            raise ValueError(
                f"beta {self.b:g} gives {self.M} levels and {self.M + 1}^{self.d} bins an action; "
                f"at most {MAX_LEVELS} levels and 2^62 bins in all can be numbered"
            )
        for name in ("activation", "width"):
            value = getattr(self, name)
            check_number(name, value)
            if not 0 <= float(value) <= MAX_FACTOR:
                raise ValueError(f"{name} is a finite factor from 0 to {MAX_FACTOR:g}, not {value!r}")
            self._keep(name, float(value))
        if not isinstance(self.repairs, frozenset) or not self.repairs <= REPAIRS:
            raise ValueError(f"repairs are a frozenset of {sorted(REPAIRS)}, not {short(self.repairs)}")

    def _keep(self, name: str, value: float) -> None:
        """Numbers are kept as Python's own: thresholds computed in float32 would overflow."""
        object.__setattr__(self, name, value)

    def has(self, repair: str) -> bool:
        """Whether a repair is switched on; each name is asked for in one place of the code.

        >>> REPAIRED(d=2, actions=2, horizon=100).has("width-cap")
        True
        """
        if not isinstance(repair, str) or repair not in REPAIRS:
            raise ValueError(f"unknown repair {short(repair)}; there are {sorted(REPAIRS)}")
        return repair in self.repairs

    @cached_property
    def b(self) -> float:
        """beta in (0, 1/2], by default 1/ln T: the gamma = T^beta of Section 4.1 is then e.

        Theorem 4.6 leaves beta open; this choice makes its factor T^(2 beta) constant.

        >>> round(Spec(d=2, actions=2, horizon=10**18).b, 5)
        0.02413
        """
        return self.beta if self.beta is not None else 1 / math.log(self.horizon)

    @cached_property
    def failure(self) -> float:
        """delta in (0, 1], the failure probability of an oracle, by default 1/T^2 as in Algorithm 1."""
        return self.delta if self.delta is not None else float(self.horizon) ** -2

    @cached_property
    def gamma(self) -> float:
        """gamma = T^beta, the ratio of neighbouring levels (Section 4.1).

        >>> round(Spec(d=2, actions=2, horizon=10**18).gamma, 6)
        2.718282
        """
        return float(self.horizon**self.b)

    @cached_property
    def M(self) -> int:
        """M = ceil(1/(2 beta)), the number of partitioning levels of a layer (Section 4.1).

        The last level, k = M, holds what is no longer than gamma^-M <= 1/sqrt(T) and is never partitioned.

        beta = 1/ln T is rounded, so 1/(2 beta) may exceed an integer by an ulp; that is not a level.
        """
        return math.ceil(1 / (2 * self.b) * (1 - 4e-16))

    def log_term(self, c: float) -> float:
        """ln(c d / (beta delta)), the logarithm of the bounds of Lemmas 4.2 to 4.5, with c = 48 or 24."""
        _inside("c", c, 0.0, 1e300)
        return math.log(float(c) * self.d) - math.log(self.b) - math.log(self.failure)

    @cached_property
    def kappa1(self) -> float:
        """kappa_1 = 43 ln(48 d / (beta delta)) / alpha: the bound of Lemma 4.3 at equality.

        Algorithm 4 fits a bin with psi_hat > kappa_1 gamma^2 (d + 1)^3 / sqrt(n).

        >>> round(Spec(d=2, actions=2, horizon=10**18).kappa1, 1)
        3920.8
        """
        return self.activation * 43 / self.alpha * self.log_term(48)

    @cached_property
    def kappa1_prime(self) -> float:
        """kappa_1' = 15 ln(48 d / (beta delta)) / alpha: the bound of Lemma 4.4 at equality.

        Algorithm 5 bounds the error of a bin with psi_hat > kappa_1' gamma d^(3/2) / sqrt(n).
        """
        return self.activation * 15 / self.alpha * self.log_term(48)

    @cached_property
    def kappa2(self) -> float:
        """kappa_2 = 118 ln(24 d / (beta delta)) / alpha: the bound of Lemma 4.4 at equality.

        The margin of bar-epsilon in Algorithm 5 is kappa_2 gamma d^(3/2) / (psi_hat n) as printed, and
        kappa_2 gamma d^(3/2) / (psi_hat sqrt(n)) with `root-n-margin`, as the proof has it.
        """
        return self.width * 118 / self.alpha * self.log_term(24)

    @cached_property
    def kappa3(self) -> float:
        """kappa_3 = 300 ln(48 d / (beta delta)) / alpha: the bound of Lemma 4.4 at equality.

        The first part of chi_hat in Algorithm 5 is kappa_3 gamma^2 (d + 1)^4 / (psi_hat sqrt(n)).
        """
        return self.width * 300 / self.alpha * self.log_term(48)

    @cached_property
    def n0(self) -> int:
        """n_0 = ceil(4 d^2 ln(24 d / (beta delta))), of the order that Theorem 4.6 prints.

        A batch of the first epoch has 2 n_0 / (2 d) users, so every batch has at least the
        2 d ln(24 d / (beta delta)) that Lemmas 4.2 and 4.4 ask for.

        >>> Spec(d=2, actions=2, horizon=10**18).n0
        1448
        """
        return math.ceil(4 * self.d**2 * self.log_term(24))

    @property
    def first_epoch(self) -> int:
        """n_1 = 2 n_0, the shortest horizon that can be run."""
        return 2 * self.n0

    def epoch_length(self, tau: int) -> int:
        """n_tau = 2^tau n_0 for tau = 1, 2, ... (Theorem 4.6)."""
        tau = _whole("tau", tau, 0, MAX_EPOCH)
        return self.n0 << tau

    def batch(self, tau: int) -> int:
        """Users per batch, floor(n_tau / (2 d)): Algorithm 2 has an update and an interval batch a layer."""
        return self.epoch_length(tau) // (2 * self.d)

    def epochs(self) -> list[tuple[int, int]]:
        """(tau, rounds played) until the horizon, which truncates the last epoch (Algorithm 1).

        >>> Spec(d=2, actions=2, horizon=10**4).epochs()
        [(1, 786), (2, 1572), (3, 3144), (4, 4498)]
        """
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


def check_spec(spec: Spec) -> None:
    """Refuses what is no Spec; so cheap that the steps of a fit can afford it."""
    if not isinstance(spec, Spec):
        raise ValueError(f"spec is a Spec, not {short(spec)}")


def _whole(name: str, value: object, low: int, high: int) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or not low <= value <= high:
        raise ValueError(f"{name} is a whole number from {low} to {high}, not {short(value)}")
    return int(value)


def _inside(name: str, value: float, low: float, high: float) -> float:
    check_number(name, value)
    if not low < float(value) <= high:
        raise ValueError(f"{name} lies in ({low:g}, {high:g}], not {short(value)}")
    return float(value)
