"""Mistakes in what a user contributes: bins, residuals, rewards, and what reaches the server."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

PARTITION = "lpcb.partition"
UPDATE = "lpcb.lplr.update"
PROTOCOL = "lpcb.protocol"
STREAM = "lpcb.engines.stream"

MUTANTS = (
    # --- Figure 2 ---
    Mutant(
        "level-off-by-one",
        "Every vector is put one bin too deep.",
        Edit(PARTITION, "np.clip(spec.M - at_least, 0, spec.M)", "np.clip(spec.M - at_least + 1, 0, spec.M)"),
        "fig-2-routing:repaired",
    ),
    Mutant(
        "level-at-the-edge",
        "A vector of length exactly gamma^-k is put into bin k - 1.",
        Edit(PARTITION, 'norm, side="left")', 'norm, side="right")'),
        "fig-2-routing:repaired",
    ),
    Mutant(
        "level-by-whole-vector",
        "Deeper bins are chosen by the length of phi, not of phi_h.",
        Edit(
            PARTITION,
            "k = level(spec, np.linalg.norm(rest, axis=-1))",
            "k = level(spec, np.linalg.norm(at.phi, axis=-1))",
        ),
        "fig-2-routing:repaired",
    ),
    Mutant(
        "remainder-not-projected",
        "phi_h keeps its part along the direction just found.",
        Edit(PARTITION, "rest = at.rest - u * dot(u, at.rest)[:, None]", "rest = at.rest"),
        "fig-2-routing:repaired",
    ),
    Mutant(
        "keys-collide",
        "Bins are numbered with M, not M + 1, levels a layer: some share a number.",
        Edit(PARTITION, "keys = at.keys * (spec.M + 1) + k", "keys = at.keys * spec.M + k"),
        "fig-2-routing:repaired",
    ),
    Mutant(
        "fourth-layer-level-1-in-2",
        "On layer 4, and only there, vectors of level 1 are put into bin 2.",
        Edit(
            PARTITION,
            "keys = at.keys * (spec.M + 1) + k",
            "k = np.where((at.h == 3) & (k == 1), min(2, spec.M), k)\n    keys = at.keys * (spec.M + 1) + k",
        ),
        "fig-2-routing:repaired",
    ),
    Mutant(
        "fourth-layer-one-deeper",
        "On layer 4, and only there, every vector is put one bin too deep.",
        Edit(
            PARTITION,
            "keys = at.keys * (spec.M + 1) + k",
            "k = np.minimum(k + (at.h == 3), spec.M)\n    keys = at.keys * (spec.M + 1) + k",
        ),
        "fig-2-routing:repaired",
    ),
    Mutant(
        "tie-at-the-first-edge",
        "A vector of length exactly gamma^-1 is put into bin 0.",
        Edit(
            PARTITION,
            "return np.clip(spec.M - at_least, 0, spec.M)",
            "k = np.clip(spec.M - at_least, 0, spec.M)\n"
            "    return np.where(norm == edges(spec)[min(1, spec.M)], 0, k)",
        ),
        "fig-2-routing:repaired",
    ),
    Mutant(
        "tie-at-the-last-edge",
        "A vector of length exactly gamma^-M is put into bin M - 1.",
        Edit(
            PARTITION,
            "return np.clip(spec.M - at_least, 0, spec.M)",
            "k = np.clip(spec.M - at_least, 0, spec.M)\n"
            "    return np.where(norm == edges(spec)[-1], max(spec.M - 1, 0), k)",
        ),
        "fig-2-routing:repaired",
    ),
    # --- residual rewards ---
    Mutant(
        "prediction-not-clipped",
        "The prediction is subtracted without being clipped to [-1, 1].",
        Edit(
            PARTITION,
            'return np.clip(total, -1.0, 1.0) if spec.has("residual-range") else total',
            "return total",
        ),
        "fig-2-residual:repaired",
    ),
    Mutant(
        "prediction-clipped-at-2",
        "The prediction is clipped to [-2, 2].",
        Edit(PARTITION, "np.clip(total, -1.0, 1.0)", "np.clip(total, -2.0, 2.0)"),
        "fig-2-residual:repaired",
    ),
    Mutant(
        "residual-clipped",
        "The residual reward itself is clipped to [-1, 1], which biases it.",
        Edit(
            UPDATE,
            "y_h = y_sum - count * prediction(spec, at.total)",
            "y_h = np.clip(y_sum - count * prediction(spec, at.total), -count, count)",
        ),
        "lemma-4.3-identity:repaired",
    ),
    Mutant(
        "reward-not-residualised",
        "Deeper layers are fitted to y, not to what the layers above leave of it.",
        Edit(UPDATE, "y_h = y_sum - count * prediction(spec, at.total)", "y_h = y_sum"),
        "lemma-4.3-identity:repaired",
    ),
    Mutant(
        "residual-against-last-layer-only",
        "The prediction that is subtracted is that of the last layer alone, not the cumulative one.",
        Edit(PARTITION, "total = at.total + dot(at.rest, theta)", "total = dot(at.rest, theta)"),
        "lemma-4.5-coverage:repaired",
    ),
    Mutant(
        "residual-against-next-layer",
        "The prediction multiplies a layer's coefficient with the remainder below it, which is orthogonal.",
        Edit(PARTITION, "total = at.total + dot(at.rest, theta)", "total = at.total + dot(rest, theta)"),
        "lemma-4.3-identity:repaired",
    ),
    Mutant(
        "vector-of-whole-phi",
        "lambda_B sums y_h phi, not y_h phi_h.",
        Edit(
            UPDATE,
            "group_sum(y_h[:, None] * at.rest, rows, len(keys))",
            "group_sum(y_h[:, None] * at.phi, rows, len(keys))",
        ),
        "prop-4.1-vector:repaired",
    ),
    Mutant(
        "matrix-of-whole-phi",
        "Lambda_B sums phi phi', not phi_h phi_h'.",
        Edit(
            UPDATE,
            "outer = at.rest[:, :, None] * at.rest[:, None, :]",
            "outer = at.phi[:, :, None] * at.phi[:, None, :]",
        ),
        "prop-4.1-matrix:repaired",
    ),
    # --- the trust boundary ---
    Mutant(
        "update-sent-raw",
        "The client sends the tables of an update batch without noise.",
        Edit(
            PROTOCOL,
            "noisy = view.update.release(self.statistics(view, phi, action, y), rng)",
            "noisy = self.statistics(view, phi, action, y)",
        ),
        "conf-reports:repaired",
    ),
    Mutant(
        "errors-sent-raw",
        "The client sends the table of an interval batch without noise.",
        Edit(
            PROTOCOL,
            "view.interval.release(self.errors(view, phi, action, y), rng)",
            "self.errors(view, phi, action, y)",
        ),
        "conf-reports:repaired",
    ),
    Mutant(
        "id-holds-the-action",
        "The report's number tells the server which action was taken.",
        Edit(
            PROTOCOL,
            "return Report(self.id, view.epoch, view.layer, view.phase, tables)",
            "return Report(2 * self.id + int(action > 0), view.epoch, view.layer, view.phase, tables)",
        ),
        "conf-trust:repaired",
    ),
    Mutant(
        "server-reads-rewards",
        "Beside the report the server is told the reward and adds it to its sums.",
        Edit(
            STREAM,
            "server.receive(report)",
            "server.receive(report)\n"
            "            server.sums = {name: table + y / 100 for name, table in server.sums.items()}",
        ),
        "conf-trust:repaired",
    ),
    Mutant(
        "server-drops-a-report",
        "The server counts the last report of a batch without adding it.",
        Edit(
            PROTOCOL,
            "            self.sums[name] += table",
            "            self.sums[name] += table * (self.received + 1 < self.batch or self.batch == 0)",
        ),
        "conf-reports:repaired",
    ),
    Mutant(
        "dummies-sent-by-clients",
        "Clients report the zero vector to the oracles of the actions not taken.",
        Edit(PROTOCOL, 'if spec.has("joint-actions"):', "if False:"),
        "thm-3.2-privacy:repaired",
    ),
    Mutant(
        "report-rounded",
        "A report that is written to text keeps six decimals.",
        Edit(PROTOCOL, "tables = {name: table.tolist() for", "tables = {name: table.round(6).tolist() for"),
        "conf-trust:repaired",
    ),
    Mutant(
        "state-loses-sums",
        "A server that is restored begins its batch with empty sums.",
        Edit(
            "lpcb.state", "server.sums, server.received, server.ids = sums,", "server.received, server.ids ="
        ),
        "conf-replay:repaired",
    ),
)
