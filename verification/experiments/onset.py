r"""From which horizon on the theorems say something: Theorem 4.6's bound with the proof's own constant, and
when the algorithm becomes active, from formulas that reach beyond the horizons that can be simulated.

The chain, Theorem 3.2 and Lemma 4.5 put together, is derived and certified in
verification.evidence.lplr_proof.chain; here it is summed up epoch by epoch. As printed its factor a layer is
2.54, repaired 3.02.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from scipy.optimize import brentq

from verification.evidence.lplr_proof.chain import GROWTH
from verification.verdict import Variant

E2 = math.exp(2)


@dataclass(frozen=True)
class Formula:
    """Printed constants at a horizon of any size, beta = 1/ln T and delta = 1/T^2; so gamma = e."""

    d: int
    actions: int
    alpha: float
    log_T: float
    activation: float = 1.0
    width: float = 1.0
    variant: Variant = "repaired"

    def log_term(self, c: float) -> float:
        return math.log(c * self.d) + math.log(self.log_T) + 2 * self.log_T

    @property
    def M(self) -> int:
        return math.ceil(self.log_T / 2 * (1 - 4e-16))

    @property
    def threshold(self) -> float:
        """kappa_1 gamma^2 (d+1)^3: the frequency at which a bin is active, times sqrt(n)."""
        return self.activation * 43 / self.alpha * self.log_term(48) * E2 * (self.d + 1) ** 3

    @property
    def noise_width(self) -> float:
        """kappa_3 gamma^2 (d+1)^4 + kappa_2 gamma d^{3/2}: what one layer adds to an interval at psi = 1.

        As printed the second margin falls like 1/n, not 1/sqrt(n): it is gone at every horizon of interest.
        """
        first = 300 * self.log_term(48) * E2 * (self.d + 1) ** 4
        margin = 118 * self.log_term(24) * math.e * float(self.d**1.5) if self.variant == "repaired" else 0.0
        return self.width / self.alpha * (first + margin)

    @property
    def K(self) -> float:
        d, e = self.d, math.e
        wide = 300 * self.log_term(48) * E2 * (d + 1) ** 4 + 118 * self.log_term(24) * e * d**2
        active = self.log_term(48) * max(43 * E2 * (d + 1) ** 3, 15 * e * float(d**1.5))
        return (self.width * wide + self.activation * active) / self.alpha

    @property
    def growth(self) -> float:
        """From layer to layer, in Lemma 4.4's recursion."""
        return float(GROWTH) if self.variant == "repaired" else 2.54

    def chain(self) -> float:
        """ln of the bound on regret that the proof chain gives."""
        T, n0 = math.exp(self.log_T), math.ceil(4 * self.d**2 * self.log_term(24))
        left, length, total = T - 2.0 * n0, 4.0 * n0, 0.0
        while left > 0:
            total += min(left, length) / math.sqrt(length / 2 / (2 * self.d))
            left, length = left - length, 2 * length
        mad = (self.growth * self.M) ** self.d * 12 * self.K
        return math.log(4.0 * n0 + 2 * (1 - 1 / self.actions) * self.actions**2 * mad * total)

    def shape(self) -> float:
        """ln of Theorem 4.6's right-hand side without C."""
        log = math.log(48 * self.d) + math.log(self.log_T) + self.log_T
        power = self.d * math.log(self.growth * self.log_T) + (0.5 + 2 / self.log_T) * self.log_T
        return power + math.log(self.actions**2 * self.d**5 / self.alpha) + 2 * math.log(log)


def first_horizon(excess: Callable[[float], float], low: float = 7.0, high: float = 400.0) -> float:
    """The T at which ``excess`` of ln T falls through zero."""
    return float(math.exp(brentq(excess, low, high)))


def _layers(formula: Formula) -> int:
    """eta_h = 2 eta_{h-1} + (noise width)/(psi sqrt(n)) along d layers."""
    return int(2**formula.d - 1)


EVENTS: dict[str, Callable[[Formula], float]] = {
    "first active bin": lambda f: f.threshold,
    "mean interval below 1": lambda f: _layers(f) * f.noise_width,
    "regret half of uniform, gap 1": lambda f: 2 * _layers(f) * f.noise_width,
}
"""Each happens when sqrt(n) of a batch, times a bin's share psi of the users, reaches this."""


def onset(d: int, alpha: float, actions: int = 2, variant: Variant = "repaired") -> dict[str, float]:
    """Horizons at which things first happen on an instance whose users share a bin on every layer.

    An epoch's last batch of n users is complete after about 4 d n rounds; epochs double, so these are right
    up to a factor of 2. psi = 1/A; an action with gap 1 is eliminated at eta = 1/2, and then regret is at
    most half of uniform play's.
    """

    def at(size: Callable[[Formula], float]) -> float:
        def excess(log_T: float) -> float:
            formula = Formula(d, actions, alpha, log_T, variant=variant)
            return math.log(4 * d) + 2 * math.log(size(formula) * actions) - log_T

        return first_horizon(excess)

    found = {name: at(size) for name, size in EVENTS.items()}
    found["bound below 2T"] = first_horizon(
        lambda log_T: Formula(d, actions, alpha, log_T, variant=variant).chain() - math.log(2) - log_T
    )
    return found
