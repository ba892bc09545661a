"""A report whose noise is wrong on one level alone is noticed, whichever level it is."""

import numpy as np
import pytest

from lpcb.protocol import View
from verification.claim import Context, Setting
from verification.claims import conformance_reports

CONTEXT = Context("conf-reports", Setting("repaired", "quick"))


@pytest.mark.parametrize("level", [1, 4])
def test_quiet_noise_on_one_level(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    right = conformance_reports.sent

    def quiet(view: View, draws: int, rng: np.random.Generator) -> conformance_reports.Drawn:
        found = right(view, draws, rng)
        if view.layer == 2 and "vector" in found:
            k = np.repeat(view.keys % (view.spec.M + 1), view.spec.d)
            found["vector"] = found["vector"] * np.where(k == level, 0.7, 1.0)
        return found

    monkeypatch.setattr(conformance_reports, "sent", quiet)
    found = conformance_reports.by_clients(CONTEXT).evidence[0]
    assert (found.verdict, f"k = {level}" in found.note) == ("REFUTED", True)
