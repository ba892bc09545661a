"""Inequalities over continuous parameters, proved with ball arithmetic and branch and bound.

    prove(lambda x: exp(x) - 1 - x - exp(ball(1)) / 2 * x * x, Box(x=(-1, 1)))

gives :class:`Proved`, :class:`Refuted` with a certified point, or :class:`Undecided` with what is left.
``bracket_supremum`` gives sharp constants, ``integrate`` rigorous integrals, ``write_certificate`` a file
that ``verify_certificate`` verifies without the prover.

Singular corners: divide the order out by hand, with :func:`exp_tail` and :func:`log_tail` for the
usual quotients, or :class:`ExpSum` for sums of exponentials. Where the quotient is written, it is proved.
"""

from verification.evidence.enclosure.balls import (
    Ball,
    absolute,
    ball,
    cosh,
    exact,
    exp,
    exp_tail,
    interval,
    log,
    log_tail,
    lower,
    maximum,
    minimum,
    monotone,
    sqrt,
    upper,
)
from verification.evidence.enclosure.box import Box, at, on_simplex
from verification.evidence.enclosure.certificate import certificate, write_certificate
from verification.evidence.enclosure.exponentials import ExpSum, Majorant, divide_cube
from verification.evidence.enclosure.integers import prove_all_integers, prove_integers
from verification.evidence.enclosure.integral import integrate, integrate_pieces
from verification.evidence.enclosure.recheck import Rejected, Verified, verify_certificate, verify_text
from verification.evidence.enclosure.search import Proved, Refuted, Result, Undecided, prove
from verification.evidence.enclosure.steps import Step, all_of, at_points, result_evidence, step_evidence
from verification.evidence.enclosure.stored import Statement, established
from verification.evidence.enclosure.supremum import Bracket, bracket_supremum

__all__ = [
    "Ball",
    "Box",
    "Bracket",
    "ExpSum",
    "Majorant",
    "Proved",
    "Refuted",
    "Rejected",
    "Result",
    "Statement",
    "Step",
    "Undecided",
    "Verified",
    "absolute",
    "all_of",
    "at",
    "at_points",
    "ball",
    "bracket_supremum",
    "certificate",
    "cosh",
    "divide_cube",
    "established",
    "exact",
    "exp",
    "exp_tail",
    "integrate",
    "integrate_pieces",
    "interval",
    "log",
    "log_tail",
    "lower",
    "maximum",
    "minimum",
    "monotone",
    "on_simplex",
    "prove",
    "prove_all_integers",
    "prove_integers",
    "result_evidence",
    "sqrt",
    "step_evidence",
    "upper",
    "verify_certificate",
    "verify_text",
    "write_certificate",
]
