"""A synthetic report with every kind of row, for tests of the reports."""

from __future__ import annotations

from tests.data_report_odd import growth, hostile, regret, routing
from tests.data_report_parts import HOSTILE, Json, evidence, figure, measure, row, series
from tests.data_report_rows import engines, frequency, matrix, mixture, rate, remainder, remark, two_point

__all__ = ["HOSTILE", "evidence", "figure", "measure", "report", "row", "series"]

CLAIMS = (
    frequency,
    matrix,
    mixture,
    rate,
    regret,
    routing,
    remark,
    engines,
    remainder,
    two_point,
    growth,
    hostile,
)


def report(claims: int = len(CLAIMS)) -> Json:
    """So many claims: each kind once, then again under other ids."""
    return {
        "schema": 1,
        "seed": 0,
        "profile": "standard",
        "complete": True,
        "versions": {"python": "3.11.7", "numpy": "2.4.6", "scipy": "1.17.0", "lpcb": "0.1.0"},
        "rows": [row for index in range(claims) for row in _rows(index)],
        "repairs": [
            _outcome("symmetric-noise", "prop-4.1-matrix", "REFUTED", "support depends on the data"),
            _outcome("replacement-sensitivity", "prop-4.1-matrix", "REFUTED", "loss $2\\alpha > \\alpha$"),
            _outcome("root-n-margin", "lemma-4.2-psi", "HOLDS", "still covered with probability $1-\\delta$"),
            _outcome("residual-range", "fig-2-routing", "REFUTED", "$y_h = 1.83$ at layer 2"),
        ],
    }


def _rows(index: int) -> list[Json]:
    again, kind = divmod(index, len(CLAIMS))
    return [{**made, "id": f"{made['id']}-{again}"} if again else made for made in CLAIMS[kind]()]


def _outcome(repair: str, id_: str, verdict: str, reason: str) -> Json:
    return {"repair": repair, "id": id_, "verdict": verdict, "reason": reason}
