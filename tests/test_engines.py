"""Stream and aggregate are one algorithm: the same law, statistic by statistic, and for regret."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from scipy import stats

from lpcb import problem as problems
from lpcb.engines import Run, aggregate, stream
from lpcb.lplr.aggregate import Oracle
from lpcb.problem import Problem, Reward
from lpcb.protocol import Server
from lpcb.spec import REPAIRED, REPAIRS, Spec
from tests.runs import small_spec, uniform

REPEATS = 250
LEVEL = 1e-8
# Off the support: between contexts, deep inside, and the dummy. Their bins hold noise alone.
ELSEWHERE = np.array([[0.05, 0.9], [-0.02, 0.01], [0.0, 0.0]])
VARIANTS = {
    "repaired": REPAIRS,
    # Without the guard Algorithm 4 divides by zero now and then at so few users.
    "printed": frozenset({"eigenvalue-guard"}),
}


def two_contexts(reward: Reward = "sign") -> Problem:
    features = np.array([[[0.9, 0.1], [0.2, -0.9]], [[-0.3, 0.3], [0.6, 0.5]]])
    return Problem(features, np.array([0.7, 0.3]), np.array([0.8, -0.5]), reward)


def looks(oracle: Oracle, phi: np.ndarray, action: np.ndarray) -> np.ndarray:
    """Everything a fit says at some points: psi, s, theta, error of each layer's bin, f_hat and Delta."""
    columns = []
    for at, layer in zip(oracle.route(phi, action), oracle.layers, strict=False):
        rows = layer.rows(at.keys)
        columns += [layer.psi[rows], layer.s[rows], *layer.theta[rows].T, layer.error[rows]]
    return np.stack([*columns, *oracle(phi, action)]).ravel()


@cache
def fits(variant: str, reward: Reward) -> tuple[np.ndarray, np.ndarray]:
    """(stream, aggregate): one row of looks per independent fit of the first epoch."""
    problem, spec = two_contexts(reward), small_spec(repairs=VARIANTS[variant])
    phi = np.vstack([problem.features.reshape(-1, 2), np.repeat(ELSEWHERE, 2, axis=0)])
    action = np.tile([0, 1], len(phi) // 2)
    rng = np.random.default_rng(7)
    streamed, aggregated = [], []
    for _ in range(REPEATS):
        server = Server(spec)
        stream.collect_epoch(problem, server, uniform(problem), rng)
        streamed.append(looks(server.oracles[0], phi, action))
        oracle = aggregate.fit(problem, spec, uniform(problem)[None], spec.batch(1), rng)
        aggregated.append(looks(oracle, phi, action))
    return np.array(streamed), np.array(aggregated)


def p_same(one: np.ndarray, two: np.ndarray) -> float:
    """p-value of equal laws; ties make it conservative, the asymptotic form is accurate at these sizes."""
    return float(stats.ks_2samp(one, two, method="asymp").pvalue)


def distance_found(samples: int, level: float) -> float:
    """Two cdfs this far apart are told apart with probability 0.99 (DKW on both samples)."""
    reject = math.sqrt(math.log(2 / level) / samples)
    return reject + 2 * math.sqrt(math.log(2 / 0.005) / (2 * samples))


@pytest.mark.parametrize(
    ("variant", "reward"), [("repaired", "sign"), ("printed", "sign"), ("repaired", "noiseless")]
)
def test_every_statistic_has_the_same_law(variant: str, reward: Reward) -> None:
    """Two-sample Kolmogorov-Smirnov on each; by chance one fails in less than 1 run of 10^5."""
    one, two = fits(variant, reward)
    constant = (np.ptp(one, axis=0) == 0) & (np.ptp(two, axis=0) == 0)
    assert (one[0, constant] == two[0, constant]).all()
    pvalues = [p_same(a, b) for a, b in zip(one.T[~constant], two.T[~constant], strict=True)]
    assert len(pvalues) > 40, "most statistics should vary"
    assert min(pvalues) > LEVEL, f"a distance of {distance_found(REPEATS, LEVEL):.2f} would be found"


@pytest.mark.parametrize("variant", VARIANTS)
def test_dependence_between_statistics_is_the_same(variant: str) -> None:
    """Random projections see joint laws: independent counts of two actions would show here."""
    one, two = fits(variant, "sign")
    scale = np.maximum(np.std(np.vstack([one, two]), axis=0), 1e-12)
    ranks = [np.clip(x / scale, -4, 4) for x in (one, two)]
    for direction in np.random.default_rng(1).standard_normal((20, one.shape[1])):
        assert p_same(ranks[0] @ direction, ranks[1] @ direction) > LEVEL


def test_counts_of_the_two_actions_move_against_each_other() -> None:
    """Counts are one multinomial: with noise taken out they sum to n exactly."""
    problem, spec = two_contexts(), small_spec()
    crowd = aggregate.Crowd(problem, spec, uniform(problem)[None], 1000, np.random.default_rng(0))
    assert all(crowd.batch()[0].sum() == 1000 for _ in range(20))
    printed = aggregate.Crowd(
        problem, small_spec(repairs=frozenset()), uniform(problem)[None], 1000, np.random.default_rng(0)
    )
    assert printed.batch()[0].sum() == 2000, "as printed every user is counted in both oracles"


def test_regret_has_the_same_law() -> None:
    problem, spec = two_contexts(), small_spec(activation=1e-5, width=1e-6, horizon=900)
    streamed = stream.run(problem, spec, 120, np.random.default_rng(3))
    aggregated = aggregate.run(problem, spec, 4000, np.random.default_rng(4))
    for name in ("regret", "width", "active_bins", "actions_left"):
        one, two = getattr(streamed, name)[:, -1], getattr(aggregated, name)[:, -1]
        assert p_same(one, two) > LEVEL, name
    assert np.ptp(aggregated.total_regret) > 0
    covered = [run.covered[:, -1].sum() for run in (streamed, aggregated)]
    table = [[covered[0], 120 - covered[0]], [covered[1], 4000 - covered[1]]]
    assert stats.fisher_exact(table).pvalue > LEVEL


def test_absent_bins_do_not_depend_on_the_order_of_questions() -> None:
    problem, spec = two_contexts(), small_spec()
    phi = np.random.default_rng(0).uniform(-0.6, 0.6, (30, 2))
    action = np.tile([0, 1], 15)
    oracles = [
        aggregate.fit(problem, spec, uniform(problem)[None], 500, np.random.default_rng(5)) for _ in range(2)
    ]
    forward = [np.concatenate(oracles[0](phi[i : i + 1], action[i : i + 1])) for i in range(30)]
    backward = [np.concatenate(oracles[1](phi[i : i + 1], action[i : i + 1])) for i in range(29, -1, -1)]
    assert np.array_equal(forward, backward[::-1])
    assert np.array_equal(np.stack(oracles[0](phi, action), axis=1), forward)


def test_runs_are_reproducible_and_complete() -> None:
    problem = problems.random(2, 3, 5, seed=2)
    spec = REPAIRED(d=2, actions=3, horizon=10**18)
    one, two = (aggregate.run(problem, spec, 3, np.random.default_rng(11)) for _ in range(2))
    assert np.array_equal(one.regret, two.regret)
    assert one.elapsed[-1] == 10**18
    assert (one.regret >= 0).all()
    assert (one.regret <= 2.0 * one.rounds).all()
    first = one.rounds[0] * problem.uniform_regret
    assert one.regret[:, 0] == pytest.approx(first)


def test_printed_constants_learn_at_d_1_before_1e18() -> None:
    """The theorems speak only at huge horizons; the engine goes there."""
    problem = problems.random(1, 2, 8, seed=0)
    run = aggregate.run(problem, REPAIRED(d=1, actions=2, horizon=10**18), 4, np.random.default_rng(0))
    assert run.covered.all()
    for event, when in run.onset().items():
        assert all(t is not None and 0 < t < 10**18 for t in when), event
    assert (run.total_regret < 0.2 * problem.uniform_regret * 1e18).all()


def test_coverage_is_not_decided_by_rounding() -> None:
    """Nothing fitted and phi along theta: |f*| = |phi| = Delta exactly."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        theta = rng.standard_normal(3)
        theta /= np.linalg.norm(theta)
        features = rng.uniform(-1, 1, (4, 2, 1)) * theta
        problem = Problem(features, np.full(4, 0.25), theta)
        assert aggregate.run(problem, REPAIRED(d=3, actions=2, horizon=10**6), 1, rng).covered.all()


@pytest.mark.parametrize("engine", [stream.run, aggregate.run])
def test_bad_input_is_refused(engine: Callable[..., Run]) -> None:
    problem, rng = two_contexts(), np.random.default_rng(0)
    with pytest.raises(ValueError, match="d=2"):
        engine(problem, small_spec(d=3), 1, rng)
    with pytest.raises(ValueError, match="actions=2"):
        engine(problem, small_spec(actions=3), 1, rng)
    with pytest.raises(ValueError, match="seeds"):
        engine(problem, small_spec(), 0, rng)
    with pytest.raises(ValueError, match="first epoch"):
        engine(problem, Spec(d=2, actions=2, horizon=50), 1, rng)


def test_engines_say_what_they_cannot_do() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="stream engine"):
        aggregate.run(two_contexts("beta"), small_spec(), 1, rng)
    with pytest.raises(ValueError, match="horizon"):
        stream.run(two_contexts(), Spec(d=2, actions=2, horizon=10**18), 1, rng)
    with pytest.raises(ValueError, match="cells"):
        stream.run(two_contexts(), Spec(d=2, actions=2, horizon=10**6, beta=1e-4), 1, rng)
    with pytest.raises(ValueError, match="levels"):
        Spec(d=12, actions=2, horizon=10**18, beta=0.01)
    assert stream.run(two_contexts("beta"), small_spec(), 1, rng).regret.shape[0] == 1


EVEN = np.full((1, 4, 2), 0.5)


@pytest.mark.parametrize(
    ("odd", "named"),
    [
        ({"n": 0}, "n lies in"),
        ({"n": None}, "n is"),
        ({"policy": -EVEN}, "policy holds chances"),
        ({"policy": 0 * EVEN}, "policy gives"),
        ({"policy": np.nan * EVEN}, "policy holds numbers"),
        ({"policy": EVEN[0]}, "policy has shape"),
        ({"policy": EVEN[:0]}, "policy has shape"),
        ({"spec": small_spec(d=3)}, "the problem has d=2"),
    ],
)
def test_a_fit_names_what_it_cannot_use(odd: dict[str, object], named: str) -> None:
    good = {"problem": problems.random(2, 2, 4), "spec": small_spec(), "policy": EVEN, "n": 500}
    with pytest.raises(ValueError, match=named):
        aggregate.fit(**(good | {"rng": np.random.default_rng(0)} | odd))  # type: ignore[arg-type]


def test_users_who_cannot_act_are_named() -> None:
    with pytest.raises(ValueError, match="policy"):
        stream.collect_epoch(
            problems.random(2, 2, 4), Server(small_spec()), 0 * EVEN[0], np.random.default_rng(0)
        )


def test_an_oracle_answers_lists_and_only_for_oracles_that_there_are() -> None:
    problem, rng = problems.random(2, 2, 4), np.random.default_rng(0)
    oracle = aggregate.fit(problem, small_spec(), np.repeat(EVEN, 2, axis=0), 500, rng)
    found = oracle([[0.1, 0.2]], [3])  # type: ignore[arg-type]
    assert np.array_equal(found, oracle(np.array([[0.1, 0.2]]), np.array([3])))
    for number in (-1, 4, 7, 2**62):
        with pytest.raises(ValueError, match="oracle holds numbers from 0 to 3"):
            oracle.route(np.array([[0.1, 0.2]]), np.array([number]))


def test_a_fit_draws_signs_for_every_law_but_noiseless() -> None:
    """The mean is all that signs keep of another law, as the docstring says; a run refuses such a problem."""

    def fitted(reward: Reward) -> np.ndarray:
        problem = two_contexts(reward)
        rng = np.random.default_rng(4)
        oracle = aggregate.fit(problem, small_spec(), uniform(problem)[None], 10**5, rng)
        return looks(oracle, problem.features.reshape(-1, 2), np.tile([0, 1], 2))

    assert np.array_equal(fitted("beta"), fitted("sign"))
    assert not np.array_equal(fitted("noiseless"), fitted("sign"))
    with pytest.raises(ValueError, match="reward"):
        aggregate.run(two_contexts("beta"), small_spec(), 1, np.random.default_rng(4))


def test_vectors_outside_the_ball_are_routed_as_level_0_and_get_no_answer() -> None:
    problem, rng = problems.random(2, 2, 4), np.random.default_rng(0)
    oracle = aggregate.fit(problem, small_spec(), EVEN, 500, rng)
    long, unit = np.array([[3.0, 0.0]]), np.array([[1.0, 0.0]])
    ways = [
        [at.keys.tolist() for at in oracle.route(phi, np.zeros(1, dtype=np.int64))] for phi in (long, unit)
    ]
    assert ways[0] == ways[1]
    with pytest.raises(ValueError, match="norm at most 1"):
        oracle(long, np.zeros(1, dtype=np.int64))
