"""Parameters as printed."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lpcb.boundary import Range
from lpcb.spec import MAX_HORIZON, PAPER, REPAIRED, REPAIRS, Spec

horizons = st.integers(2000, 10**18)


@given(horizons, st.integers(1, 5), st.floats(0.01, 1))
def test_default_parameters_are_the_printed_ones(horizon: int, d: int, alpha: float) -> None:
    spec = PAPER(d=d, actions=2, horizon=horizon, alpha=alpha)
    beta, delta = 1 / math.log(horizon), horizon**-2.0
    log48, log24 = math.log(48 * d / (beta * delta)), math.log(24 * d / (beta * delta))
    assert spec.gamma == pytest.approx(math.e)
    assert math.ceil(math.log(horizon) / 2) == spec.M
    assert spec.kappa1 == pytest.approx(43 / alpha * log48)
    assert spec.kappa1_prime == pytest.approx(15 / alpha * log48)
    assert spec.kappa2 == pytest.approx(118 / alpha * log24)
    assert spec.kappa3 == pytest.approx(300 / alpha * log48)
    assert spec.n0 == math.ceil(4 * d**2 * log24)


@given(horizons, st.integers(1, 4))
def test_every_batch_is_as_long_as_the_lemmas_ask(horizon: int, d: int) -> None:
    spec = Spec(d=d, actions=3, horizon=horizon)
    assert spec.batch(1) >= 2 * d * math.log(24 * d / (spec.b * spec.failure))
    if horizon >= spec.first_epoch:
        epochs = spec.epochs()
        assert sum(rounds for _, rounds in epochs) == horizon
        assert all(rounds == spec.n0 * 2**tau for tau, rounds in epochs[:-1])
        assert 0 < epochs[-1][1] <= spec.epoch_length(epochs[-1][0])


@pytest.mark.parametrize("beta", [0.5, 0.25, 0.1, 1 / 7, 0.0625])
def test_levels_reach_one_over_root_T(beta: float) -> None:
    spec = Spec(d=1, actions=1, horizon=10**6, beta=beta)
    assert math.ceil(round(1 / (2 * beta), 9)) == spec.M
    assert spec.gamma**-spec.M <= 10**-3 * (1 + 1e-9)


def test_factors_scale_thresholds_and_widths_apart() -> None:
    one = Spec(d=2, actions=2, horizon=10**6)
    other = Spec(d=2, actions=2, horizon=10**6, activation=0.5, width=0.25)
    assert other.kappa1 / one.kappa1 == other.kappa1_prime / one.kappa1_prime == 0.5
    assert other.kappa2 / one.kappa2 == other.kappa3 / one.kappa3 == 0.25


def test_paper_has_no_repair_and_repaired_has_all() -> None:
    assert PAPER(d=1, actions=1, horizon=10**4).repairs == frozenset()
    assert REPAIRED(d=1, actions=1, horizon=10**4).repairs == REPAIRS


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 2.0}, "alpha"),
        ({"alpha": math.nan}, "alpha"),
        ({"beta": 0.6}, "beta"),
        ({"beta": 0.0}, "beta"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.5}, "delta"),
        ({"horizon": 1}, "horizon"),
        ({"horizon": MAX_HORIZON + 1}, "horizon"),
        ({"horizon": 1e6}, "horizon"),
        ({"d": 0}, "d "),
        ({"actions": 0}, "actions"),
        ({"activation": -1.0}, "activation"),
        ({"width": math.inf}, "width"),
        ({"repairs": frozenset({"nonsense"})}, "repairs"),
    ],
)
def test_bad_input_is_named(wrong: dict[str, object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Spec(**({"d": 2, "actions": 2, "horizon": 10**6} | wrong))  # type: ignore[arg-type]


def test_numbers_are_kept_as_pythons_own() -> None:
    """In float32 the thresholds of so large a factor are infinite."""
    numbers = {"alpha": np.float32(0.25), "beta": np.float64(0.25), "delta": np.float32(0.5), "width": 1}
    spec = Spec(np.int64(2), np.int8(2), np.int32(10**6), activation=1e100, **numbers)  # type: ignore[arg-type]
    assert spec == Spec(2, 2, 10**6, 0.25, 0.25, 0.5, 1e100)
    assert math.isfinite(spec.kappa1)
    kinds = [type(getattr(spec, name)) for name in ("d", "actions", "horizon", *numbers, "activation")]
    assert kinds == [int] * 3 + [float] * 5
    assert type(spec.batch(np.int64(1))) is int  # type: ignore[arg-type]


def test_an_end_that_float32_cannot_hold_is_compared_with() -> None:
    assert np.float32(0.25) in Range(0, 1e300)
    assert np.float32(2) not in Range(0, 1)


def test_horizon_below_the_first_epoch_is_refused() -> None:
    with pytest.raises(ValueError, match="first epoch"):
        Spec(d=2, actions=2, horizon=100).epochs()
