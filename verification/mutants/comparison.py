"""Mistakes in the instances, and in what the algorithm is compared with."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

PROBLEM = "lpcb.problem"
DATA = "lpcb.baselines._data"
PRIVATE = "lpcb.baselines._private"
EPOCHS = "lpcb.baselines._epochs"
ELIMINATION = "lpcb.baselines.elimination_ls"
LINUCB = "lpcb.baselines.linucb"

MUTANTS = (
    # --- instances ---
    Mutant(
        "theorem-2-1-alpha-for-expm1",
        "D_n of Theorem 2.1 has alpha where e^alpha - 1 is meant.",
        Edit(PROBLEM, "inverse = 4 * math.sqrt(2) * math.expm1(alpha)", "inverse = 4 * math.sqrt(2) * alpha"),
        "conf-instances:repaired",
    ),
    Mutant(
        "theorem-2-1-rare-without-root",
        "D_n of Theorem 2.1 forgets a factor 4.",
        Edit(PROBLEM, "inverse = 4 * math.sqrt(2)", "inverse = math.sqrt(2)"),
        "conf-instances:repaired",
    ),
    Mutant(
        "theorem-2-2-h1-at-h2",
        "H_1 of Theorem 2.2 has theta (1/2, 1/4).",
        Edit(PROBLEM, "theta = [0.5, 0.5 * (hypothesis - 1)]", "theta = [0.5, 0.25 * hypothesis]"),
        "conf-instances:repaired",
    ),
    Mutant(
        "theorem-2-2-square-root",
        "D_n of Theorem 2.2 has c n^(-1/2).",
        Edit(PROBLEM, "s = c * n ** (-1 / 3)", "s = c * n ** (-1 / 2)"),
        "conf-instances:repaired",
    ),
    Mutant(
        "case-2-not-shrunk",
        "Case II has (1 - delta, +-sqrt(delta)), shorter than norm one.",
        Edit(PROBLEM, "a, b = math.sqrt(1 - small), math.sqrt(small)", "a, b = 1 - small, math.sqrt(small)"),
        "conf-instances:repaired",
    ),
    Mutant(
        "family-f-without-x",
        "F(s) forgets x: the best action is the same in both contexts.",
        Edit(
            PROBLEM,
            "np.stack([np.full(2, 0.5), b * x * s], axis=-1)",
            "np.stack([np.full(2, 0.5), b * x * x * s], axis=-1)",
        ),
        "conf-instances:repaired",
    ),
    Mutant(
        "family-f-half-gap",
        "F(s) has gap s/2: theta = (1/2, 1/4).",
        Edit(PROBLEM, "math.copysign(0.5, sign)", "math.copysign(0.25, sign)"),
        "conf-instances:repaired",
    ),
    Mutant(
        "beta-rewards-mirrored",
        "Beta rewards have mean -m.",
        Edit(PROBLEM, "2 * rng.beta(4 * p, 4 * (1 - p)) - 1", "2 * rng.beta(4 * (1 - p), 4 * p) - 1"),
        "conf-instances:repaired",
    ),
    Mutant(
        "random-features-near-zero",
        "Radii of random features are uniform, so that features crowd at 0.",
        Edit(PROBLEM, "rng.random((contexts, actions, 1)) ** (1 / d)", "rng.random((contexts, actions, 1))"),
        "conf-instances:repaired",
    ),
    Mutant(
        "line-has-many-directions",
        "Every context of `line` has a direction of its own.",
        Edit(
            PROBLEM,
            "rng.uniform(-1, 1, (contexts, actions, 1)) * _sphere(rng, d)",
            "rng.uniform(-1, 1, (contexts, actions, 1)) * _sphere(rng, contexts, 1, d)",
        ),
        "conf-instances:repaired",
    ),
    # --- baselines ---
    Mutant(
        "ps-noise-of-one-user",
        "private_statistics in aggregate has the noise of one user.",
        Edit("lpcb.baselines.private_statistics", "laplace_sum(b, n, run.rng", "laplace_sum(b, 1, run.rng"),
        "conf-comparison:repaired",
    ),
    Mutant(
        "private-shift-halved",
        "Private intervals add U I, not 2 U I.",
        Edit(PRIVATE, "H = gram + 2 * U * np.eye(problem.d)", "H = gram + U * np.eye(problem.d)"),
        "conf-comparison:repaired",
    ),
    Mutant(
        "private-width-forgets-sampling",
        "Private intervals forget the error of sampling.",
        Edit(PRIVATE, "width = np.sqrt(2 * math.log(2 / p) * square) + bias", "width = bias"),
        "conf-comparison:repaired",
    ),
    Mutant(
        "private-bias-forgets-ridge",
        "Private intervals forget s'N theta*.",
        Edit(
            PRIVATE,
            "norm * (r + 3 * U), np.sqrt(square) * (r / math.sqrt(U) + math.sqrt(3 * U))",
            "norm * r, np.sqrt(square) * (r / math.sqrt(U))",
        ),
        "conf-comparison:repaired",
    ),
    Mutant(
        "baseline-contexts-equally-likely",
        "Baselines in aggregate forget the weights of contexts.",
        Edit(
            DATA,
            "weights = np.broadcast_to(problem.weights, (run.seeds, problem.contexts))",
            "weights = np.full((run.seeds, problem.contexts), 1 / problem.contexts)",
        ),
        "conf-comparison:repaired",
    ),
    Mutant(
        "streamed-baselines-contexts-equally-likely",
        "Baselines user by user draw contexts uniformly.",
        Edit(
            DATA,
            'np.searchsorted(below / below[-1], rng.random(shape), side="right")',
            "rng.integers(len(below), size=shape)",
        ),
        "conf-comparison:repaired",
    ),
    Mutant(
        "epoch-regret-whole-at-once",
        "Regret at a checkpoint inside an epoch is that of the whole epoch.",
        Edit(EPOCHS, "rate[:, None] * (checkpoints[inside] - start)", "rate[:, None] * n"),
        "conf-comparison:repaired",
    ),
    Mutant(
        "elimination-failure-not-split",
        "Every epoch of a baseline may fail with the probability of the whole run.",
        Edit(EPOCHS, "failure = run.failure / len(lengths(int(run.horizon)))", "failure = run.failure"),
        "conf-comparison:repaired",
    ),
    Mutant(
        "elimination-ls-tenth",
        "Widths of elimination_ls are a tenth of what they have to be.",
        Edit(ELIMINATION, "math.sqrt(2 * log) * norm", "math.sqrt(log / 50) * norm"),
        "conf-comparison:repaired",
    ),
    Mutant(
        "elimination-ls-actions-swapped",
        "elimination_ls fits each action to the rewards of the opposite one.",
        Edit(ELIMINATION, "cells.sums.swapaxes(1, 2))", "cells.sums.swapaxes(1, 2)[:, ::-1])"),
        "conf-comparison:repaired",
    ),
    Mutant(
        "linucb-radius-without-det",
        "LinUCB's radius forgets the determinant.",
        Edit(
            LINUCB,
            "np.sqrt(2 * np.log(1 / failure) + np.asarray(logdet))",
            "np.sqrt(2 * np.log(1 / failure) + 0 * np.asarray(logdet))",
        ),
        "conf-comparison:repaired",
    ),
    Mutant(
        "linucb-radius-half",
        "LinUCB's radius has ln(1/p) where 2 ln(1/p) is meant.",
        Edit(
            LINUCB,
            "np.sqrt(2 * np.log(1 / failure) + np.asarray(logdet))",
            "np.sqrt(np.log(1 / failure) + np.asarray(logdet))",
        ),
        "conf-comparison:repaired",
    ),
    Mutant(
        "linucb-sherman-morrison",
        "Sherman-Morrison forgets to divide by 1 + phi'V^-1 phi in V^-1.",
        Edit(
            LINUCB,
            "state.inverse - w[:, :, None] * gain[:, None, :]",
            "state.inverse - w[:, :, None] * w[:, None, :]",
        ),
        "conf-comparison:repaired",
    ),
    Mutant(
        "rounds-regret-one-late",
        "Regret of round-by-round baselines leaves out the round of the checkpoint.",
        Edit(
            "lpcb.baselines._rounds",
            "regret[:, column[t + 1]] = past",
            "regret[:, column[t + 1]] = past - gaps[x, a]",
        ),
        "conf-comparison:repaired",
    ),
)
