"""Mistakes in the budget: how alpha is split, and what change of a user's data the noise has to cover."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.mutants.noise import MATRICES, UPDATE, VECTORS
from verification.substitution import Edit

COUNTS = "Laplace(np.ones_like(unit), float(cells), share)"

MUTANTS = (
    # --- budget ---
    Mutant(
        "budget-in-halves",
        "Each of the three statistics spends half of alpha.",
        Edit(UPDATE, "touched_cells(spec), spec.alpha / 3", "touched_cells(spec), spec.alpha / 2"),
        "prop-4.1-joint:repaired",
    ),
    Mutant(
        "budget-whole-for-each",
        "Each of the three statistics spends all of alpha.",
        Edit(UPDATE, "touched_cells(spec), spec.alpha / 3", "touched_cells(spec), spec.alpha"),
        "thm-3.2-privacy:repaired",
    ),
    Mutant(
        "budget-fourths",
        "Each of the three statistics spends a fourth of alpha, and a fourth is spent on nothing.",
        Edit(UPDATE, "touched_cells(spec), spec.alpha / 3", "touched_cells(spec), spec.alpha / 4"),
        "prop-4.1-joint:repaired",
    ),
    Mutant(
        "count-spends-double",
        "The counts spend two thirds of alpha.",
        Edit(UPDATE, COUNTS, "Laplace(np.ones_like(unit), float(cells), 2 * share)"),
        "prop-4.1-count:repaired",
    ),
    Mutant(
        "interval-spends-double",
        "The release of Algorithm 5 spends 2 alpha.",
        Edit(
            "lpcb.lplr.ci",
            "touched_cells(spec) * cap(spec), spec.alpha)",
            "touched_cells(spec) * cap(spec), 2 * spec.alpha)",
        ),
        "lemma-4.4-privacy:repaired",
    ),
    # --- sensitivity of adding a user instead of replacing one ---
    Mutant(
        "count-add-remove",
        "The counts' noise covers a user who leaves, not one who is replaced.",
        Edit(UPDATE, COUNTS, "Laplace(np.ones_like(unit), 1.0, share)"),
        "prop-4.1-count:repaired",
    ),
    Mutant(
        "vector-add-remove",
        "The vectors' noise covers a user who leaves, not one who is replaced.",
        Edit(UPDATE, VECTORS, VECTORS.replace("cells * math", "math")),
        "prop-4.1-vector:repaired",
    ),
    Mutant(
        "matrix-add-remove",
        "The matrices' noise covers a user who leaves, not one who is replaced.",
        Edit(UPDATE, MATRICES, MATRICES.replace("cells * (", "(")),
        "prop-4.1-matrix:repaired",
    ),
    Mutant(
        "interval-add-remove",
        "The noise of Algorithm 5 covers a user who leaves, not one who is replaced.",
        Edit(
            "lpcb.lplr.ci",
            "Laplace(unit, touched_cells(spec) * cap(spec), spec.alpha)",
            "Laplace(unit, cap(spec), spec.alpha)",
        ),
        "lemma-4.4-privacy:repaired",
    ),
    Mutant(
        "printed-scale-touches-two",
        "The printed variant is given the repaired sensitivity.",
        Edit(UPDATE, 'return 2 if spec.has("replacement-sensitivity") else 1', "return 2"),
        "prop-4.1-count:paper",
    ),
)
