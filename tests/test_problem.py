"""Problems: the paper's instances and a user's own contexts."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from lpcb import problem as problems
from lpcb.problem import Problem, Reward

BUILT = {
    "random": problems.random(3, 4, 8, seed=1),
    "line": problems.line(3, 4, 8, seed=1),
    "f": problems.family_f(0.1),
    "theorem-2.1": problems.theorem_2_1(10**4),
    "theorem-2.2": problems.theorem_2_2(10**4),
    "case-1": problems.case_1(0.01),
    "case-2": problems.case_2(0.01),
}


def second_moment(p: Problem) -> np.ndarray:
    phi = p.features[:, 0]
    return (phi * p.weights[:, None]).T @ phi


@pytest.mark.parametrize("name", BUILT)
def test_means_and_gaps(name: str) -> None:
    p = BUILT[name]
    assert np.abs(p.means).max() <= 1
    assert p.gaps.min() >= 0
    assert (p.gaps.min(axis=1) == 0).all()
    assert 0 <= p.uniform_regret <= 2


def test_instances_are_the_papers() -> None:
    n, c = 10**4, 1 / (4 * math.sqrt(2) * math.expm1(1))
    assert np.allclose(second_moment(BUILT["theorem-2.1"]), np.diag([1 - c / 100, c / 100]))
    assert np.allclose(BUILT["theorem-2.2"].features[:, 0, 1], [0.07 * n ** (-1 / 3), -0.07 * n ** (-1 / 3)])
    # Cases I and II share the covariance diag(1 - delta, delta) once Case II is shrunk to norm one.
    assert np.allclose(second_moment(BUILT["case-1"]), np.diag([0.99, 0.01]))
    assert np.allclose(second_moment(BUILT["case-2"]), np.diag([0.99, 0.01]))
    assert np.allclose(np.abs(BUILT["f"].means[:, 0] - BUILT["f"].means[:, 1]), 0.1)
    assert np.linalg.matrix_rank(BUILT["line"].features.reshape(-1, 3)) == 1


@pytest.mark.parametrize("reward", problems.REWARDS)
def test_rewards_have_their_mean_and_range(reward: Reward) -> None:
    p = problems.random(2, 2, 4, seed=0, reward=reward)
    means = np.repeat(np.array([-1.0, -0.3, 0.0, 0.8, 1.0]), 40_000).reshape(5, -1)
    y = p.draw_reward(means, np.random.default_rng(0))
    assert np.abs(y).max() <= 1
    # Hoeffding: fails by chance with probability below 5 * 2 exp(-40000 * 0.035^2 / 2) < 1e-9.
    assert np.abs(y.mean(axis=1) - means[:, 0]).max() < 0.035


def test_from_csv_frame_and_arrays_agree(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "context": ["b", "a", "a", "b"],
            "action": [1, 0, 1, 0],
            "weight": [0.25, 0.75, 0.75, 0.25],
            "f1": [0.1, 0.2, 0.3, 0.4],
            "f2": [0.5, 0.6, 0.1, 0.2],
        }
    )
    file = tmp_path / "contexts.csv"
    frame.to_csv(file, index=False)
    theta = [0.6, 0.8]
    read, made = Problem.from_csv(file, theta), Problem.from_frame(frame, theta)
    expected = np.array([[[0.2, 0.6], [0.3, 0.1]], [[0.4, 0.2], [0.1, 0.5]]])
    for p in (read, made):
        assert np.array_equal(p.features, expected)
        assert np.array_equal(p.weights, [0.75, 0.25])
    assert read.name == "contexts"
    assert np.linalg.norm(Problem.from_csv(file).theta) == pytest.approx(1)


@pytest.mark.parametrize(
    ("columns", "named"),
    [
        ({"action": [0], "f": [1.0]}, "context"),
        ({"context": [0], "action": [0]}, "feature"),
        ({"context": [0, 0], "action": [0, 0], "f": [1, 1]}, "every context"),
        ({"context": [0, 1], "action": [0, 1], "f": [1, 1]}, "every context"),
        ({"context": [0], "action": [0], "f": ["x"]}, "'f'"),
        ({"context": [0], "action": [0], "f": [2.0]}, "norm"),
        ({"context": [0], "action": [0], "f": [math.nan]}, "finite"),
        ({"context": [0, 0], "action": [0, 1], "weight": [1, 0.5], "f": [1, 1]}, "weight"),
        ({"context": [0], "action": [0], "weight": [0.5], "f": [1]}, "sum to one"),
    ],
)
def test_bad_frames_are_refused(columns: dict[str, list[object]], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        Problem.from_frame(columns, [1.0])


@pytest.mark.parametrize("text", ["", "context,action,f\n", "context,action,f\n1,2\n"])
def test_bad_files_are_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "bad.csv"
    file.write_text(text)
    with pytest.raises(ValueError, match=r"bad\.csv"):
        Problem.from_csv(file)


def test_wrong_shapes_and_names_are_refused() -> None:
    ok = {"features": np.zeros((2, 2, 2)), "weights": [0.5, 0.5], "theta": [0.0, 1.0]}
    for wrong, named in (
        ({"features": np.zeros((2, 2))}, "features"),
        ({"weights": [1.0]}, "weights"),
        ({"weights": [0.7, 0.7]}, "sum to one"),
        ({"weights": [1.5, -0.5]}, "probabilities"),
        ({"theta": [1.0, 1.0]}, "theta"),
        ({"theta": [1.0]}, "theta"),
        ({"reward": "gaussian"}, "reward"),
    ):
        with pytest.raises(ValueError, match=named):
            Problem(**(ok | wrong))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="unknown problem 'nope'"):
        problems.build("nope", horizon=10**6)
    with pytest.raises(ValueError, match="d=2, not 3"):
        problems.build("f", horizon=10**6, d=3)
    with pytest.raises(ValueError, match="not a probability"):
        problems.theorem_2_1(1, alpha=0.01)


def test_problems_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        BUILT["random"].features[0, 0, 0] = 1.0
