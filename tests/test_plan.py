"""lpcb plan: against direct simulations and formulas, and what it says when there is nothing to say."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pytest

from lpcb import plan_search, problem
from lpcb.engines import aggregate
from lpcb.plan import plan
from lpcb.plan_search import TOP, crossing, moved
from lpcb.plan_text import amount, as_dict, dominating
from lpcb.problem import Problem
from lpcb.spec import MAX_HORIZON, REPAIRED
from tests.support.command import lpcb
from verification.experiments.onset import Formula

EIGHT = problem.random(1, 2, 8)


@cache
def found(alpha: float = 1.0, target: float = 0.5) -> Any:
    return plan([EIGHT], alpha, target, seeds=3)


def users(name: str, **how: float) -> float:
    (need,) = found(**how).needs[name]
    assert need.users is not None
    return float(need.users)


def test_direct_simulations_agree_with_the_bracket():
    """Other seeds, and regret per round as `simulate` counts it."""
    (need,) = found().needs["repaired"]
    assert need.status == "reached"
    shares = []
    for horizon in (need.missed, need.users):
        spec = REPAIRED(d=1, actions=2, horizon=round(horizon))
        run = aggregate.run(EIGHT, spec, 5, np.random.default_rng(12345))
        shares.append(np.median(run.total_regret) / (EIGHT.uniform_regret * run.spec.horizon))
    assert shares[0] > 0.5 >= shares[1]
    assert need.users / need.missed == pytest.approx(2**0.5)


def test_more_privacy_or_less_regret_takes_more_users():
    for name in ("paper", "repaired", "scaled"):
        assert users(name, alpha=0.5) > 2 * users(name)
        assert users(name, target=0.25) > users(name)
    assert users("not private", target=0.25) > users("not private")
    assert users("not private", alpha=0.5) == pytest.approx(users("not private"), rel=1)


def test_printed_constants_take_longer_than_scaled_ones_and_those_longer_than_no_privacy():
    assert users("repaired") > 1e6 * users("scaled") > 1e6 * users("not private")


def test_moved_constants_stand_for_longer_horizons(monkeypatch):
    """Pretend that no run may be longer than 2^50: what is extrapolated from there is known to be true."""
    truth = users("repaired")
    assert truth > 2**53
    monkeypatch.setattr(plan_search, "TOP", 50.0)
    monkeypatch.setattr(plan_search, "MAX_HORIZON", 2**50)
    (need,) = plan([EIGHT], seeds=3).needs["repaired"]
    assert need.status == "extrapolated"
    assert need.curve is not None
    assert need.curve.elapsed[-1] == 2**50
    assert truth / 1.5 < need.users < truth * 1.5


@pytest.mark.parametrize("d", [1, 2, 5])
def test_moving_keeps_threshold_and_width(d):
    for x in (62.5, 66.0, 80.0):
        there, here = (Formula(d, 2, 1.0, y * np.log(2)) for y in (x, TOP))
        for name in ("threshold", "noise_width"):
            moved_here = moved(d, x) * getattr(here, name) / 2 ** (TOP / 2)
            # kappa_2 has 24d in its logarithm where the others have 48d, hence not to all digits.
            assert moved_here == pytest.approx(getattr(there, name) / 2 ** (x / 2), rel=1e-4)


def test_crossing_finds_the_step_from_any_guess():
    for guess in np.linspace(0, 10, 41):
        miss, hit = crossing(lambda x: x >= 3.3, float(guess), 0.0, 10.0)
        assert miss is not None
        assert hit is not None
        assert miss < 3.3 <= hit <= miss + 0.5


def test_nothing_to_learn():
    same = Problem(np.full((2, 2, 1), 0.5), np.full(2, 0.5), np.ones(1))
    assert {n.status for needs in plan([same], seeds=1).needs.values() for n in needs} == {"no gap"}


def test_a_target_that_is_out_of_reach_is_not_reached():
    """Gaps of 1e-6 need (1e6)^2 times more users than gaps of one: beyond what constants are moved."""
    tiny = Problem(np.array([[[1e-6], [-1e-6]]]), np.ones(1), np.ones(1))
    needs = {name: need for name, (need,) in plan([tiny], seeds=1).needs.items()}
    assert needs["repaired"].status == "not reached"
    assert needs["repaired"].missed > MAX_HORIZON
    assert needs["scaled"].missed == MAX_HORIZON
    assert needs["not private"].status == "reached"


def test_plain_data_has_the_shape_of_the_schema():
    schema = json.loads(files("lpcb").joinpath("plan.schema.json").read_text(encoding="utf-8"))
    data = json.loads(json.dumps(as_dict(found()), allow_nan=False))
    jsonschema.validate(data, schema, cls=jsonschema.Draft202012Validator)
    assert data["width"]["dominates"] == "the printed constants"
    for one in data["algorithms"]:
        curve = one["curve"]
        assert curve["median"][-1] <= 0.5
        assert all(a <= b <= c for a, b, c in zip(curve["low"], curve["median"], curve["high"], strict=True))
    del data["algorithms"][0]["needs"][0]["status"]
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(data, schema)


def test_factors_multiply_to_the_whole_width():
    width = found().width
    product = np.prod([factor for _, factor in dominating(width)])
    assert product == pytest.approx(width["printed constants"])


def test_amounts_are_short():
    assert [amount(x) for x in (128, 1448.2, 99_999, 1e13, 4.61e18)] == [
        "130",
        "1400",
        "100000",
        "1e13",
        "4.6e18",
    ]


CSV = """context,action,weight,price,age
young,a,0.5,0.9,0.1
young,b,0.5,-0.2,0.3
old,a,0.5,0.1,-0.8
old,b,0.5,0.4,0.6
"""


def test_the_command_on_a_csv(tmp_path: Path):
    (tmp_path / "mine.csv").write_text(CSV)
    size = "--contexts mine.csv --draws 2 --seeds 1"
    out = lpcb("plan", *size.split(), "--json", "p.json", "--plot", "p.svg", cwd=tmp_path)
    assert out.returncode == 0, out.stderr
    assert max(len(line.rstrip()) for line in out.stdout.splitlines()) <= 80
    assert "Theta is not known: ranges are over 2 unit vectors" in " ".join(out.stdout.split())
    data = json.loads((tmp_path / "p.json").read_text())
    assert len(data["problem"]["thetas"]) == 2
    assert np.linalg.norm(data["problem"]["thetas"], axis=1) == pytest.approx([1, 1])
    plot = (tmp_path / "p.svg").read_text()
    assert "mine.csv: d=2" in plot
    assert "range over 2 theta and 1 seeds" in plot
    assert "The printed algorithm is not private" in out.stdout
    assert any(
        a < b
        for one in data["algorithms"]
        for a, b in zip(one["curve"]["low"], one["curve"]["high"], strict=True)
    )


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",", ";", "separated by ';'"),
        (
            "old,a,0.5,0.1",
            "old,a,0.5,inf",
            "'price' must hold finite numbers: row 3 (context 'old', action 'a')",
        ),
        ("old,a,0.5,0.1", "old,a,0.5,x", "row 3 (context 'old', action 'a') has 'x'"),
        ("old,a,0.5,0.1,-0.8\n", "", "context 'old' has none for action 'a'"),
        ("old,a", "old,b", "context 'old' has none for action 'a'"),
        ("old,a,0.5,0.1", "old,a,0.5,0.9", "found 1.20416 in row 3"),
        ("old,a,0.5,0.1", "old,a,0.5", "row 3 after the header has 4 columns"),
    ],
)
def test_a_bad_table_is_told_where(tmp_path: Path, old, new, message):
    path = tmp_path / "bad.csv"
    path.write_text(CSV.replace(old, new))
    with pytest.raises(ValueError, match=r"bad\.csv") as caught:
        Problem.from_csv(path)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--contexts FILE.csv or --problem NAME"),
        (("--problem", "case-1"), "problem is one of random, line, f"),
        (("--contexts", "none.csv"), "there is no file"),
        (("--contexts", "mine.csv", "--actions", "3"), "actions=2, not 3"),
        (("--contexts", "mine.csv", "--theta", "1"), "theta has shape (2,)"),
        (("--contexts", "mine.csv", "--theta", "a,b"), "theta is numbers"),
        (("--contexts", "mine.csv", "--theta", "2,0"), "norm at most 1"),
        (("--problem", "f", "--target", "1"), "target is a share"),
        (("--problem", "f", "--alpha", "2"), "alpha lies in (0, 1]"),
        (("--problem", "f", "--seeds", "0"), "seeds is at least 1"),
        (("--problem", "f", "--draws", "0"), "draws is at least 1"),
        (("--problem", "f", "--width", "0.1"), "give both or neither"),
        (("--problem", "f", "--json", "no/such/folder.json"), "does not exist"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, arguments, message, monkeypatch):
    from typer.testing import CliRunner

    from verification.cli import app

    (tmp_path / "mine.csv").write_text(CSV)
    monkeypatch.chdir(tmp_path)
    out = CliRunner().invoke(app, ["plan", *arguments], env={"COLUMNS": "200"})
    assert out.exit_code == 2, out.output
    assert message in out.output
    assert len(out.stderr.strip().splitlines()) == 1
