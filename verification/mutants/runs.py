"""Mistakes in what a run says of itself, and in bins, rewards and dummies of the aggregate engine."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

AGGREGATE = "lpcb.engines.aggregate"
RUN = "lpcb.engines.run"

MUTANTS = (
    # --- columns ---
    Mutant(
        "covered-anywhere",
        "A run counts as covered in an epoch if some interval held, not all.",
        Edit(
            RUN,
            "covered = covers(f_hat, delta, problem.means).all(axis=(1, 2))",
            "covered = covers(f_hat, delta, problem.means).any(axis=(1, 2))",
        ),
        "conf-runs:repaired",
    ),
    Mutant(
        "covers-twice-the-width",
        "Intervals of twice the width count as covering.",
        Edit(RUN, "<= delta + 2 * TOLERANCE", "<= 2 * delta + 2 * TOLERANCE"),
        "conf-runs:repaired",
    ),
    Mutant(
        "covers-one-sided",
        "Only estimates that are too high count as not covering.",
        Edit(RUN, "np.abs(f_hat - truth) <=", "f_hat - truth <="),
        "conf-runs:repaired",
    ),
    Mutant(
        "width-unweighted",
        "The mean interval of a run forgets the weights and the policy.",
        Edit(RUN, "width = (weighted * delta).sum(axis=(1, 2))", "width = delta.mean(axis=(1, 2))"),
        "conf-runs:repaired",
    ),
    Mutant(
        "actions-left-unweighted",
        "The mean number of actions left forgets the weights of contexts.",
        Edit(
            RUN,
            "left = (problem.weights * active.sum(axis=2)).sum(axis=1)",
            "left = active.sum(axis=2).mean(axis=1)",
        ),
        "conf-runs:repaired",
    ),
    Mutant(
        "active-bins-per-point",
        "Active bins are counted once for every context in them.",
        Edit(
            RUN,
            "keys = np.unique(at.keys[layer.active[layer.rows(at.keys)]])",
            "keys = at.keys[layer.active[layer.rows(at.keys)]]",
        ),
        "conf-runs:repaired",
    ),
    Mutant(
        "first-interval-zero",
        "Before the first oracle Delta is 0, not 1.",
        Edit(
            RUN,
            "f_hat, delta, bins = np.zeros(shape), np.ones(shape), np.zeros",
            "f_hat, delta, bins = np.zeros(shape), np.zeros(shape), np.zeros",
        ),
        "conf-runs:repaired",
    ),
    # --- sums over epochs, and onsets ---
    Mutant(
        "total-regret-without-last-epoch",
        "Total regret leaves out the last epoch.",
        Edit(RUN, "self.regret.sum(axis=1)", "self.regret[:, :-1].sum(axis=1)"),
        "conf-runs:repaired",
    ),
    Mutant(
        "total-regret-without-first-epoch",
        "Total regret leaves out the first epoch.",
        Edit(RUN, "self.regret.sum(axis=1)", "self.regret[:, 1:].sum(axis=1)"),
        "conf-runs:repaired",
    ),
    Mutant(
        "onset-after-the-epoch",
        "Onset counts the rounds after an epoch, not before it.",
        Edit(RUN, "before = self.elapsed - self.rounds", "before = self.elapsed"),
        "conf-runs:repaired",
    ),
    Mutant(
        "onset-half-of-half",
        "Onset asks for a quarter of uniform play's regret.",
        Edit(RUN, "half = 0.5 * self.problem.uniform_regret", "half = 0.25 * self.problem.uniform_regret"),
        "conf-runs:repaired",
    ),
    # --- the aggregate engine ---
    Mutant(
        "absent-bins-same-in-every-fit",
        "Bins that nobody reaches draw the same noise in every fit: the seed is fixed.",
        Edit(AGGREGATE, "_Absent(spec, n, int(rng.integers(2**62)))", "_Absent(spec, n, 0)"),
        "conf-runs:repaired",
    ),
    Mutant(
        "absent-bins-layers-share",
        "Absent bins with the same key on two layers draw the same noise.",
        Edit(AGGREGATE, "spawn_key=(h, int(key))", "spawn_key=(int(key),)"),
        "conf-runs:repaired",
    ),
    Mutant(
        "absent-bins-at-the-root",
        "Bins that nobody reaches are fitted without parents: below inactive bins they may be active.",
        Edit(
            AGGREGATE,
            "bins = np.array([key]), parents, self.nobody",
            "bins = np.array([key]), None, self.nobody",
        ),
        "conf-runs:repaired",
    ),
    Mutant(
        "noiseless-rewards-noisy",
        "The aggregate engine draws +-1 for problems whose rewards are noiseless.",
        Edit(
            AGGREGATE,
            'if self.problem.reward == "noiseless" else',
            'if self.problem.reward == "beta" else',
        ),
        "conf-runs:repaired",
    ),
    Mutant(
        "dummies-with-own-users",
        "As printed: the dummies of an action count its own users too.",
        Edit(
            AGGREGATE,
            "dummies = (self.n - counts.sum(axis=1)).reshape(-1)",
            "dummies = (self.n + 0 * counts.sum(axis=1)).reshape(-1)",
        ),
        "conf-runs:repaired",
    ),
)
