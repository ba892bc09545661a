"""Mistakes in the stream engine, in what clients and servers accept, and in what a server keeps."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

AGGREGATE = "lpcb.engines.aggregate"
PROTOCOL = "lpcb.protocol"
STATE = "lpcb.state"
STREAM = "lpcb.engines.stream"

MUTANTS = (
    # --- the stream engine ---
    Mutant(
        "stream-cells-by-contexts",
        "A user's number is split by the number of contexts, not of actions: right where both are equal.",
        Edit(STREAM, "divmod(cell, problem.actions)", "divmod(cell, problem.contexts)"),
        "conf-server:repaired",
    ),
    Mutant(
        "stream-rewards-of-another",
        "Rewards are shifted by one user within the batch.",
        Edit(
            STREAM,
            "zip(cells.tolist(), rewards.tolist(), strict=True)",
            "zip(cells.tolist(), np.roll(rewards, 1).tolist(), strict=True)",
        ),
        "conf-server:repaired",
    ),
    Mutant(
        "stream-first-oracle-for-ever",
        "The stream engine goes on with the oracle of the first epoch.",
        Edit(STREAM, "return server.oracles[tau - 1]", "return server.oracles[0]"),
        "conf-server:repaired",
    ),
    Mutant(
        "stream-uniform-for-ever",
        "The stream engine's users act uniformly in every epoch.",
        Edit(
            STREAM,
            "collect_epoch(problem, server, policy[0], rng)",
            "collect_epoch(problem, server, np.full_like(policy[0], 1 / policy.shape[2]), rng)",
        ),
        "conf-server:repaired",
    ),
    # --- batches ---
    Mutant(
        "server-batch-of-first-epoch",
        "Every epoch of the server has the batches of the first.",
        Edit(PROTOCOL, "return self.spec.batch(self.view.epoch)", "return self.spec.batch(1)"),
        "conf-server:repaired",
    ),
    Mutant(
        "server-keeps-first-oracle",
        "The server publishes the oracles of finished epochs without the last.",
        Edit(
            PROTOCOL,
            'self.begin(View(self.spec, view.epoch + 1, 1, "update", (), None, tuple(self.oracles)))',
            'self.begin(View(self.spec, view.epoch + 1, 1, "update", (), None, view.oracles))',
        ),
        "conf-server:repaired",
    ),
    Mutant(
        "server-children-always-open",
        "The server fits bins below inactive bins.",
        Edit(
            PROTOCOL,
            "pcr(self.spec, n, view.keys, sums, parent_open, parent_rest)",
            "pcr(self.spec, n, view.keys, sums, np.ones_like(parent_open), parent_rest)",
        ),
        "conf-server:repaired",
    ),
    Mutant(
        "client-errors-zero",
        "Clients do not carry eta to the next layer: error tables of deeper layers are 0.",
        Edit(
            PROTOCOL,
            "at = descend(spec, at, layer, ci.interval(spec, at, layer))",
            "at = descend(spec, at, layer, at.eta)",
        ),
        "conf-server:repaired",
    ),
    Mutant(
        "aggregate-errors-zero",
        "The aggregate engine does not carry eta to the next layer: error sums of deeper layers are 0.",
        Edit(
            AGGREGATE,
            "at = descend(spec, at, layers[-1], ci.interval(spec, at, layers[-1]))",
            "at = descend(spec, at, layers[-1], at.eta)",
        ),
        "conf-server:repaired",
    ),
    # --- lies ---
    Mutant(
        "client-trusts-any-view",
        "The client does not check that the view's directions are orthonormal.",
        Edit(PROTOCOL, "        view.check()\n", ""),
        "conf-server:repaired",
    ),
    Mutant(
        "client-trusts-any-spec",
        "The client takes the server's specification for its own.",
        Edit(PROTOCOL, "if view.spec != self.spec:", "if view.spec.d != self.spec.d:"),
        "conf-server:repaired",
    ),
    Mutant(
        "same-user-twice",
        "A user may report twice in an epoch.",
        Edit(PROTOCOL, "if report.id in self.ids:", "if report.id in self.ids and self.received == 0:"),
        "conf-server:repaired",
    ),
    # --- saved ---
    Mutant(
        "state-loses-oracles",
        "A restored server has forgotten the oracles of finished epochs.",
        Edit(STATE, "server.oracles = [Oracle(spec, layers) for layers in trees]", "server.oracles = []"),
        "conf-server:repaired",
    ),
    Mutant(
        "state-forgets-alpha",
        "The saved specification leaves alpha out.",
        Edit(STATE, 'if field.name != "repairs")', 'if field.name not in ("repairs", "alpha"))'),
        "conf-server:repaired",
    ),
)
