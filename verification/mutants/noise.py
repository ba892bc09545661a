"""Mistakes in the noise: its scale, its law, and which draws are independent of which."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

LAPLACE = "lpcb.mechanisms.laplace"
SYMMETRIC = "lpcb.mechanisms.symmetric"
WISHART = "lpcb.mechanisms.wishart"
UPDATE = "lpcb.lplr.update"
SUMS = "lpcb.sums"

SCALE = "return self.unit * (self.sensitivity / self.epsilon)"
RELEASE = "return value + self.scale * rng.laplace(size=shape)"
SUM = "return total + laplace_sum(np.broadcast_to(self.scale, np.shape(total)), n, rng)"
VECTORS = "Laplace(unit[:, None], cells * math.sqrt(spec.d) * residual_range(spec, h), share)"
MATRICES = "SymmetricLaplace(unit**2, cells * (spec.d + 1) / 2, share, spec.d)"

MUTANTS = (
    # --- scale ---
    Mutant(
        "laplace-scale-5-percent-small",
        "Laplace noise is 5 % smaller than the budget needs, in draws and density alike.",
        Edit(LAPLACE, SCALE, "return 0.95 * self.unit * (self.sensitivity / self.epsilon)"),
        "prop-4.1-count:repaired",
    ),
    Mutant(
        "laplace-scale-10-percent-large",
        "Laplace noise is 10 % larger than the budget needs, which is private but wasteful.",
        Edit(LAPLACE, SCALE, "return 1.1 * self.unit * (self.sensitivity / self.epsilon)"),
        "prop-4.1-count:repaired",
    ),
    Mutant(
        "laplace-scale-halved",
        "Laplace noise is half as large as the budget needs.",
        Edit(LAPLACE, SCALE, "return self.unit * (self.sensitivity / self.epsilon) / 2"),
        "prop-4.1-joint:repaired",
    ),
    Mutant(
        "laplace-draws-5-percent-small",
        "One user's noise is drawn 5 % smaller than its stated density.",
        Edit(LAPLACE, RELEASE, "return value + 0.95 * self.scale * rng.laplace(size=shape)"),
        "conf-noise:repaired",
    ),
    Mutant(
        "laplace-sums-5-percent-small",
        "The noise of a sum over users is drawn 5 % too small.",
        Edit(LAPLACE, SUM, SUM.replace("self.scale", "0.95 * self.scale")),
        "conf-noise:repaired",
    ),
    Mutant(
        "laplace-sums-half-variance",
        "The sum of n Laplace variables forgets the 2 of their variance 2 b^2.",
        Edit(
            SUMS,
            "np.sqrt(2 * rng.standard_gamma(float(n), size))",
            "np.sqrt(rng.standard_gamma(float(n), size))",
        ),
        "conf-noise:repaired",
    ),
    Mutant(
        "vector-noise-without-root-d",
        "The sensitivity of the vectors forgets sqrt(d).",
        Edit(UPDATE, VECTORS, VECTORS.replace("math.sqrt(spec.d) * ", "")),
        "prop-4.1-vector:repaired",
    ),
    Mutant(
        "vector-noise-without-level",
        "The vectors' noise forgets gamma^-k: small vectors drown in noise made for large ones.",
        Edit(UPDATE, VECTORS, VECTORS.replace("unit[:, None]", "np.ones_like(unit)[:, None]")),
        "lemma-4.2-lambda:repaired",
    ),
    Mutant(
        "matrix-noise-with-one-level",
        "The matrices' noise has gamma^-k where products of two vectors have gamma^-2k.",
        Edit(UPDATE, MATRICES, MATRICES.replace("unit**2", "unit")),
        "lemma-4.2-Lambda:repaired",
    ),
    Mutant(
        "matrix-noise-with-three-levels",
        "The matrices' noise has gamma^-3k where products of two vectors have gamma^-2k.",
        Edit(UPDATE, MATRICES, MATRICES.replace("unit**2", "unit**3")),
        "lemma-4.2-Lambda:repaired",
    ),
    Mutant(
        "matrix-noise-for-d-over-2",
        "The upper triangle of v v' is taken to have l1 norm d/2, without its diagonal.",
        Edit(UPDATE, MATRICES, MATRICES.replace("(spec.d + 1) / 2", "spec.d / 2")),
        "prop-4.1-matrix:repaired",
    ),
    Mutant(
        "interval-noise-without-level",
        "The noise of Algorithm 5 forgets that errors in bin k have size gamma^-k.",
        Edit(
            "lpcb.lplr.ci",
            "unit = edges(spec)[key_level(spec, keys[rows])] / np.sqrt(fit.s[rows])",
            "unit = 1 / np.sqrt(fit.s[rows])",
        ),
        "cor-A.4:repaired",
    ),
    Mutant(
        "interval-noise-without-eigenvalue",
        "The noise of Algorithm 5 forgets that errors are divided by sqrt(s).",
        Edit(
            "lpcb.lplr.ci",
            "unit = edges(spec)[key_level(spec, keys[rows])] / np.sqrt(fit.s[rows])",
            "unit = edges(spec)[key_level(spec, keys[rows])]",
        ),
        "lemma-4.4-privacy:repaired",
    ),
    Mutant(
        "residual-noise-from-layer-3",
        "The noise covers the wider residual rewards from the third layer on, not from the second.",
        Edit(
            UPDATE,
            'spec.has("residual-range") and h > 1 else 1.0',
            'spec.has("residual-range") and h > 2 else 1.0',
        ),
        "prop-4.1-vector:repaired",
    ),
    # --- law ---
    Mutant(
        "gaussian-noise",
        "One user's noise is normal with the variance of the Laplace noise.",
        Edit(LAPLACE, RELEASE, "return value + self.scale * np.sqrt(2) * rng.standard_normal(shape)"),
        "conf-noise:repaired",
    ),
    Mutant(
        "gaussian-sums",
        "Sums of Laplace noise are drawn from their normal limit for every n.",
        Edit(SUMS, "np.sqrt(2 * rng.standard_gamma(float(n), size))", "np.sqrt(2 * float(n))"),
        "conf-noise:repaired",
    ),
    Mutant(
        "one-sided-noise",
        "The noise is exponential: it never subtracts.",
        Edit(LAPLACE, RELEASE, "return value + self.scale * rng.exponential(size=shape)"),
        "conf-noise:repaired",
    ),
    Mutant(
        "wishart-sum-of-one",
        "The Wishart noise of a sum has the degrees of freedom of one user.",
        Edit(SUMS, "N = n * dof", "N = dof"),
        "conf-noise:repaired",
    ),
    Mutant(
        "wishart-scale-halved",
        "The printed Wishart scale is half as large.",
        Edit(
            WISHART,
            "return 1.5 * self.sensitivity / self.epsilon",
            "return 0.75 * self.sensitivity / self.epsilon",
        ),
        "prop-4.1-matrix:paper",
    ),
    Mutant(
        "wishart-not-centred",
        "The mean of the Wishart noise of a sum is not subtracted.",
        Edit(SUMS, "+= square - float(N)", "+= square"),
        "conf-noise:repaired",
    ),
    # --- independence ---
    Mutant(
        "noise-shared-by-cells",
        "One draw of noise serves all bins of a table.",
        Edit(
            LAPLACE,
            RELEASE,
            "once = rng.laplace(size=shape[:1] if size else ())\n"
            "        return value + self.scale * once[(..., *[None] * np.ndim(value))]",
        ),
        "conf-noise:repaired",
    ),
    Mutant(
        "noise-shared-by-users",
        "All users of a batch add the same noise: the sum holds it n times.",
        Edit(
            LAPLACE,
            SUM,
            "return total + n * laplace_sum(np.broadcast_to(self.scale, np.shape(total)), 1, rng)",
        ),
        "conf-noise:repaired",
    ),
    Mutant(
        "noise-reused-by-clients",
        "Every client starts its generator from the same seed.",
        Edit(
            "lpcb.engines.stream",
            "problem.features[x, a], a, y, rng)",
            "problem.features[x, a], a, y, np.random.default_rng(0))",
        ),
        "conf-engines:repaired",
    ),
    Mutant(
        "same-seed-for-count-and-vector",
        "Counts and vectors draw their noise from the same state of the generator.",
        Edit(
            UPDATE,
            "self.count.release(value.count, rng),",
            'self.count.release(value.count, __import__("copy").deepcopy(rng)),',
        ),
        "conf-reports:repaired",
    ),
    Mutant(
        "same-seed-for-vector-and-matrix",
        "Vectors and matrices draw their noise from the same state of the generator.",
        Edit(
            UPDATE,
            "self.vector.release(value.vector, rng),",
            'self.vector.release(value.vector, __import__("copy").deepcopy(rng)),',
        ),
        "conf-reports:repaired",
    ),
    Mutant(
        "same-seed-for-count-and-vector-sums",
        "The sums of counts and of vectors draw their noise from the same state of the generator.",
        Edit(
            UPDATE,
            "self.count.release_sum(total.count, n, rng),",
            'self.count.release_sum(total.count, n, __import__("copy").deepcopy(rng)),',
        ),
        "conf-reports:repaired",
    ),
    Mutant(
        "noise-on-occupied-cells-only",
        "Noise is added only where the user's table is not zero.",
        Edit(
            LAPLACE, RELEASE, "return value + (np.asarray(value) != 0) * self.scale * rng.laplace(size=shape)"
        ),
        "conf-trust:repaired",
    ),
    Mutant(
        "noise-by-own-bin",
        "All cells get the noise scale of the bin that the user fills.",
        Edit(
            LAPLACE,
            RELEASE,
            "filled = np.abs(value).reshape(len(value), -1).sum(axis=1).argmax() if len(value) else 0\n"
            "        scale = self.scale[filled] if len(value) else self.scale\n"
            "        return value + scale * rng.laplace(size=shape)",
        ),
        "conf-trust:repaired",
    ),
)
