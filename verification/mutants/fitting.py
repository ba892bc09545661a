"""Mistakes in the fit of a bin and in its interval: Algorithms 4 to 6."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

PCR = "lpcb.lplr.pcr"
CI = "lpcb.lplr.ci"
ACTIVE = "active = parent_open & (psi > threshold) & (k < spec.M)"

MUTANTS = (
    # --- Algorithm 4 ---
    Mutant(
        "last-bin-active",
        "The bin k = M, which has no lower edge, is fitted like any other.",
        Edit(PCR, ACTIVE, "active = parent_open & (psi > threshold)"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "children-of-inactive-bins-active",
        "Bins below an inactive bin may be active.",
        Edit(PCR, ACTIVE, "active = (psi > threshold) & (k < spec.M)"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "no-threshold",
        "Every bin is active, however few users it has.",
        Edit(PCR, ACTIVE, "active = parent_open & (psi > 0) & (k < spec.M)"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "threshold-without-dimension",
        "The threshold of Algorithm 4 forgets (d+1)^3.",
        Edit(
            PCR,
            "spec.kappa1 * spec.gamma**2 * (d + 1) ** 3 / math.sqrt(n)",
            "spec.kappa1 * spec.gamma**2 / math.sqrt(n)",
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "threshold-of-three-dimensions",
        "The threshold of Algorithm 4 takes d for at most 3, which only d = 4 and more can show.",
        Edit(
            PCR,
            "spec.kappa1 * spec.gamma**2 * (d + 1) ** 3 / math.sqrt(n)",
            "spec.kappa1 * spec.gamma**2 * (min(d, 3) + 1) ** 3 / math.sqrt(n)",
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "projection-dropped",
        "The matrix is not compressed to the orthogonal complement of the directions above.",
        Edit(
            PCR,
            "compressed = rest @ (matrix + np.swapaxes(matrix, -1, -2)) @ rest / 4",
            "compressed = (matrix + np.swapaxes(matrix, -1, -2)) / 4",
        ),
        "lemma-4.3-projection:repaired",
    ),
    Mutant(
        "negative-part-kept",
        "The projection keeps negative eigenvalues.",
        Edit(PCR, "return np.maximum(values, 0.0), vectors", "return values, vectors"),
        "lemma-4.3-projection:repaired",
    ),
    Mutant(
        "absolute-eigenvalues",
        "The projection turns negative eigenvalues over instead of dropping them.",
        Edit(PCR, "return np.maximum(values, 0.0), vectors", "return np.abs(values), vectors"),
        "lemma-4.3-projection:repaired",
    ),
    Mutant(
        "last-eigenvector",
        "The direction is the eigenvector of the smallest eigenvalue.",
        Edit(PCR, "rest, vectors[..., -1])", "rest, vectors[..., 0])"),
        "lemma-4.3-identity:repaired",
    ),
    Mutant(
        "second-component",
        "Both direction and eigenvalue are those of the second component, where there is one.",
        Edit(
            PCR,
            "values, vectors = project(matrix, rest)",
            "values, vectors = (np.roll(part, 1, axis=-1) for part in project(matrix, rest))",
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "eigenvalue-of-unprojected-matrix",
        "s_B is the largest eigenvalue of the matrix before it is projected.",
        Edit(
            PCR,
            "np.where(found[..., 0], values[..., -1], 0.0)",
            "np.where(found[..., 0], np.linalg.eigvalsh(matrix)[..., -1], 0.0)",
        ),
        "lemma-4.3-identity:repaired",
    ),
    Mutant(
        "eigenvalue-not-inverted",
        "The coefficient is multiplied by s_B where it should be divided.",
        Edit(PCR, "sums.vector[rows] / scale) / s_rows", "sums.vector[rows] / scale) * s_rows"),
        "lemma-4.3-identity:repaired",
    ),
    Mutant(
        "matrix-not-normalised",
        "The matrix is divided by n, not by the users in its bin.",
        Edit(
            PCR,
            "top_component(sums.matrix[rows] / scale[..., None], rest)",
            "top_component(sums.matrix[rows] / n, rest)",
        ),
        "lemma-4.3-identity:repaired",
    ),
    Mutant(
        "guard-too-low",
        "The guard on the eigenvalue forgets gamma^-2k.",
        Edit(PCR, "edges(spec)[k[rows]] ** 2 / (2 * d * spec.gamma**2)", "1e-300"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "guard-without-dimension",
        "The guard on the eigenvalue forgets 2d and drops good bins.",
        Edit(
            PCR,
            "edges(spec)[k[rows]] ** 2 / (2 * d * spec.gamma**2)",
            "edges(spec)[k[rows]] ** 2 / spec.gamma",
        ),
        "conf-formulas:repaired",
    ),
    # --- Algorithm 5 ---
    Mutant(
        "margin-of-three-dimensions",
        "The margin of Algorithm 5 takes d for at most 3, which only d = 4 and more can show.",
        Edit(
            CI,
            "mean + spec.kappa2 * spec.gamma * d**1.5 /",
            "mean + spec.kappa2 * spec.gamma * min(d, 3)**1.5 /",
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "width-of-three-dimensions",
        "The constant part of an interval takes d for at most 3, which only d = 4 and more can show.",
        Edit(
            CI,
            "(spec.d + 1) ** 4 / math.sqrt(layer.n)",
            "(min(spec.d, 3) + 1) ** 4 / math.sqrt(layer.n)",
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "width-halved-at-alpha-one-half",
        "The constant part of an interval is half as wide at alpha = 1/2, in four dimensions.",
        Edit(
            CI,
            "first = spec.kappa3 *",
            "first = (0.5 if spec.d == 4 and spec.alpha == 0.5 else 1.0) * spec.kappa3 *",
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "cap-at-1",
        "Intervals are capped at 1 though a clipped prediction can be off by 2.",
        Edit(CI, 'return 2.0 if spec.has("width-cap") else 1.0', "return 1.0"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "cap-missing",
        "Intervals are not capped, so that the errors of Algorithm 5 outgrow their noise.",
        Edit(CI, "width = np.minimum(cap(spec), np.where(", "width = np.minimum(np.inf, np.where("),
        "lemma-4.4-privacy:repaired",
    ),
    Mutant(
        "parent-error-not-summed",
        "epsilon_i forgets the interval of the parent bin.",
        Edit(CI, "share: Array = at.eta * np.divide(", "share: Array = (at.eta > 0) * np.divide("),
        "conf-formulas:repaired",
    ),
    Mutant(
        "parent-width-dropped",
        "The interval of an active bin forgets that of its parent.",
        Edit(CI, "at.eta + chi(spec, at, layer), inactive", "chi(spec, at, layer), inactive"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "width-by-bin",
        "The interval takes the largest |u'phi| of the bin, not that of the point.",
        Edit(
            CI,
            "along = np.abs(dot(layer.u[rows], at.rest))\n    first",
            "along = edges(spec)[at.k]\n    first",
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "width-forgets-direction",
        "The interval forgets the part that grows along the direction.",
        Edit(CI, "return fixed + along", "return fixed"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "width-forgets-constant",
        "The interval forgets the part that does not depend on the point.",
        Edit(CI, "return fixed + along", "return along"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "error-by-eigenvalue",
        "epsilon_i is divided by s, not by its root.",
        Edit(
            CI,
            "np.divide(along, np.sqrt(s), out=np.zeros_like(along), where=s > 0)",
            "np.divide(along, s, out=np.zeros_like(along), where=s > 0)",
        ),
        "lemma-4.4-privacy:repaired",
    ),
    Mutant(
        "error-mean-over-everybody",
        "The mean error of a bin is taken over all n users, not over those in the bin.",
        Edit(CI, "mean = errors / (fit.psi[rows] * n)", "mean = errors / n"),
        "cor-A.4:repaired",
    ),
    Mutant(
        "nothing-inherited",
        "Bins below an inactive bin take an interval of their own.",
        Edit(CI, "return np.where(at.stopped, at.eta, width)", "return width"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "margin-without-dimension",
        "The margin of Algorithm 5 forgets d^(3/2).",
        Edit(CI, "mean + spec.kappa2 * spec.gamma * d**1.5 /", "mean + spec.kappa2 * spec.gamma /"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "estimate-lost-below-inactive-bins",
        "f_hat is 0 as soon as one bin on the way is inactive.",
        Edit(
            "lpcb.lplr.aggregate",
            "return prediction(spec, end.total), end.eta",
            "return prediction(spec, end.total) * ~end.stopped, end.eta",
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "width-halved",
        "The interval that is returned is a half-width of the half-width.",
        Edit(
            "lpcb.lplr.aggregate",
            "return prediction(spec, end.total), end.eta",
            "return prediction(spec, end.total), end.eta / 2",
        ),
        "lemma-4.5-coverage:repaired",
    ),
)
