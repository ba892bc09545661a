"""Every baseline has the same shape and gives sound regret curves; streams and aggregates have one law."""

from __future__ import annotations

import ast
import inspect
import math
from importlib import import_module
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from lpcb import baselines, problem
from lpcb.arrays import Array
from lpcb.baselines import (
    BASELINES,
    Baseline,
    Curve,
    input_perturbation,
    ldp_linucb,
    ldp_linucb_doubling,
    linucb_doubling,
    private_statistics,
)
from lpcb.baselines._data import Cells, drawn_cells, summed_cells
from lpcb.baselines._epochs import FIRST, lengths
from lpcb.baselines._run import Run, Simulate
from lpcb.problem import Problem

LEVEL = 1e-9
"""Each random comparison fails by chance with at most this probability."""
NAMES = sorted(BASELINES)
AGGREGATED = [name for name in NAMES if BASELINES[name].aggregate is not None]
MODULES = sorted(
    path.stem for path in Path(baselines.__file__).parent.glob("*.py") if not path.stem.startswith("_")
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def easy(reward: problem.Reward = "sign") -> Problem:
    """Two contexts, two actions, means +-1/2: the gap is 1."""
    good, bad = [0.5, 0.5], [-0.5, 0.5]
    return Problem(np.array([[good, bad], [bad, good]]), np.array([0.5, 0.5]), np.array([1.0, 0.0]), reward)


def simulations() -> list[tuple[str, str]]:
    return [(name, mode) for name in NAMES for mode in ("stream", "aggregate") if _has(name, mode)]


def _has(name: str, mode: str) -> bool:
    return getattr(BASELINES[name], mode) is not None


def simulate(name: str, mode: str, *args: object) -> Curve:
    call: Simulate = getattr(BASELINES[name], mode)
    return call(*args)  # type: ignore[arg-type]  # bad input is passed on purpose


def test_every_module_is_registered_under_its_name() -> None:
    assert MODULES == NAMES
    for name in NAMES:
        module = import_module(f"lpcb.baselines.{name}")
        assert BASELINES[name] == Baseline(
            module.NAME, module.PRIVACY, module.FORM, module.stream, module.aggregate
        )
        assert name == module.NAME


@pytest.mark.parametrize("name", MODULES)
def test_every_module_has_the_same_names_in_the_same_order(name: str) -> None:
    module = import_module(f"lpcb.baselines.{name}")
    order: list[str] = []
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.Assign):
            order += [target.id for target in node.targets if isinstance(target, ast.Name)]
        elif isinstance(node, ast.FunctionDef):
            order.append(node.name)
    shape = ["NAME", "PRIVACY", "FORM", "stream", "aggregate"]
    assert [word for word in order if word in shape] == shape
    parameters = ["problem", "horizon", "alpha", "seeds", "rng", "checkpoints"]
    for call in filter(None, (module.stream, module.aggregate)):
        assert list(inspect.signature(call).parameters) == parameters
    assert module.__doc__


def test_the_doubling_forms_say_so() -> None:
    """What acts every round has no aggregate; its form for long horizons is another baseline."""
    for name in ("linucb", "ldp_linucb"):
        assert BASELINES[name].aggregate is None
        assert BASELINES[f"{name}_doubling"].aggregate is not None


@pytest.mark.parametrize("horizon", [1, 63, 64, 65, 1000, 10**18])
def test_epochs_double_and_fill_the_horizon(horizon: int) -> None:
    epochs = lengths(horizon)
    assert sum(epochs) == horizon
    assert all(n == FIRST << i for i, n in enumerate(epochs[:-1]))
    assert 0 < epochs[-1] <= FIRST << (len(epochs) - 1)


@pytest.mark.parametrize(("name", "mode"), simulations())
def test_curves_are_sound_and_reproducible(name: str, mode: str) -> None:
    instance = problem.random(2, 3, 4, seed=1)
    horizon, checkpoints = 300, [1, 50, 64, 65, 200, 300]
    curve = simulate(name, mode, instance, horizon, 1.0, 5, rng(7), checkpoints)
    again = simulate(name, mode, instance, horizon, 1.0, 5, rng(7), checkpoints)
    assert curve.label == name
    assert curve.checkpoints == tuple(checkpoints)
    assert curve.regret.shape == (5, 6)
    assert np.array_equal(curve.regret, again.regret)
    assert np.all(curve.regret >= 0)
    assert np.all(curve.regret <= 2 * np.array(checkpoints))
    assert np.all(np.diff(curve.regret, axis=1) >= 0)
    assert np.all(np.diff(curve.regret, axis=1) <= instance.gaps.max() * np.diff(checkpoints) + 1e-9)
    if name in ("linucb", "ldp_linucb"):  # these act on every reward, so another generator shows
        other = simulate(name, mode, instance, horizon, 1.0, 5, rng(8), checkpoints)
        assert not np.array_equal(curve.regret, other.regret)


@pytest.mark.parametrize("name", NAMES)
def test_checkpoints_do_not_change_the_run(name: str) -> None:
    few = BASELINES[name].stream(easy(), 500, 1.0, 3, rng(), [500])
    many = BASELINES[name].stream(easy(), 500, 1.0, 3, rng(), [1, 100, 499, 500])
    assert np.array_equal(few.regret[:, -1], many.regret[:, -1])


@pytest.mark.parametrize("reward", ["noiseless", "beta"])
@pytest.mark.parametrize("name", NAMES)
def test_streams_take_every_reward(name: str, reward: problem.Reward) -> None:
    curve = BASELINES[name].stream(easy(reward), 200, 1.0, 2, rng(), [200])
    assert np.all(np.isfinite(curve.regret))


@pytest.mark.parametrize("name", AGGREGATED)
def test_aggregates_run_at_the_longest_horizon(name: str) -> None:
    """Low-rank designs included, whose Gram matrices are singular in float64 without a ridge that grows."""
    aggregate = BASELINES[name].aggregate
    assert aggregate is not None
    for instance in (easy(), easy("noiseless"), problem.line(3, 4, 5), problem.random(3, 4, 10)):
        regret = aggregate(instance, 2**62, 1.0, 3, rng(), [10**6, 2**62]).regret
        assert np.all(np.isfinite(regret))
        assert np.all(regret >= 0)
        assert np.all(regret[:, 1] <= instance.uniform_regret * 2**62 * (1 + 1e-12))


def same_law(a: Array, b: Array) -> bool:
    """Two-sample Kolmogorov-Smirnov with the Dvoretzky-Kiefer-Wolfowitz-Massart bound."""
    x = np.concatenate([a, b])
    F, G = (np.searchsorted(np.sort(sample), x, side="right") / len(sample) for sample in (a, b))
    bound = sum(math.sqrt(math.log(4 / LEVEL) / (2 * len(sample))) for sample in (a, b))
    return bool(np.abs(F - G).max() <= bound)


@pytest.mark.parametrize("name", ["linucb_doubling", "elimination_ls", "ldp_linucb_doubling"])
def test_stream_and_aggregate_have_one_law(name: str) -> None:
    """Regret of 1500 seeds at horizons where it is random; distances above 0.16 are noticed."""
    instance, horizon = problem.family_f(0.7), 3000 if name == "elimination_ls" else 600
    checkpoints = [horizon // 2, horizon]
    stream, aggregate = (
        simulate(name, mode, instance, horizon, 1.0, 1500, rng(seed), checkpoints).regret
        for seed, mode in enumerate(("stream", "aggregate"))
    )
    assert len(np.unique(stream[:, -1])) > 1, "the comparison would say nothing"
    for column in range(2):
        assert same_law(stream[:, column], aggregate[:, column])


def policies(seeds: int, instance: Problem) -> Array:
    """One policy of a shape that elimination produces, for each seed the same."""
    active = np.ones((instance.contexts, instance.actions))
    active[0, 1:] = 0
    return np.broadcast_to(active / active.sum(axis=1, keepdims=True), (seeds, *active.shape))


@pytest.mark.parametrize("reward", ["sign", "noiseless"])
def test_drawn_and_summed_data_have_one_law(reward: problem.Reward) -> None:
    instance = problem.random(2, 3, 3, seed=2, reward=reward)
    run = Run(instance, 100, 1.0, 4000, rng(3), [100])
    policy = policies(4000, instance)
    drawn, summed = drawn_cells(run, policy, 40), summed_cells(run, policy, 40)
    assert np.all(drawn.counts.sum(axis=(1, 2)) == 40)
    assert np.all(drawn.counts[:, 0, 1:] == 0)
    for mix in rng(4).integers(-3, 4, (6, 3, 3)):  # random combinations see the dependence too
        assert same_law((drawn.counts * mix).sum(axis=(1, 2)), (summed.counts * mix).sum(axis=(1, 2)))
        assert same_law((drawn.sums * mix).sum(axis=(1, 2)), (summed.sums * mix).sum(axis=(1, 2)))


def test_drawn_and_summed_reports_have_one_law() -> None:
    """All entries of the private sums, one by one: 2 baselines, fewer than 40 comparisons at level 1e-9."""
    instance = problem.random(2, 2, 3, seed=2)
    run = Run(instance, 100, 1.0, 4000, rng(5), [100])
    policy = policies(4000, instance)
    for drawn, summed in (
        (
            private_statistics.drawn_statistics(run, policy, 12, 0.3),
            private_statistics.summed_statistics(run, policy, 12, 0.3),
        ),
        (
            ldp_linucb_doubling.drawn_reports(run, policy, np.full(4000, 12), 0.4),
            ldp_linucb_doubling.summed_reports(run, policy, np.full(4000, 12), 0.4),
        ),
    ):
        for one, other in zip(drawn, summed, strict=True):
            for a, b in zip(one.reshape(4000, -1).T, other.reshape(4000, -1).T, strict=True):
                assert same_law(a, b)


def test_learning_beats_not_learning() -> None:
    """On gap 1: far less than uniform, and the second half of the run costs far less than the first."""
    half, horizon = 5000, 10_000
    for name, share in (("linucb", 0.03), ("elimination_ls", 0.3)):
        regret = BASELINES[name].stream(easy(), horizon, 1.0, 20, rng(), [half, horizon]).regret.mean(axis=0)
        assert regret[1] < share * easy().uniform_regret * horizon, name
        assert regret[1] - regret[0] < 0.3 * regret[0], name


@pytest.mark.parametrize(
    ("name", "horizon", "share"),
    [
        ("linucb_doubling", 10**15, 1e-6),
        ("elimination_ls", 10**15, 1e-6),
        ("private_statistics", 10**12, 1e-3),
        ("ldp_linucb_doubling", 10**15, 0.01),
    ],
)
def test_learning_beats_not_learning_in_the_end(name: str, horizon: int, share: float) -> None:
    """Horizons well beyond those at which each begins to learn; ldp_linucb falls like T^(-1/4) only."""
    regret = simulate(name, "aggregate", easy(), horizon, 1.0, 50, rng(), [100, horizon]).regret.mean(axis=0)
    uniform = easy().uniform_regret
    assert regret[0] > 0.2 * uniform * 100, "at a hundred users nothing is known yet"
    assert regret[1] < share * uniform * horizon


def test_private_linucb_learns_round_by_round() -> None:
    """Its estimates lean to the better action early: about half of uniform's regret, the limits 13
    standard errors or more away."""
    regret = BASELINES["ldp_linucb"].stream(easy(), 5000, 1.0, 200, rng(), [5000]).regret.mean()
    assert 0.1 * 2500 < regret < 0.8 * 2500


def test_policies_of_the_doubling_form_are_deterministic() -> None:
    policy = linucb_doubling.greedy(rng().standard_normal((3, 4, 5)))
    assert np.all(np.sort(policy, axis=-1) == np.array([0, 0, 0, 0, 1]))


def test_doubling_forms_accumulate_over_all_users(monkeypatch: pytest.MonkeyPatch) -> None:
    """What they look at are the sums over all users so far; the number of looks is logarithmic."""
    private: list[tuple[int, float]] = []
    cells: list[float] = []

    def ellipsoid(state: ldp_linucb.State, sigma: float, p: float) -> tuple[Array, Array, Array]:
        private.append((int(np.asarray(state.t)[0]), float(np.trace(state.gram[0]))))
        return ldp_linucb.ellipsoid(state, sigma, p)

    original = linucb_doubling.upper

    def upper(instance: Problem, past: Cells, failure: float) -> tuple[Array, Array, Array]:
        cells.append(float(past.counts[0].sum()))
        return original(instance, past, failure)

    monkeypatch.setattr(ldp_linucb_doubling, "ellipsoid", ellipsoid)
    monkeypatch.setattr(ldp_linucb_doubling, "noise_scale", lambda d, alpha, horizon: 1e-9)
    monkeypatch.setattr(linucb_doubling, "upper", upper)
    for module in (ldp_linucb_doubling, linucb_doubling):
        module.aggregate(easy(), 10**4, 1.0, 1, rng(), [1])
    users = [t for t, _ in private]
    for looks in (cells, users):
        assert looks[0] == 0
        assert looks[-1] == 10**4
        assert all(b > a for a, b in pairwise(looks))
        assert len(looks) < 100
    np.testing.assert_allclose([trace for _, trace in private], np.array(users) / 2, atol=1e-5)


@pytest.mark.parametrize(("name", "power"), [("linucb_doubling", 0.5), ("ldp_linucb_doubling", 0.25)])
def test_policies_change_when_the_determinant_has_doubled_not_with_the_calendar(
    name: str, power: float
) -> None:
    """At gaps far above T^-power regret per round is small; at the ends of doubling epochs one trial of the
    worse action would cost a whole epoch, and for some gap the last one: about s/2 a round in such a run."""
    T = 10**15
    simulate = BASELINES[name].aggregate
    assert simulate is not None
    for s in (300 * T**-power, 0.86):
        regret = simulate(problem.family_f(s), T, 1.0, 20, rng(), [T]).regret
        assert regret.max() < 0.1 * s * T / 2


@pytest.mark.parametrize("reward", ["sign", "noiseless"])
def test_the_normal_limit_of_input_perturbation_has_its_moments(
    reward: problem.Reward, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Means and covariances of all entries against those of 800 users drawn, 4000 times each. A standardised
    difference of 8 of means, or of logarithms of variances, has probability below 1e-12 for a normal."""
    instance = problem.random(2, 2, 3, seed=2, reward=reward)
    run = Run(instance, 100, 1.0, 4000, rng(6), [100])
    policy = policies(4000, instance)
    drawn = input_perturbation.drawn_statistics(run, policy, 800, 0.3)
    monkeypatch.setattr(input_perturbation, "EXACT", 0)
    limit = input_perturbation.summed_statistics(run, policy, 800, 0.3)
    a, b = (np.concatenate([part.reshape(4000, -1) for part in both], axis=1) for both in (drawn, limit))
    for mix in [*np.eye(a.shape[1]), *rng(7).integers(-2, 3, (8, a.shape[1]))]:
        x, y = a @ mix, b @ mix
        error = math.sqrt((x.var() + y.var()) / 4000)
        if error < 1e-9:
            continue
        assert abs(x.mean() - y.mean()) < 8 * error
        kurtosis = max(float(((v - v.mean()) ** 4).mean() / v.var() ** 2) for v in (x, y))
        assert abs(math.log(x.var() / y.var())) < 8 * math.sqrt(2 * (kurtosis - 1) / 4000)


BAD: list[tuple[dict[str, object], str]] = [
    ({"horizon": 0}, "horizon"),
    ({"horizon": 2.5}, "horizon"),
    ({"alpha": 0.0}, "alpha"),
    ({"alpha": 1.5}, "alpha"),
    ({"alpha": math.nan}, "alpha"),
    ({"seeds": 0}, "seeds"),
    ({"checkpoints": []}, "checkpoints"),
    ({"checkpoints": [101]}, "checkpoints"),
    ({"checkpoints": [50, 20]}, "checkpoints must increase"),
]


@pytest.mark.parametrize(("name", "mode"), simulations())
def test_bad_input(name: str, mode: str) -> None:
    good: dict[str, object] = {"horizon": 100, "alpha": 1.0, "seeds": 2, "rng": rng(), "checkpoints": [100]}
    for change, word in BAD:
        with pytest.raises(ValueError, match=word):
            simulate(name, mode, easy(), *(good | change).values())


@pytest.mark.parametrize("name", [name for name in NAMES if name != "uniform"])
def test_what_cannot_be_streamed_or_summed_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="too long to draw every user"):
        BASELINES[name].stream(easy(), 10**9, 1.0, 1, rng(), [1])
    if name in AGGREGATED:
        with pytest.raises(ValueError, match="reward 'beta'"):
            simulate(name, "aggregate", easy("beta"), 100, 1.0, 1, rng(), [1])
