"""What conf-runs and conf-server compare with: differences are seen, and lies are lies."""

from __future__ import annotations

import numpy as np
import pytest

from lpcb import problem as problems
from lpcb.spec import REPAIRED
from verification.claim import Setting
from verification.claims.conformance import small
from verification.claims.conformance_runs import Gap, algorithm_1, onsets, tell
from verification.claims.conformance_server import forged
from verification.experiments.views import view_after


@pytest.mark.parametrize(
    ("found", "wanted", "far"),
    [
        ([1.0, 2.0], [1.0, 2.0], 0.0),
        ([1.0, 2.0], [1.0, 4.0], 0.5),
        ([1.0, -2.0], [1.0, 2.0], 2.0),
        ([1.0], [1.0, 2.0], 2.0),
        ([np.nan], [1.0], 2.0),
        (True, False, 1.0),
    ],
)
def test_a_difference_of_numbers_or_shapes_is_seen(found: object, wanted: object, far: float) -> None:
    gap = Gap()
    gap.see("here", found, wanted)
    (evidence,) = gap.finding("check", "scope").evidence
    assert gap.worst == far
    assert evidence.verdict == ("REFUTED" if far else "HOLDS")
    assert bool(far) == ("here" in gap.where)


def test_what_was_never_seen_leaves_it_open() -> None:
    gap = Gap()
    gap.see("here", 1.0, 1.0)
    gap.tell(cases=0)
    assert gap.finding("check", "scope").evidence[0].verdict == "UNDECIDED"
    gap.tell(cases=2)
    assert gap.finding("check", "scope").evidence[0].verdict == "HOLDS"


def test_plain_loops_begin_with_uniform_play_and_an_interval_of_one() -> None:
    problem = problems.random(2, 3, 3, seed=1)
    spec = REPAIRED(d=2, actions=3, horizon=1386, beta=0.2, delta=0.5)
    told = [tell(problem, spec, 1, np.random.default_rng(i)) for i in range(3)]
    plain = algorithm_1(problem, spec, 1, told)
    assert plain.rounds == [198, 396, 792]
    assert (plain.policies[0] == 1 / 3).all()
    assert plain.columns["width"][0][0] == pytest.approx(1)
    assert plain.columns["regret"][0][0] == pytest.approx(198 * problem.uniform_regret)
    assert set(onsets(problem, plain, 0).values()) <= {None, 0, 198, 594}


def test_every_forged_view_is_of_another_direction() -> None:
    spec = small(Setting("repaired", "quick"))
    problem = problems.random(2, 2, 6, seed=3)
    for done in range(4):
        view = view_after(spec, problem, done, np.random.default_rng(done))
        view.check()
        for name, lie in forged(view):
            with pytest.raises(ValueError, match="orthogonal"):
                lie.check()
            assert lie.spec == view.spec, name
