"""Mistakes in Algorithm 1, its parameters, the two engines, and the baselines."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

SPEC = "lpcb.spec"
ELIMINATION = "lpcb.elimination"
AGGREGATE = "lpcb.engines.aggregate"
RUN = "lpcb.engines.run"
STREAM = "lpcb.engines.stream"

MUTANTS = (
    # --- Algorithm 1 ---
    Mutant(
        "strict-elimination",
        "An action whose upper end equals the best lower end is eliminated: > in place of >=.",
        Edit(ELIMINATION, "f_hat + delta >= floor", "f_hat + delta > floor"),
        "lemma-A.2-survival:repaired",
    ),
    Mutant(
        "eliminated-actions-compete",
        "The best lower end is taken over all actions, not over those in play.",
        Edit(ELIMINATION, "np.where(active, f_hat - delta, -np.inf)", "(f_hat - delta)"),
        "lemma-A.2-gap:repaired",
    ),
    Mutant(
        "eliminated-actions-return",
        "An action that was eliminated comes back when its interval allows it.",
        Edit(ELIMINATION, "kept: Bools = active & (f_hat", "kept: Bools = (f_hat"),
        "lemma-A.2-gap:repaired",
    ),
    Mutant(
        "elimination-by-estimate",
        "An action is eliminated when its estimate, not its upper end, is below the best lower end.",
        Edit(ELIMINATION, "(f_hat + delta >= floor)", "(f_hat >= floor)"),
        "lemma-A.2-survival:repaired",
    ),
    Mutant(
        "greedy-policy",
        "The first active action is played, not one uniformly at random.",
        Edit(
            ELIMINATION,
            "policy: Array = active / active.sum(axis=-1, keepdims=True)",
            "policy: Array = np.eye(active.shape[-1])[active.argmax(axis=-1)]",
        ),
        "thm-3.2-regret:repaired",
    ),
    Mutant(
        "oracle-of-the-epoch-before",
        "Elimination uses each oracle one epoch late.",
        Edit(
            RUN,
            "active = eliminate(active, f_hat, delta)\n        policy",
            "active = eliminate(active, *late) if columns else active\n"
            "        late = f_hat, delta\n        policy",
        ),
        "lemma-A.2-gap:repaired",
    ),
    Mutant(
        "regret-not-weighted",
        "Regret forgets how often each context comes.",
        Edit(
            RUN,
            "regret = rounds * (weighted * problem.gaps)",
            "regret = rounds * (policy / problem.contexts * problem.gaps)",
        ),
        "conf-formulas:repaired",
    ),
    # --- parameters ---
    Mutant(
        "levels-rounded-down",
        "M is the floor of 1/(2 beta), not its ceiling.",
        Edit(SPEC, "return math.ceil(1 / (2 * self.b) * (1 - 4e-16))", "return math.floor(1 / (2 * self.b))"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "epochs-triple",
        "Epochs grow threefold, not twofold.",
        Edit(SPEC, "return self.n0 << tau", "return 2 * self.n0 * 3 ** (tau - 1)"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "batches-too-long",
        "An epoch is cut into d batches though it needs 2d.",
        Edit(
            SPEC, "return self.epoch_length(tau) // (2 * self.d)", "return self.epoch_length(tau) // self.d"
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "first-epoch-short",
        "n_0 forgets a factor d.",
        Edit(
            SPEC, "math.ceil(4 * self.d**2 * self.log_term(24))", "math.ceil(4 * self.d * self.log_term(24))"
        ),
        "conf-formulas:repaired",
    ),
    Mutant(
        "kappa1-tenth",
        "kappa_1 is 4.3 where 43 is printed.",
        Edit(SPEC, "self.activation * 43 / self.alpha", "self.activation * 4.3 / self.alpha"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "kappa2-without-alpha",
        "kappa_2 forgets 1/alpha.",
        Edit(SPEC, "self.width * 118 / self.alpha", "self.width * 118"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "kappa3-hundredth",
        "kappa_3 is 3 where 300 is printed.",
        Edit(SPEC, "self.width * 300 / self.alpha", "self.width * 3 / self.alpha"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "delta-not-squared",
        "delta is 1/T where 1/T^2 is printed.",
        Edit(SPEC, "float(self.horizon) ** -2", "float(self.horizon) ** -1"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "beta-base-10",
        "beta is 1/log10 T where 1/ln T is printed.",
        Edit(SPEC, "1 / math.log(self.horizon)", "1 / math.log10(self.horizon)"),
        "conf-formulas:repaired",
    ),
    # --- engines ---
    Mutant(
        "n-of-the-epoch",
        "The aggregate engine fits with the users of the whole epoch in every batch.",
        Edit(AGGREGATE, "spec.batch(tau), rng)", "spec.epoch_length(tau), rng)"),
        "conf-formulas:repaired",
    ),
    Mutant(
        "server-divides-by-the-epoch",
        "The server divides its sums by n_tau, not by the users of the batch.",
        Edit(
            "lpcb.protocol",
            "view, n = self.view, self.batch",
            "view, n = self.view, self.spec.epoch_length(self.view.epoch)",
        ),
        "conf-reports:repaired",
    ),
    Mutant(
        "interval-on-the-fitting-batch",
        "The intervals are computed on the batch that the bin was fitted to.",
        Edit(
            AGGREGATE,
            "components = fit_components(spec, n, h, keys, parents, at, batch, rng)\n    rows",
            "drawn = batch()\n    batch = lambda: drawn\n"
            "    components = fit_components(spec, n, h, keys, parents, at, batch, rng)\n    rows",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "deeper-layers-of-one-user",
        "Below the first layer the aggregate engine adds the noise of one user, not of n.",
        Edit(
            AGGREGATE,
            "release_sum(statistics(spec, at, keys, *batch()), n, rng)",
            "release_sum(statistics(spec, at, keys, *batch()), n if h == 1 else 1, rng)",
        ),
        "conf-engines:repaired",
    ),
    Mutant(
        "fresh-batch-thrown-away",
        "The interval batch is drawn and thrown away; the intervals are computed on the fitting batch.",
        Edit(
            AGGREGATE,
            "components = fit_components(spec, n, h, keys, parents, at, batch, rng)\n    rows",
            "drawn = [batch(), batch()]\n    batch = lambda: drawn[0]\n"
            "    components = fit_components(spec, n, h, keys, parents, at, batch, rng)\n    rows",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "fresh-batch-thrown-away-from-layer-2",
        "From layer 2 on, where errors are not 0, the interval batch is thrown away.",
        Edit(
            AGGREGATE,
            "components = fit_components(spec, n, h, keys, parents, at, batch, rng)\n    rows",
            "drawn = [batch(), batch()]\n    order = iter([0, int(h < 2)])\n"
            "    batch = lambda: drawn[next(order)]\n"
            "    components = fit_components(spec, n, h, keys, parents, at, batch, rng)\n    rows",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "batches-swapped",
        "The bins are fitted to the second batch and the intervals computed on the first.",
        Edit(
            AGGREGATE,
            "components = fit_components(spec, n, h, keys, parents, at, batch, rng)\n    rows",
            "drawn = [batch(), batch()]\n    batch = drawn.pop\n"
            "    components = fit_components(spec, n, h, keys, parents, at, batch, rng)\n    rows",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "batches-overlap",
        "The same users report to every batch of an epoch.",
        Edit(
            STREAM,
            "cells = rng.choice(len(chance), size=server.batch, p=chance / chance.sum())",
            "cells = cells if _ else rng.choice(len(chance), size=server.batch, p=chance / chance.sum())",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "one-batch-for-all-layers",
        "The aggregate engine draws its users once and uses them in every batch.",
        Edit(
            AGGREGATE,
            "counts = multinomial_counts(self.n, self.chance, self.rng).reshape(shape)",
            'vars(self).setdefault("drawn", multinomial_counts(self.n, self.chance, self.rng))\n'
            "        counts = self.drawn.reshape(shape)",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "actions-drawn-independently",
        "Users of each context and action are drawn as binomials of their own, which need not add up to n.",
        Edit(
            AGGREGATE,
            "multinomial_counts(self.n, self.chance, self.rng)",
            "self.rng.binomial(self.n, self.chance)",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "rewards-without-noise",
        "The sum of rewards in the aggregate engine is its mean.",
        Edit(AGGREGATE, 'if self.problem.reward == "noiseless" else', "if True else"),
        "conf-users:repaired",
    ),
    Mutant(
        "rewards-in-pairs",
        "The rarer sign of a reward is drawn with half its probability and then counted twice.",
        Edit(
            "lpcb.sums",
            "rare = binomial(count, (1 - np.abs(mean)) / 2, rng)",
            "rare = 2 * binomial(count, (1 - np.abs(mean)) / 4, rng)",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "rewards-of-the-other-sign",
        "The sum of rewards ignores the sign of its mean.",
        Edit("lpcb.sums", "np.where(mean < 0, -1.0, 1.0) *", "np.where(mean < -2, -1.0, 1.0) *"),
        "conf-users:repaired",
    ),
    Mutant(
        "absent-bins-share-noise",
        "Bins that nobody reaches all draw the same noise.",
        Edit(AGGREGATE, "spawn_key=(h, int(key))", "spawn_key=(h,)"),
        "conf-users:repaired",
    ),
    Mutant(
        "absent-bins-of-one-user",
        "Bins that nobody reaches hold the noise of one user, not of n.",
        Edit(
            AGGREGATE,
            "parts.append(fit_layer(self.spec, self.n, h, *bins, rng))",
            "parts.append(fit_layer(self.spec, 1, h, *bins, rng))",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "contexts-equally-likely",
        "The aggregate engine forgets the weights of the contexts.",
        Edit(
            AGGREGATE,
            "self.chance = (problem.weights[:, None] * policy)",
            "self.chance = (np.ones((problem.contexts, 1)) * policy)",
        ),
        "conf-users:repaired",
    ),
    Mutant(
        "streamed-rewards-biased",
        "The probability of reward +1 is (1 + m^2)/2 where (1 + m)/2 is meant.",
        Edit("lpcb.problem", "rng.random(m.shape) < (1 + m) / 2", "rng.random(m.shape) < (1 + m * m) / 2"),
        "conf-users:repaired",
    ),
    # --- baselines ---
    Mutant(
        "linucb-without-bonus",
        "LinUCB plays the best estimate, without a bonus for what is unknown.",
        Edit(
            "lpcb.baselines.linucb",
            "out: Array = means + radius(state.logdet, failure)[:, None] * norm",
            "out: Array = means",
        ),
        "conf-baselines:repaired",
    ),
    Mutant(
        "linucb-learns-the-wrong-sign",
        "LinUCB adds the residual with the wrong sign.",
        Edit(
            "lpcb.baselines.linucb",
            "gain * (y - dot(state.theta, phi))",
            "gain * (dot(state.theta, phi) - y)",
        ),
        "conf-baselines:repaired",
    ),
)
