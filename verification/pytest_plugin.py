"""Rows as pytest items, with ``-p verification.pytest_plugin``.

A test file needs no more than ``def test_row(lpcb_row): lpcb_row()``; ``lpcb_repair`` does the same for
every repair that a claim guards. Results travel to the controlling process as JSON text, and at the end
it compares what was collected with what arrived.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from verification import baseline
from verification.execute import Orders, timed_row
from verification.message import failure
from verification.registry import Row, load
from verification.reportfile import write_report
from verification.runner import ROW_TIMEOUT, as_profile, as_variants, assemble, make_orders
from verification.serialise import canonical_json

PROPERTY = "lpcb_row"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("lpcb", "claims as test items")
    group.addoption("--lpcb-profile", default="quick", help="quick, standard or thorough")
    group.addoption("--lpcb-seed", type=int, default=0, help="root of all randomness")
    group.addoption("--lpcb-variant", default="all", help="all, paper or repaired")
    group.addoption(
        "--lpcb-claims",
        action="append",
        default=[],
        metavar="MODULE",
        # Without the equals sign pytest takes a path for the place where its own settings are.
        help="a module or .py file with claims, written --lpcb-claims=MODULE",
    )
    group.addoption("--lpcb-baseline", type=Path, help="expectations over the committed ones")
    group.addoption("--lpcb-report", type=Path, metavar="DIR", help="write the reports of the rows here")


def pytest_configure(config: pytest.Config) -> None:
    try:
        config.pluginmanager.register(RowsPlugin(config), "lpcb-rows")
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None


class RowsPlugin:
    """The rows of one pytest session: parametrises them, runs them, and counts them at the end."""

    def __init__(self, config: pytest.Config) -> None:
        option = config.getoption
        self.orders: Orders = make_orders(
            option("--lpcb-claims"), as_profile(option("--lpcb-profile")), option("--lpcb-seed"), ROW_TIMEOUT
        )
        self.variants = as_variants(option("--lpcb-variant"))
        if self.orders.modules:
            load(self.orders.modules)  # a wrong option is said at once, not while collecting
        self.expected = baseline.expectations(option("--lpcb-baseline"))
        self.directory: Path | None = option("--lpcb-report")
        self.counts = not hasattr(config, "workerinput") and not option("collectonly")
        self.collected: dict[str, Row] = {}
        self.received: dict[str, dict[str, Any]] = {}

    @cached_property
    def rows(self) -> list[Row]:
        """Looked for when a test asks for rows: a broken claim must not keep other tests from running."""
        return load(self.orders.modules).rows(variants=self.variants)

    @cached_property
    def repairs(self) -> list[Row]:
        return load(self.orders.modules).repair_rows(self.rows)

    @cached_property
    def by_id(self) -> dict[str, Row]:
        try:
            return {item_id(row): row for row in [*self.rows, *self.repairs]}
        except Exception:
            return {}  # collecting the tests that ask for rows has failed already, and says why

    def run(self, row: Row) -> dict[str, Any]:
        result: dict[str, Any] = timed_row(row, self.orders)["row"]
        return result

    def complaint(self, row: Row, result: dict[str, Any]) -> str | None:
        """Why the row fails, or None."""
        orders = self.orders
        if row.without:
            if result["verdict"] == "REFUTED":
                return None
            missing = f"{result['title']} ({row.claim}) is expected to be REFUTED without {min(row.without)}"
            return f"{missing}, and is {result['verdict']}: {result['reason']}"
        if baseline.judge(result, orders.profile, self.expected)["passed"]:
            return None
        expectation = baseline.find(result, orders.profile, self.expected)
        report = self.directory / "report.json" if self.directory else None
        return failure(result, expectation, orders.profile, orders.seed, report, orders.modules)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        for fixture, kind in (("lpcb_row", "rows"), ("lpcb_repair", "repairs")):
            if fixture in metafunc.fixturenames:
                rows: list[Row] = getattr(self, kind)
                metafunc.parametrize(fixture, rows, ids=[item_id(row) for row in rows], indirect=True)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self._collect([item.nodeid for item in session.items])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        self._collect(ids)

    def _collect(self, nodes: Sequence[str]) -> None:
        """Under xdist the controller knows items by their names alone."""
        for node in nodes:
            name = node.rpartition("[")[2].removesuffix("]")
            if name in self.by_id:
                self.collected[node] = self.by_id[name]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if self.counts and name == PROPERTY:
                self.received[report.nodeid] = json.loads(str(value))

    @property
    def missing(self) -> list[str]:
        return [node for node in self.collected if node not in self.received] if self.counts else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.counts and self.directory is not None and self.collected:
            found = {self.collected[node]: row for node, row in self.received.items()}
            wanted = set(self.collected.values())
            rows, repairs = ([row for row in part if row in wanted] for part in (self.rows, self.repairs))
            write_report(assemble(rows, repairs, found, self.orders, self.expected), self.directory)
        if self.missing and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.missing:
            terminalreporter.section("lpcb: rows without a result", red=True)
            for node in self.missing:
                terminalreporter.line(f"no result arrived for {node}")


def item_id(row: Row) -> str:
    """How pytest names the row: ``lemma-4.2-psi-paper``."""
    return row.name.replace(":", "-")


@pytest.fixture
def lpcb_row(request: pytest.FixtureRequest) -> Callable[[], None]:
    """Runs one row, sends its result home, and fails with a sentence when it is not as expected."""
    return _checker(request)


@pytest.fixture
def lpcb_repair(request: pytest.FixtureRequest) -> Callable[[], None]:
    """The same with one repair switched off: fails unless the row is REFUTED."""
    return _checker(request)


def _checker(request: pytest.FixtureRequest) -> Callable[[], None]:
    plugin = request.config.pluginmanager.get_plugin("lpcb-rows")
    assert isinstance(plugin, RowsPlugin)
    row: Row = request.param

    def check() -> None:
        result = plugin.run(row)
        request.node.user_properties.append((PROPERTY, canonical_json(result)))
        if complaint := plugin.complaint(row, result):
            pytest.fail(complaint, pytrace=False)

    return check
