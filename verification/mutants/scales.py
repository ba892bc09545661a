"""Mistakes in powers of gamma that the default beta hides, in stated losses, and in very large sums."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

PCR = "lpcb.lplr.pcr"
CI = "lpcb.lplr.ci"
WISHART = "lpcb.mechanisms.wishart"
STATISTICS = "lpcb.baselines.private_statistics"

MUTANTS = (
    # --- gamma ---
    Mutant(
        "threshold-with-e",
        "The threshold of Algorithm 4 has e^2 where gamma^2 is meant, the same at the default beta.",
        Edit(PCR, "spec.kappa1 * spec.gamma**2 * (d + 1) ** 3", "spec.kappa1 * math.e**2 * (d + 1) ** 3"),
        "conf-scales:repaired",
    ),
    Mutant(
        "guard-with-e",
        "The guard on eigenvalues has e^2 where gamma^2 is meant.",
        Edit(PCR, "(2 * d * spec.gamma**2)", "(2 * d * math.e**2)"),
        "conf-scales:repaired",
    ),
    Mutant(
        "width-with-e",
        "The constant part of an interval has e^2 where gamma^2 is meant.",
        Edit(CI, "first = spec.kappa3 * spec.gamma**2", "first = spec.kappa3 * math.e**2"),
        "conf-scales:repaired",
    ),
    Mutant(
        "margin-with-e",
        "The margin of Algorithm 5 has e where gamma is meant.",
        Edit(CI, "mean + spec.kappa2 * spec.gamma * d**1.5", "mean + spec.kappa2 * math.e * d**1.5"),
        "conf-scales:repaired",
    ),
    # --- losses ---
    Mutant(
        "wishart-loss-doubled",
        "The stated loss of Wishart noise forgets a 2.",
        Edit(WISHART, "axis2=-1) / (2 * self.v)).sum())", "axis2=-1) / self.v).sum())"),
        "conf-scales:repaired",
    ),
    Mutant(
        "wishart-loss-of-every-cell",
        "The stated loss of Wishart noise is infinite only if every cell gives the data away.",
        Edit(
            WISHART,
            "if (values[..., 0] < -PSD_TOLERANCE * np.abs(values).max(axis=-1)).any():",
            "if (values[..., 0] < -PSD_TOLERANCE * np.abs(values).max(axis=-1)).all():",
        ),
        "conf-scales:repaired",
    ),
    Mutant(
        "wishart-loss-of-first-cell",
        "The stated loss of Wishart noise looks in the first cell only for what gives the data away.",
        Edit(
            WISHART,
            "if (values[..., 0] < -PSD_TOLERANCE * np.abs(values).max(axis=-1)).any():",
            "if (values[..., 0] < -PSD_TOLERANCE * np.abs(values).max(axis=-1)).flat[0]:",
        ),
        "conf-scales:repaired",
    ),
    Mutant(
        "asymmetric-outputs-possible",
        "An output matrix that is not symmetric has the density of its upper triangle.",
        Edit("lpcb.mechanisms.symmetric", "return np.where(mirrored, logs, -np.inf)", "return logs"),
        "conf-scales:repaired",
    ),
    Mutant(
        "ps-sensitivity-add-remove",
        "private_statistics: the noise covers a user who leaves, not one who is replaced.",
        Edit(STATISTICS, "return (1 + math.sqrt(d)) ** 2", "return (1 + math.sqrt(d)) ** 2 / 2"),
        "conf-scales:repaired",
    ),
    Mutant(
        "ps-privacy-budget",
        "private_statistics: alpha is taken for 1.",
        Edit(STATISTICS, "b = l1_sensitivity(problem.d) / run.alpha", "b = l1_sensitivity(problem.d)"),
        "conf-scales:repaired",
    ),
    # --- counts of very many users ---
    Mutant(
        "order-statistic-rest-of-all",
        "Binomials of large mean: above the order statistic all n are drawn again, not the n - i left.",
        Edit("lpcb.sums", "_binomial(np.where(low, n - i, i - 1)", "_binomial(np.where(low, n, i - 1)"),
        "conf-sums:repaired",
    ),
    Mutant(
        "waiting-times-one-too-many",
        "Binomials of small mean and large n count the first success beyond n too.",
        Edit(
            "lpcb.sums",
            "        if not within.any():\n            return count\n",
            "        if not within.any():\n            return count + 1\n",
        ),
        "conf-sums:repaired",
    ),
    Mutant(
        "waiting-times-shared",
        "Binomials of small mean and large n: all cells share their waiting times.",
        Edit(
            "lpcb.sums",
            "np.floor(rng.standard_exponential(n.shape) * wait)",
            "np.floor(rng.standard_exponential() * wait)",
        ),
        "conf-sums:repaired",
    ),
)
