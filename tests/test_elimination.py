"""Algorithm 1's rule: the best action survives any valid intervals, and survivors are nearly best."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from lpcb.elimination import eliminate, uniform_policy

unit = st.floats(-1, 1)


@given(arrays(float, (3, 4), elements=unit), st.lists(st.integers(0, 2**32), min_size=1, max_size=5))
def test_survival_and_gap_of_lemma_a2(truth: np.ndarray, epochs: list[int]) -> None:
    """For any intervals that cover: the best action stays, and gaps are at most 2 (Delta + Delta*)."""
    active = np.ones(truth.shape, dtype=bool)
    best = truth.argmax(axis=1)
    for seed in epochs:
        rng = np.random.default_rng(seed)
        delta = rng.random(truth.shape) * rng.choice([0.0, 0.1, 1.0])
        # Errors at the very edge of the interval are the nastiest that Definition 3.1 allows.
        f_hat = truth + delta * rng.choice([-1.0, 0.0, 1.0], truth.shape)
        before, active = active, eliminate(active, f_hat, delta + 1e-12)
        assert (active <= before).all()
        assert active[np.arange(3), best].all()
        gap = truth.max(axis=1, keepdims=True) - truth
        bound = 2 * (delta + delta[np.arange(3), best][:, None]) + 1e-9
        assert (gap[active] <= bound[active]).all()


def test_ties_are_kept_and_only_active_actions_eliminate() -> None:
    f, delta = np.array([[0.5, 0.3, 0.0]]), np.array([[0.1, 0.1, 0.0]])
    assert eliminate(np.ones((1, 3), bool), f, delta).tolist() == [[True, True, False]]
    assert eliminate(np.array([[False, True, True]]), f, delta).tolist() == [[False, True, False]]
    touching = eliminate(np.ones((1, 2), bool), np.array([[0.5, 0.25]]), np.array([[0.125, 0.125]]))
    assert touching.all()


def test_a_negative_interval_that_empties_the_set_is_an_error() -> None:
    with pytest.raises(ArithmeticError, match="width-cap"):
        eliminate(np.ones((1, 2), bool), np.zeros((1, 2)), np.array([[-0.1, -0.1]]))


def test_policy_is_uniform_over_what_is_left() -> None:
    policy = uniform_policy(np.array([[True, False, True], [False, False, True]]))
    assert policy.tolist() == [[0.5, 0.0, 0.5], [0.0, 0.0, 1.0]]
