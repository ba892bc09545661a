r"""Lemma 4.4, second part: Corollary A.4, Lemma A.5, Corollary A.6, and the validity of the intervals.

Corollary A.4 needs the margin $\kappa_2\gamma d^{3/2}/(\hat\psi\sqrt n)$ where Algorithm 5 adds
$\kappa_2\gamma d^{3/2}/(\hat\psi n)$. Its sandwich is in truth $0.7\psi \le \hat\psi \le 1.71\psi$; the
printed one, 0.4 and 2.5, would give 0.4 + 2.5 = 2.9 for the 2.5 at its upper end.
"""

from __future__ import annotations

from fractions import Fraction

from verification.evidence.enclosure import Ball, Box, Step, all_of, at_points, ball, prove, sqrt
from verification.evidence.lplr_proof.components import TOP, D, rest
from verification.evidence.lplr_proof.tools import (
    UNIT,
    at_most,
    basis,
    counterexample,
    dot,
    triangle,
    vanishes,
)

A4 = "psi_hat >= 15 d^(3/2) gamma ln(48d/(beta delta))/(alpha sqrt(n)); all d >= 1, gamma >= 1"
CORNER = Box(s=UNIT, g=UNIT)


def frequency(s: Ball, g: Ball, *, room: int = 15) -> Ball:
    """8.5 − (15 − 6.2 s g): psi ≥ psi_hat less its error, over d^{3/2}γ ln(48d/βδ)."""
    return ball("8.5") - room + ball("6.2") * s * g


def sandwich_low(s: Ball, g: Ball, *, factor: str = "0.4") -> Ball:
    """0.4 psi/psi_hat − 1 with psi ≤ psi_hat(1 + 6.2 s g/15)."""
    return ball(factor) * (1 + ball("6.2") / 15 * s * g) - 1


def sandwich_high(s: Ball, g: Ball, *, factor: str = "2.5") -> Ball:
    """1 − 2.5 psi/psi_hat with psi ≥ psi_hat(1 − 6.2 s g/15)."""
    return 1 - ball(factor) * (1 - ball("6.2") / 15 * s * g)


def upper_end(s: Ball, g: Ball, *, end: str = "2.5") -> Ball:
    """1/2.5 + psi/psi_hat − 2.5, in units of κ₂γd^{3/2}/(psi √n)."""
    return ball("0.4") + 1 + ball("6.2") / 15 * s * g - ball(end)


def thin_margin(n: Fraction) -> Ball:
    """47/√n − 118/n: the error that Lemma A.3 allows less the margin of Algorithm 5, psi_hat = psi."""
    return 47 / sqrt(ball(n)) - 118 / ball(n)


def capped(parent: Fraction, increment: Fraction) -> Fraction:
    """eta_hat_parent + chi_hat − min{1, eta_hat_parent + chi_hat}."""
    return parent + increment - min(Fraction(1), parent + increment)


def beyond_norm(theta: Fraction, fitted: Fraction) -> Fraction:
    """|phi'(theta_hat − theta*)| − ‖phi‖ for phi = e_1."""
    return abs(fitted - theta) - 1


def norm_of_whole(first: Fraction, second: Fraction, gamma: Fraction) -> Fraction:
    """‖phi‖² − gamma^{−2k} for phi = (first, second), u_1 = e_1: k belongs to phi_2 = (0, second)."""
    k = max(k for k in range(50) if abs(second) <= gamma**-k)
    return first**2 + second**2 - gamma ** (-2 * k)


def averaged(p: Fraction, x: Fraction, y: Fraction) -> Fraction:
    """|E z| − E|z| for z = x, y with probabilities p/(p+1), 1/(p+1)."""
    return (abs(p * x + y) - (p * abs(x) + abs(y))) / (p + 1)


COROLLARY_A4 = (
    Step(
        "Corollary A.4, condition",
        "psi_hat >= 15 ... gives psi >= 8.5 d^(3/2) gamma ln(12d/(beta delta))/(alpha sqrt(n))",
        A4,
        lambda: prove(frequency, CORNER),
    ),
    Step(
        "Corollary A.4, sandwich",
        "0.4 psi <= psi_hat <= 2.5 psi",
        A4,
        lambda: all_of((prove(sandwich_low, CORNER), prove(sandwich_high, CORNER))),
    ),
    Step(
        "Corollary A.4, sharper sandwich",
        "0.7 psi <= psi_hat <= 1.71 psi",
        A4,
        lambda: all_of(
            (
                prove(lambda s, g: sandwich_low(s, g, factor="0.7"), CORNER),
                prove(lambda s, g: sandwich_high(s, g, factor="1.71"), CORNER),
            )
        ),
    ),
    Step(
        "Corollary A.4, first inequality",
        "47 <= 118/2.5",
        A4,
        lambda: at_most(47, Fraction(118) / Fraction(5, 2)),
    ),
    Step(
        "Corollary A.4, second and third inequality",
        "1/(2.5 psi) <= 1/psi_hat <= 2.5/psi",
        A4,
        lambda: all_of((prove(sandwich_high, CORNER), prove(sandwich_low, CORNER))),
    ),
    Step(
        "Corollary A.4, upper end",
        "bar-eps <= eps + 2.5 kappa_2 gamma d^(3/2)/(psi sqrt(n)): error and margin together, 0.4 + "
        "psi/psi_hat <= 2.5; "
        "true by the sharper sandwich",
        A4 + "; margin with sqrt(n)",
        lambda: prove(upper_end, CORNER),
    ),
    Step(
        "Corollary A.4, lower end",
        "eps <= bar-eps with the margin kappa_2 gamma d^(3/2)/(psi_hat n) of Algorithm 5; shown at psi_hat = "
        "psi, in units "
        "of gamma d^(3/2) ln(24d/(beta delta))/(alpha psi)",
        "all n >= 2d ln(24d/(beta delta))",
        lambda: counterexample(thin_margin, n=100),
        "the margin has to be kappa_2 gamma d^(3/2)/(psi_hat sqrt(n)); then both ends hold",
    ),
)

LEMMA_A5 = (
    Step(
        "Lemma A.5, phi and phi_h",
        "phi'(theta_hat - theta*) = phi_h'(theta_hat - theta*), both being along u",
        "identity, d = 3, one rational U",
        lambda: vanishes((dot(x, TOP) - dot(rest(x), TOP),) for x in basis(D)),
    ),
    Step(
        "Lemma A.5, second term",
        "gamma^-k 120(d+1)^4 gamma^(k+2) = 120(d+1)^4 gamma^2",
        "all gamma >= 1, k >= 0",
        lambda: at_points(
            lambda gamma, k: abs(gamma ** (-int(k)) * 120 * gamma ** int(k + 2) - 120 * gamma**2),
            ({"gamma": g, "k": k} for g in (1, 2, 3) for k in range(4)),
        ),
    ),
    Step(
        "proof-epsi-1",
        "u'phi_h = u'phi",
        "identity, d = 3, one rational U",
        lambda: vanishes((dot(TOP, rest(x)) - dot(TOP, x),) for x in basis(D)),
    ),
    Step(
        "proof-epsi-2",
        "|E z| <= E|z|",
        "laws on two points; more follow by induction",
        lambda: at_points(
            averaged, ({"p": p, "x": x, "y": y} for p in (1, 3) for x in (-1, 0, 1) for y in (-1, 0, 1))
        ),
    ),
    Step(
        "proof-epsi-3",
        "|eta| <= eta_hat on the parent bin, times w = |u'phi| >= 0; x = |eta|/eta_hat",
        "given validity on the layers above; bilinear in x and w, so that corners are enough",
        lambda: at_points(lambda x, w: (x - 1) * w, ({"x": x, "w": w} for x in (0, 1) for w in (0, 1))),
    ),
    Step(
        "Corollary A.6",
        "120/psi <= 300/psi_hat: 120 * 2.5 <= 300",
        A4,
        lambda: all_of((prove(sandwich_high, CORNER), at_most(120 * Fraction(5, 2), 300))),
    ),
)

VALIDITY = (
    Step(
        "validity, chi",
        "kappa_3 >= 300 ln(48d/(beta delta))/alpha makes the first part of chi_hat cover Corollary A.6",
        "given Corollary A.6",
        lambda: at_most(300, 300),
    ),
    Step(
        "validity, sum of errors",
        "|eta| <= |eta of the parent| + |chi|",
        "all real numbers",
        triangle,
    ),
    Step(
        "validity, eta_hat",
        "eta_hat of the parent + chi_hat = eta_hat",
        "Algorithm 5 returns min{1, .}",
        lambda: counterexample(capped, parent="0.75", increment="0.75"),
        "the cap at 1 can cut below |eta|, which is not bounded by 1; with predictions clipped to [-1, 1] "
        "errors are at "
        "most 2, and 2 is the cap",
    ),
    Step(
        "inactive bins, first inequality",
        "|phi'(theta_hat^tot - theta*)| <= ||phi||",
        "all estimates; here phi = e_1",
        lambda: counterexample(beyond_norm, theta="-0.75", fitted="0.75"),
        "<= eta_hat of the parent + ||phi_h||",
    ),
    Step(
        "inactive bins, second inequality",
        "||phi|| <= gamma^(-k_h); shown squared",
        "all h; here h = 2, u_1 = e_1",
        lambda: counterexample(norm_of_whole, first=Fraction(12, 13), second=Fraction(5, 13), gamma=2),
        "only ||phi_h|| <= gamma^(-k_h), so that eta_hat = eta_hat of the parent + gamma^(-k_h) is needed "
        "in inactive bins",
    ),
)

STEPS = COROLLARY_A4 + LEMMA_A5 + VALIDITY
