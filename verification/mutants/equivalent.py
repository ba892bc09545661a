"""Changes of text that look like mistakes and are none, each with its proof."""

from __future__ import annotations

from verification.mutants.mutant import Equivalent
from verification.substitution import Edit

EQUIVALENT = (
    Equivalent(
        "sign-not-canonical",
        "The sign of a direction is left as the eigensolver gives it.",
        Edit("lpcb.lplr.pcr", "np.where(largest < 0, -u, u)", "u"),
        "A direction enters as u u'lambda / s, as u u' and as |u'phi|, which do not change when u becomes "
        "-u; negation is exact in floating point, so not even the last bit does.",
    ),
    Equivalent(
        "second-threshold-missing",
        "Bins stay open without passing the second threshold, that of Algorithm 5.",
        Edit(
            "lpcb.lplr.ci",
            "open_ = fit.active & (fit.psi > spec.kappa1_prime * spec.gamma * d**1.5 / root_n)",
            "open_ = fit.active.copy()",
        ),
        "An active bin has psi > kappa_1 gamma^2 (d+1)^3 / sqrt(n), and kappa_1' = 15/43 kappa_1, gamma >= 1 "
        "and d^(3/2) < (d+1)^3: with the printed constants the first threshold implies the second.",
    ),
    Equivalent(
        "prediction-with-whole-vector",
        "The contribution of a layer is phi'theta, not phi_h'theta.",
        Edit(
            "lpcb.partition",
            "total = at.total + dot(at.rest, theta)",
            "total = at.total + dot(at.phi, theta)",
        ),
        "theta is a multiple of u, which is orthogonal to all directions above: phi_h = (I - U U')phi and "
        "U'u = 0 give phi_h'u = phi'u, up to rounding.",
    ),
    Equivalent(
        "stopped-forgotten",
        "Whether a bin above was inactive is looked up in the last bin alone.",
        Edit("lpcb.partition", "eta, at.stopped | ~bins.active[rows])", "eta, ~bins.active[rows])"),
        "Open bins are active and children of bins that are not open are inactive, so below an inactive bin "
        "every bin is inactive, the last one too.",
    ),
)
