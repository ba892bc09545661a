"""The trust boundary: what a server accepts, what it remembers, and that replays agree bit for bit."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpcb import state
from lpcb.protocol import Client, Report, Server
from tests.runs import served, small_problem, small_spec, view_after

PROBLEM = small_problem()


def server_at(batches: int) -> Server:
    """A server that waits for batch ``batches`` of its first epoch and has one report in it."""
    server = Server(small_spec())
    server.begin(view_after(server.spec, PROBLEM, batches))
    server.receive(fresh_report(server, id=0))
    return server


def fresh_report(server: Server, **changes: object) -> Report:
    report = Client(10**6, server.spec).report(
        server.view, PROBLEM.features[0, 0], 0, 1.0, np.random.default_rng(len(server.ids))
    )
    return replace(report, **changes)  # type: ignore[arg-type]


def damaged(report: Report, how: Callable[[np.ndarray], np.ndarray]) -> Report:
    name = next(iter(report.tables))
    return replace(report, tables=report.tables | {name: how(report.tables[name].copy())})


def with_value(value: float) -> Callable[[np.ndarray], np.ndarray]:
    def put(table: np.ndarray) -> np.ndarray:
        table.flat[0] = value
        return table

    return put


WRONG: dict[str, tuple[Callable[[Report], Report], str]] = {
    "epoch": (lambda r: replace(r, epoch=r.epoch + 1), "epoch"),
    "layer": (lambda r: replace(r, layer=7), "layer"),
    "phase": (lambda r: replace(r, phase="other"), "phase"),  # type: ignore[arg-type]
    "nan": (lambda r: damaged(r, with_value(np.nan)), "NaN"),
    "poison": (lambda r: damaged(r, with_value(1e300)), "above"),
    "infinity": (lambda r: damaged(r, with_value(np.inf)), "infinity"),
    "shape": (lambda r: damaged(r, lambda t: t[:-1]), "shape"),
    "integers": (lambda r: damaged(r, lambda t: t.astype(np.int64)), "float64"),
    "missing table": (lambda r: replace(r, tables={}), "tables"),
    "extra table": (lambda r: replace(r, tables=r.tables | {"phi": np.zeros(2)}), "tables"),
    "used id": (lambda r: replace(r, id=0), "received before"),
    "negative id": (lambda r: replace(r, id=-1), "id"),
    "text id": (lambda r: replace(r, id="7"), "id"),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("batches", [0, 1, 2, 3])
@pytest.mark.parametrize("wrong", WRONG)
def test_malformed_reports_are_refused_and_change_nothing(batches: int, wrong: str) -> None:
    server = server_at(batches)
    report = fresh_report(server)
    assert report.tables[next(iter(report.tables))].size
    before = state.dumps(server)
    spoil, named = WRONG[wrong]
    with pytest.raises(ValueError, match=named):
        server.receive(spoil(report))
    assert state.dumps(server) == before
    server.receive(report)
    assert state.dumps(server) != before


def test_replayed_reports_give_the_same_state_bit_for_bit() -> None:
    server, reports = served(small_spec(), PROBLEM, seed=1, epochs=2)
    texts = [report.to_json() for report in reports]
    again = Server(server.spec).replay(Report.from_json(text) for text in texts)
    assert state.dumps(again) == state.dumps(server)
    phi = PROBLEM.features.reshape(-1, 2)
    for mine, other in zip(server.oracles, again.oracles, strict=True):
        for a, b in zip(mine(phi, np.tile([0, 1], 4)), other(phi, np.tile([0, 1], 4)), strict=True):
            assert np.array_equal(a, b)


@settings(max_examples=10, deadline=None)
@given(st.integers(1, 400))
def test_saved_server_continues_as_if_never_stopped(stop: int) -> None:
    server, reports = served(small_spec(), PROBLEM, seed=1)
    stop = min(stop, len(reports))
    half = Server(server.spec).replay(reports[:stop])
    restored = state.loads(state.dumps(half))
    assert state.dumps(restored) == state.dumps(half)
    assert state.dumps(restored.replay(reports[stop:])) == state.dumps(server)


def test_saving_is_atomic_and_foreign_files_are_refused(tmp_path: Path) -> None:
    server, _ = served(small_spec(), PROBLEM, seed=1)
    file = tmp_path / "server.json"
    state.save(server, file)
    assert state.dumps(state.load(file)) == state.dumps(server)
    assert [path.name for path in tmp_path.iterdir()] == ["server.json"]
    with pytest.raises(FileNotFoundError):
        state.save(server, tmp_path / "nowhere" / "server.json")
    text = file.read_text()
    version = json.loads(text) | {"version": 99}
    dtype = text.replace("float64", "object", 1)
    for bad in (text[: len(text) // 2], "[]", "{}", json.dumps(version), dtype):
        with pytest.raises(ValueError, match="not a saved lpcb server"):
            state.loads(bad)


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "other"},
        {"phase": "interval"},
        {"received": -3},
        {"received": 10**6},
        {"received": float("inf")},
        {"received": 1.5},
        {"ids": ["a", None]},
        {"epoch": 77},
        {"layer": 2},
        {"oracles": [[]]},
        {"sums": {}},
    ],
)
def test_impossible_states_are_refused(change: dict[str, object]) -> None:
    good = json.loads(state.dumps(served(small_spec(), PROBLEM, seed=1)[0]))
    assert state.loads(json.dumps(good)).view.epoch == 2
    with pytest.raises(ValueError, match="not a saved lpcb server"):
        state.loads(json.dumps(good | change))


def test_clients_refuse_views_that_would_cost_them_privacy() -> None:
    """Another specification, or directions that are not orthonormal, could make phi_h outgrow its noise."""
    view = view_after(small_spec(), PROBLEM, 2)
    data, rng = ([0.9, 0.1], 0, 1.0), np.random.default_rng(0)
    Client(0, view.spec).report(view, *data, rng)
    long = replace(view, layers=tuple(replace(bins, u=30 * bins.u) for bins in view.layers))
    with pytest.raises(ValueError, match="unit vectors"):
        Client(0, view.spec).report(long, *data, rng)
    with pytest.raises(ValueError, match="another specification"):
        Client(0, small_spec(alpha=0.5)).report(view, *data, rng)


def test_what_is_published_cannot_be_changed() -> None:
    view = view_after(small_spec(), PROBLEM, 3)
    assert view.components is not None
    for array in (view.layers[0].theta, view.components.s):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_a_server_that_cannot_finish_stays_stuck_and_says_so() -> None:
    """As printed, Algorithm 4 may divide by zero; no later report may slip past that."""
    server = Server(small_spec(repairs=frozenset()))
    report = fresh_report(server)
    server.sums["count"] += 10.0 * server.batch
    server.sums["matrix"] -= 1e6 * np.eye(2)
    server.received = server.batch - 1
    for id_ in (1, 2):
        with pytest.raises(ArithmeticError, match="eigenvalue-guard"):
            server.receive(replace(report, id=id_))
    assert server.received == server.batch


@pytest.mark.parametrize("bad", ["", "[]", "{}", '{"format": "other", "version": 1}', '{"format":'])
def test_foreign_report_text_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="not an lpcb report"):
        Report.from_json(bad)


def test_report_describes_itself() -> None:
    server = server_at(1)
    data = json.loads(fresh_report(server).to_json())
    assert {key: data[key] for key in ("format", "version", "epoch", "layer", "phase")} == {
        "format": "lpcb-report",
        "version": 1,
        "epoch": 1,
        "layer": 1,
        "phase": "interval",
    }


@pytest.mark.parametrize(
    ("phi", "action", "y", "named"),
    [
        ([1.0, 1.0], 0, 0.0, "phi"),
        ([1.0], 0, 0.0, "phi"),
        ([np.nan, 0.0], 0, 0.0, "phi"),
        ([0.5, 0.0], 2, 0.0, "action"),
        ([0.5, 0.0], -1, 0.0, "action"),
        ([0.5, 0.0], 0.5, 0.0, "action"),
        ([0.5, 0.0], 0, 1.5, "y "),
        ([0.5, 0.0], 0, np.nan, "y "),
    ],
)
def test_clients_refuse_data_outside_the_model(phi: list[float], action: float, y: float, named: str) -> None:
    server = server_at(1)
    with pytest.raises(ValueError, match=named):
        Client(0, server.spec).report(server.view, phi, action, y, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: Server(None), "spec"),  # type: ignore[arg-type]
        (lambda: Server(small_spec()).receive(None), "report"),  # type: ignore[arg-type]
        (lambda: Server(small_spec()).replay([1]), "report"),  # type: ignore[list-item]
        (lambda: Server(small_spec()).replay(1), "reports"),  # type: ignore[arg-type]
        (lambda: Client("x", small_spec()), "id"),  # type: ignore[arg-type]
        (lambda: Client(0, None), "spec"),  # type: ignore[arg-type]
        (lambda: Client(0, small_spec()).statistics(None, [0.5, 0.0], 0, 0.0), "view"),  # type: ignore[arg-type]
        (lambda: Client(0, small_spec()).errors(Server(small_spec()).view, [0.5, 0.0], 0, 0.0), "view"),
        (lambda: state.load(None), "path"),  # type: ignore[arg-type]
    ],
)
def test_what_is_of_the_wrong_kind_is_named(call: Callable[[], object], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        call()


def test_a_file_that_is_not_text_is_named(tmp_path: Path) -> None:
    file = tmp_path / "server.json"
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match=r"path .*server\.json"):
        state.load(file)


@pytest.mark.parametrize("batches", [0, 1, 2, 3])
def test_cells_and_noise_do_not_depend_on_the_users_data(batches: int) -> None:
    """With equal randomness two users' reports differ by exactly the difference of their tables."""
    server = server_at(batches)
    view, one, two = server.view, ([0.9, 0.1], 0, 1.0), ([0.0, -0.02], 1, -0.3)
    client = Client(5, view.spec)
    reports = [client.report(view, *data, np.random.default_rng(9)) for data in (one, two)]
    if view.phase == "interval":
        tables = [{"error": client.errors(view, *data)} for data in (one, two)]
    else:
        raw = [client.statistics(view, *data) for data in (one, two)]
        tables = [{"count": t.count, "vector": t.vector, "matrix": t.matrix} for t in raw]
    for name in reports[0].tables:
        noise = [report.tables[name] - table[name] for report, table in zip(reports, tables, strict=True)]
        assert np.allclose(noise[0], noise[1], atol=1e-9)
