"""Odd arguments to every public function and class of lpcb: a result without NaN, or a ValueError that names
an argument. Whatever is not called here stands on a list with the reason."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import lpcb
from lpcb import boundary, compare, elimination, partition, problem, protocol, state, sums
from lpcb import spec as specs
from lpcb.engines import aggregate, stream
from lpcb.engines import run as engine
from lpcb.lplr import ci, pcr, update
from lpcb.mechanisms import Laplace, SymmetricLaplace, Wishart
from lpcb.problem import Problem
from lpcb.spec import REPAIRS, Spec
from tests.runs import small_problem, small_spec, uniform, view_after
from tests.support.exempt import EXEMPT
from tests.support.fuzz import cases, mostly, odd_arrays, odd_numbers, total
from tests.support.public import public_names
from tests.test_fuzz_runs import CALLED

SPEC = small_spec()
PROBLEM = small_problem()
SERVER = protocol.Server(SPEC)
SAVED = state.dumps(SERVER)
CLIENT = protocol.Client(0, SPEC)
POLICY = uniform(PROBLEM)
ORACLE = aggregate.fit(PROBLEM, SPEC, POLICY[None], 500, np.random.default_rng(0))
SHORT = small_spec(horizon=300, beta=0.5)

unit = st.floats(0, 1)
inner = st.floats(1e-3, 1)
size = st.integers(1, 5)
count = st.integers(0, 10**6)
flag = st.booleans()
rng = st.integers(0, 5).map(np.random.default_rng)
spec = st.just(SPEC)
a_problem = st.just(PROBLEM)
reward = st.sampled_from(problem.REWARDS)
seed = st.integers(0, 9)
horizon = st.sampled_from([200, 700, 10**6, 10**12])
short_horizon = st.sampled_from([8, 100, 300])
vector = st.lists(st.floats(-1, 1), min_size=2, max_size=2).map(np.array)
matrix = vector.map(lambda v: np.outer(v, v))
points = st.lists(st.floats(-0.7, 0.7), min_size=6, max_size=6).map(lambda v: np.array(v).reshape(3, 2))
bools = st.sampled_from([np.array([True, True]), np.array([False, True]), np.array([False, False])])
LAPLACE = Laplace(np.ones(2), 2.0, 0.5)
SYMMETRIC = SymmetricLaplace(np.array(1.0), 3.0, 0.5, 2)
WISHART = Wishart(np.array(1.0), 1.0, 0.5, 2)
FRAME = {"context": ["a", "a", "b", "b"], "action": [0, 1, 0, 1], "x": [0.1, 0.2, -0.3, 0.4]}

Strategies = dict[str, st.SearchStrategy[Any]]
DATA: Strategies = {"phi": st.just([0.5, -0.5]), "action": st.integers(0, 1), "y": st.floats(-1, 1)}
UPDATE, INTERVAL = (st.just(view_after(SPEC, PROBLEM, batches)) for batches in (2, 3))
policy = st.sampled_from([POLICY, np.eye(2)[[0, 1, 0, 1]], POLICY.tolist()])
odd_policies = st.sampled_from([0 * POLICY, -POLICY, POLICY * math.nan, POLICY * 1e308, POLICY[1:], POLICY.T])
projectors = st.sampled_from([np.eye(2), np.diag([0.0, 1.0]), np.zeros((2, 2)), [[0.5, 0.5], [0.5, 0.5]]])
SUM: Strategies = {"scale": inner, "n": count, "rng": rng, "shape": st.sampled_from([None, (), (2,), (2, 3)])}
SIZES: Strategies = {"d": size, "actions": size, "contexts": size, "seed": seed, "reward": reward}
PARAMETERS: Strategies = {"d": size, "actions": size, "horizon": st.integers(8, 10**18), "alpha": inner}
PARAMETERS |= {"beta": st.none() | st.floats(0.01, 0.5), "delta": st.none() | inner}
PARAMETERS |= {"activation": unit, "width": unit}
NOISE: Strategies = {"unit": inner.map(np.array), "sensitivity": inner, "epsilon": inner}
TABLE = {"loss": ("value", "other"), "log_density": ("output", "value")}


def _noise(where: str, mechanism: Any, table: st.SearchStrategy[Any]) -> dict[str, Any]:
    """The four methods that all randomizers have."""
    found: dict[str, Any] = {
        f"{where}.release": (
            mechanism.release,
            {"value": table, "rng": rng, "size": st.none() | st.integers(0, 3)},
        ),
        f"{where}.release_sum": (mechanism.release_sum, {"total": table, "n": count, "rng": rng}),
    }
    for name, tables in TABLE.items():
        found[f"{where}.{name}"] = (getattr(mechanism, name), dict.fromkeys(tables, table))
    return found


FUNCTIONS: dict[str, tuple[Callable[..., Any], Strategies]] = {
    "lpcb.boundary.check_number": (lambda value: boundary.check_number("value", value), {"value": unit}),
    "lpcb.boundary.numbers_of": (lambda value: boundary.numbers_of("value", value), {"value": points}),
    "lpcb.boundary.short": (boundary.short, {"value": st.integers().map(lambda i: 10 ** (i % 9999))}),
    "lpcb.engines.aggregate.check_reward": (aggregate.check_reward, {"problem": mostly(a_problem)}),
    "lpcb.engines.aggregate.fit": (
        aggregate.fit,
        {"problem": mostly(a_problem), "spec": spec, "n": st.integers(1, 10**6), "rng": rng}
        | {"policy": mostly(policy, odd_policies).map(lambda p: np.array([p]))},
    ),
    "lpcb.engines.run.check": (engine.check, {"problem": mostly(a_problem), "spec": spec}),
    "lpcb.engines.run.check_policy": (
        lambda policy: engine.check_policy(PROBLEM, policy, seeds=False),
        {"policy": mostly(policy, odd_policies)},
    ),
    "lpcb.engines.run.covers": (
        engine.covers,
        {"f_hat": vector, "delta": vector.map(np.abs), "truth": vector},
    ),
    "lpcb.engines.run.play": (
        engine.play,
        {"problem": mostly(a_problem), "spec": spec, "seeds": st.just(1), "progress": st.none()}
        | {"collect": st.just(lambda tau, policy: ORACLE)},
    ),
    "lpcb.engines.stream.collect_epoch": (
        stream.collect_epoch,
        {"problem": mostly(a_problem), "server": st.builds(lambda: protocol.Server(SHORT)), "rng": rng}
        | {"policy": mostly(policy, odd_policies), "record": st.none()},
    ),
    "lpcb.lplr.aggregate.Oracle.route": (
        ORACLE.route,
        {"phi": points, "oracle": st.sampled_from([[0, 1, 0], [0.0, 1.0, 1.0], [0, 1, 2], [-1, 0, 0]])},
    ),
    "lpcb.lplr.ci.cap": (ci.cap, {"spec": spec}),
    "lpcb.lplr.pcr.project": (pcr.project, {"matrix": matrix, "rest": projectors}),
    "lpcb.lplr.pcr.top_component": (pcr.top_component, {"matrix": matrix, "rest": projectors}),
    "lpcb.lplr.update.mechanisms": (
        update.mechanisms,
        {"spec": spec, "h": size, "keys": st.lists(count, max_size=3)},
    ),
    "lpcb.lplr.update.residual_range": (update.residual_range, {"spec": spec, "h": size}),
    "lpcb.lplr.update.touched_cells": (update.touched_cells, {"spec": spec}),
    "lpcb.partition.prediction": (partition.prediction, {"spec": spec, "total": vector}),
    "lpcb.protocol.Client": (protocol.Client, {"id": count, "spec": spec}),
    "lpcb.protocol.Client.errors": (CLIENT.errors, {"view": UPDATE | INTERVAL} | DATA),
    "lpcb.protocol.Client.statistics": (CLIENT.statistics, {"view": UPDATE | INTERVAL} | DATA),
    "lpcb.protocol.Server": (protocol.Server, {"spec": spec}),
    "lpcb.spec.check_spec": (specs.check_spec, {"spec": spec}),
    "lpcb.compare.checkpoints": (compare.checkpoints, {"horizon": horizon}),
    "lpcb.compare.scaled_factors": (compare.scaled_factors, {"d": size}),
    "lpcb.elimination.eliminate": (
        elimination.eliminate,
        {"active": bools, "f_hat": vector, "delta": vector.map(np.abs)},
    ),
    "lpcb.elimination.uniform_policy": (elimination.uniform_policy, {"active": bools}),
    "lpcb.engines.aggregate.run": (
        aggregate.run,
        {"problem": a_problem, "spec": spec, "seeds": size, "rng": rng},
    ),
    "lpcb.engines.stream.run": (
        stream.run,
        {"problem": a_problem, "spec": st.just(small_spec(horizon=300, beta=0.5)), "seeds": st.just(0)}
        | {"rng": rng},
    ),
    "lpcb.engines.run.points": (engine.points, {"problem": a_problem, "seeds": size}),
    "lpcb.mechanisms.laplace.Laplace": (Laplace, NOISE),
    "lpcb.mechanisms.symmetric.SymmetricLaplace": (SymmetricLaplace, NOISE | {"d": size}),
    "lpcb.mechanisms.wishart.Wishart": (Wishart, NOISE | {"d": size}),
    **_noise("lpcb.mechanisms.laplace.Laplace", LAPLACE, vector),
    **_noise("lpcb.mechanisms.symmetric.SymmetricLaplace", SYMMETRIC, matrix),
    **_noise("lpcb.mechanisms.wishart.Wishart", WISHART, matrix),
    "lpcb.partition.edges": (partition.edges, {"spec": spec}),
    "lpcb.partition.level": (partition.level, {"spec": spec, "norm": vector.map(np.abs)}),
    "lpcb.partition.key_level": (
        partition.key_level,
        {"spec": spec, "keys": st.lists(count, max_size=3).map(lambda v: np.array(v, dtype=np.int64))},
    ),
    "lpcb.partition.layer_keys": (partition.layer_keys, {"spec": spec, "h": size, "oracles": size}),
    "lpcb.partition.enter": (
        partition.enter,
        {"spec": spec, "phi": points, "oracle": st.just(np.array([0, 1, 0]))},
    ),
    "lpcb.problem.Problem": (
        Problem,
        {"features": points.map(lambda p: p[:, None]), "weights": st.just([0.25, 0.5, 0.25])}
        | {"theta": vector, "reward": reward, "name": st.text(max_size=3)},
    ),
    "lpcb.problem.Problem.draw_reward": (PROBLEM.draw_reward, {"mean": vector, "rng": rng}),
    "lpcb.problem.random": (problem.random, SIZES),
    "lpcb.problem.line": (problem.line, SIZES),
    "lpcb.problem.family_f": (
        problem.family_f,
        {"s": inner, "sign": st.sampled_from([-1, 1]), "reward": reward},
    ),
    "lpcb.problem.theorem_2_1": (
        problem.theorem_2_1,
        {"n": horizon, "alpha": inner, "hypothesis": st.sampled_from([-1, 1]), "reward": reward},
    ),
    "lpcb.problem.theorem_2_2": (
        problem.theorem_2_2,
        {"n": horizon, "c": unit, "hypothesis": st.sampled_from([1, 2]), "reward": reward},
    ),
    "lpcb.problem.case_1": (problem.case_1, {"small": unit, "theta": vector, "reward": reward}),
    "lpcb.problem.case_2": (problem.case_2, {"small": unit, "theta": vector, "reward": reward}),
    "lpcb.problem.build": (
        problem.build,
        {"name": st.sampled_from(["random", "line", "f", "theorem-2.1", "theorem-2.2", "case-1", "case-2"])}
        | {"horizon": horizon, "d": st.none() | size, "actions": st.none() | size}
        | {"contexts": st.none() | size, "alpha": inner, "seed": seed},
    ),
    "lpcb.spec.Spec": (Spec, PARAMETERS | {"repairs": st.just(REPAIRS) | st.just(frozenset())}),
    "lpcb.spec.PAPER": (specs.PAPER, PARAMETERS),
    "lpcb.spec.REPAIRED": (specs.REPAIRED, PARAMETERS),
    "lpcb.spec.Spec.has": (SPEC.has, {"repair": st.sampled_from(sorted(REPAIRS))}),
    "lpcb.spec.Spec.log_term": (SPEC.log_term, {"c": st.floats(1, 100)}),
    "lpcb.spec.Spec.epoch_length": (SPEC.epoch_length, {"tau": size}),
    "lpcb.spec.Spec.batch": (SPEC.batch, {"tau": size}),
    "lpcb.sums.laplace_sum": (sums.laplace_sum, SUM),
    "lpcb.sums.gaussian_sum": (sums.gaussian_sum, SUM),
    "lpcb.sums.sign_sum": (
        sums.sign_sum,
        {"count": st.lists(count, min_size=2, max_size=2).map(np.array), "mean": vector, "rng": rng},
    ),
    "lpcb.sums.multinomial_counts": (
        sums.multinomial_counts,
        {"n": count, "p": unit.map(lambda p: [p, 1 - p]), "rng": rng},
    ),
    "lpcb.sums.wishart_sum_centred": (
        sums.wishart_sum_centred,
        {"d": size, "dof": st.integers(1, 9), "scale": inner, "n": count, "rng": rng, "shape": st.just((2,))},
    ),
    "lpcb.sums.binomial": (sums.binomial, {"n": count, "p": unit, "rng": rng}),
}
ARRAYS = {"active", "f_hat", "delta", "norm", "keys", "phi", "oracle", "features", "weights", "theta", "mean"}
ARRAYS |= {
    "policy",
    "truth",
    "matrix",
    "rest",
    "unit",
    "value",
    "other",
    "output",
    "total",
    "scale",
    "count",
    "n",
    "p",
}

ELSEWHERE = {
    "lpcb.protocol.Client.report": "test_fuzz_server.py, at every step",
    "lpcb.protocol.Server.receive": "test_fuzz_server.py, under fire",
    "lpcb.protocol.Server.replay": "test_fuzz_server.py, under fire",
    "lpcb.protocol.Report": "plain data that Server.receive judges: test_fuzz_server.py",
    "lpcb.protocol.Report.from_json": "test_damaged_reports_and_states_are_refused",
    "lpcb.state.load": "test_damaged_and_odd_files_are_refused_by_name",
    "lpcb.state.loads": "test_damaged_reports_and_states_are_refused",
    "lpcb.problem.Problem.from_csv": "test_odd_tables_of_contexts",
    "lpcb.problem.Problem.from_frame": "test_odd_tables_of_contexts",
    "lpcb.cli.simulate": "a command: test_fuzz_cli.py",
    "lpcb.plan_cli.plan_command": "a command: test_fuzz_cli.py",
}


def test_every_public_name_is_called_or_left_out_for_a_reason() -> None:
    """By name, so that a new function of any module is called too or has a reason of its own."""
    groups = [set(FUNCTIONS), set(ELSEWHERE), CALLED, set(EXEMPT)]
    assert sum(map(len, groups)) == len(set().union(*groups)), "a name stands in two places"
    assert set().union(*groups) == set(public_names(lpcb))
    for module in ("lpcb.elimination", "lpcb.problem", "lpcb.spec", "lpcb.sums", "lpcb.widths"):
        assert not any(name.startswith(f"{module}.") for name in EXEMPT)


@pytest.mark.parametrize("name", FUNCTIONS)
@cases(8, 500)
@given(data=st.data())
def test_odd_arguments_give_a_result_or_are_named(name: str, data: st.DataObject) -> None:
    function, good = FUNCTIONS[name]
    chosen = {
        key: mostly(s, (odd_arrays if key in ARRAYS else odd_numbers)) if key != "problem" else s
        for key, s in good.items()
    }
    total(function, data.draw(st.fixed_dictionaries(chosen)))


CELLS = st.sampled_from(["a", "b", "0", "1", "0.5", "-0.3", "nan", "inf", "", "1e400", "x", '"', "1;2", "é"])
HEADERS = st.sampled_from(["context", "action", "weight", "x", "y", " x", "", "x"])


@cases(40, 2000)
@given(data=st.data())
def test_odd_tables_of_contexts(data: st.DataObject, tmp_path: Path) -> None:
    header = data.draw(st.lists(HEADERS, max_size=5) | st.just(["context", "action", "x"]))
    rows = data.draw(st.lists(st.lists(CELLS, min_size=len(header), max_size=len(header)), max_size=5))
    file = tmp_path / "mine.csv"
    file.write_text("\n".join(",".join(row) for row in [header, *rows]), encoding="utf-8")
    found = total(lambda path: Problem.from_csv(path), {"path": file}, ["mine.csv"])
    assert found is None or isinstance(found, Problem)


@cases(20, 1000)
@given(
    key=st.sampled_from(sorted(FRAME)), value=odd_arrays, theta=mostly(st.none() | st.just([1.0]), odd_arrays)
)
def test_odd_frames(key: str, value: Any, theta: Any) -> None:
    frame: dict[str, Any] = FRAME | {key: value}
    also = [*frame, "column", "features", "weights"]
    total(lambda **given: Problem.from_frame(**given), {"frame": frame, "theta": theta}, also)


DAMAGE = st.sampled_from(["", "null", "NaN", "-1", "1e999", '"x"', "[]", "{}", "true", "0", "999999999999"])


@cases(30, 3000)
@given(start=unit, length=st.integers(0, 20), damage=DAMAGE, saved=flag)
def test_damaged_reports_and_states_are_refused(start: float, length: int, damage: str, saved: bool) -> None:
    client = protocol.Client(0, SPEC)
    report = client.report(SERVER.view, PROBLEM.features[0, 0], 0, 1.0, np.random.default_rng(0))
    text = SAVED if saved else report.to_json()
    at = int(start * len(text))
    damaged = text[:at] + damage + text[at + length :]
    read: Callable[..., Any] = state.loads if saved else protocol.Report.from_json
    found = total(lambda text: read(text), {"text": damaged}, ["lpcb"])
    if isinstance(found, protocol.Server):
        assert all(np.isfinite(table).all() for table in found.sums.values())
        assert state.dumps(found) == state.dumps(state.loads(state.dumps(found)))


@cases(10, 500)
@given(content=st.binary(max_size=9) | st.just(SAVED.encode()), path=mostly(st.none()))
def test_damaged_and_odd_files_are_refused_by_name(content: bytes, path: Any, tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_bytes(content)
    for name in (file, path if not isinstance(path, str) else "\0"):
        found = total(lambda path: state.load(path), {"path": name})
        assert found is None or state.dumps(found) == SAVED


@pytest.mark.parametrize("bad", [math.nan, None, "x", math.inf, -1.0, 10**400])
def test_what_was_accepted_once_is_refused(bad: Any) -> None:
    for make in (
        lambda: Laplace(bad, 1.0, 1.0),
        lambda: Laplace(np.ones(1), 1.0, bad),
        lambda: partition.level(SPEC, bad if bad != math.inf else -1.0),
        lambda: SPEC.epoch_length(bad),
        lambda: sums.laplace_sum(1.0, bad, np.random.default_rng(0)),
    ):
        with pytest.raises(ValueError, match=r"unit|epsilon|norm|tau|n "):
            make()
    with pytest.raises(ValueError, match="active"):
        elimination.uniform_policy(np.array([False, False]))
    with pytest.raises(ValueError, match="contexts"):
        problem.random(2, 2, 99999999999)
