"""Rows as pytest items, with ``-p verification.pytest_plugin``.

A test file needs no more than ``def test_row(lpcb_row): lpcb_row()``; ``lpcb_repair`` does the same for
every repair that a claim guards. Results travel to the controlling process as JSON text, and at the end
it compares what was collected with what arrived: rows, whatever else their tests are parametrised by.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable, Sequence
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
FIXTURES = ("lpcb_row", "lpcb_repair")
OUTPUT = "lpcb_rows"
"""What a worker of xdist calls the rows that it has collected."""


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
        if self.directory is not None:
            check_folder(self.directory)
        self.counts = not hasattr(config, "workerinput") and not option("collectonly")
        self.collected: dict[str, list[str]] = {}
        """The names of the rows that an item is to run."""
        self.received: dict[tuple[str, str], dict[str, Any]] = {}
        """The result of a row, by item and name."""
        self.trouble: str | None = None

    @cached_property
    def rows(self) -> list[Row]:
        """Looked for when a test asks for rows: a broken claim must not keep other tests from running."""
        return load(self.orders.modules).rows(variants=self.variants)

    @cached_property
    def repairs(self) -> list[Row]:
        return load(self.orders.modules).repair_rows(self.rows)

    @cached_property
    def ids(self) -> dict[str, str]:
        """The names of all rows by what pytest calls them."""
        try:
            return {item_id(row): row.name for row in [*self.rows, *self.repairs]}
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
        for fixture, kind in zip(FIXTURES, ("rows", "repairs"), strict=True):
            if fixture in metafunc.fixturenames:
                rows: list[Row] = getattr(self, kind)
                metafunc.parametrize(fixture, rows, ids=[item_id(row) for row in rows], indirect=True)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = {item.nodeid: names for item in session.items if (names := rows_of(item))}
        if (output := getattr(session.config, "workeroutput", None)) is not None:
            output[OUTPUT] = self.collected

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, node: object, ids: Sequence[str]) -> None:
        """The controller is told names alone: enough until a worker ends and says what the items are."""
        if not self.collected:
            found = ids_in(ids, self.ids)
            self.collected = {item: [self.ids[id] for id in found[item]] for item in found}

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object, error: object) -> None:
        """A worker that has died says nothing, but all workers collect the same."""
        self.collected = (getattr(node, "workeroutput", None) or {}).get(OUTPUT, self.collected)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if self.counts and name == PROPERTY:
                sent = json.loads(str(value))
                self.received[report.nodeid, sent["row"]] = sent["result"]

    @property
    def missing(self) -> list[tuple[str, str]]:
        """Items with the rows that they have no result for."""
        pairs = [(item, name) for item, names in self.collected.items() for name in names]
        return [pair for pair in pairs if pair not in self.received] if self.counts else []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if self.counts and self.directory is not None:
            self.trouble = self._write(self.directory)
        if (self.missing or self.trouble) and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def _write(self, directory: Path) -> str | None:
        """Writes the report on all rows that were collected, or says why there is none."""
        found = {name: result for (_, name), result in self.received.items()}
        wanted = {name for names in self.collected.values() for name in names} | set(found)
        if not wanted:
            return f"none was written to {directory}: no test that was chosen asks for a row"
        rows, repairs = ([row for row in part if row.name in wanted] for part in (self.rows, self.repairs))
        results = {row: found[row.name] for row in [*rows, *repairs] if row.name in found}
        try:
            write_report(assemble(rows, repairs, results, self.orders, self.expected), directory)
        except (OSError, ValueError) as error:  # a ValueError is a damaged study, which is named
            why = error.strerror if isinstance(error, OSError) else error
            return f"it could not be written to {directory} ({why}); what lies there is of an earlier run"
        return None

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self.missing:
            terminalreporter.section("lpcb: rows without a result", red=True)
            for item, name in self.missing:
                terminalreporter.line(f"no result arrived for {item}: {name}")
        if self.trouble:
            terminalreporter.section("lpcb: no report", red=True)
            terminalreporter.line(self.trouble)


def check_folder(path: Path) -> None:
    """Refuses a folder that reports cannot be written to, before the rows are run."""
    try:
        there = next(place for place in (path.absolute(), *path.absolute().parents) if place.exists())
    except OSError as error:
        raise ValueError(f"lpcb-report: {str(path)[:80]!r} cannot be written ({error.strerror})") from None
    if not there.is_dir():
        raise ValueError(f"lpcb-report is a directory to write to, and {str(there)!r} is none")
    if not os.access(there, os.W_OK):
        raise ValueError(f"lpcb-report: {str(there)!r} is not writable")


def rows_of(item: pytest.Item) -> list[str]:
    """The names of the rows that an item is parametrised by, whatever it is called."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    return [params[fixture].name for fixture in FIXTURES if isinstance(params.get(fixture), Row)]


def ids_in(items: Iterable[str], ids: Iterable[str]) -> dict[str, list[str]]:
    """Those of ``ids`` that are parts of an item's name, if any are; of one within another, the longer.

    >>> ids_in(["test_it.py::test[2-toy-mean-paper]@group"], ["mean-paper", "toy-mean-paper", "paper"])
    {'test_it.py::test[2-toy-mean-paper]@group': ['toy-mean-paper']}
    """
    known = "|".join(map(re.escape, sorted(ids, key=len, reverse=True)))
    # What pytest joins ids with, and puts around them.
    pattern = re.compile(rf"(?<![^-\[\]])(?:{known})(?![^-\[\]])")
    return {item: found for item in items if any(found := pattern.findall(item.partition("[")[2]))}


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
        sent = canonical_json({"row": row.name, "result": result})
        request.node.user_properties.append((PROPERTY, sent))
        if complaint := plugin.complaint(row, result):
            pytest.fail(complaint, pytrace=False)

    return check
