"""A server under fire: reports out of order, twice, of wrong shape or value. A refusal changes nothing."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lpcb.protocol import Client, Report, Server
from lpcb.state import dumps, loads
from tests.runs import small_problem, small_spec
from tests.support.fuzz import NUMBERS, OTHERS, cases, total

SPEC = small_spec()
PROBLEM = small_problem()
ODD = st.sampled_from([*NUMBERS, *OTHERS])
TABLES = st.sampled_from([math.nan, math.inf, -math.inf, 1e61, -1e200])


class Fire(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.server, self.rng = Server(SPEC), np.random.default_rng(0)
        self.accepted: list[Report] = []

    def fresh(self, cell: int = 0) -> Report:
        x, a = divmod(cell % (PROBLEM.contexts * PROBLEM.actions), PROBLEM.actions)
        client = Client(len(self.server.ids), SPEC)
        return client.report(self.server.view, PROBLEM.features[x, a], a, 1.0, self.rng)

    def refused(self, report: Any) -> None:
        before = dumps(self.server)
        with pytest.raises(ValueError):
            self.server.receive(report)
        assert dumps(self.server) == before

    @rule(cells=st.lists(st.integers(0, 7), min_size=1, max_size=20))
    def good(self, cells: list[int]) -> None:
        for cell in cells:
            report = self.fresh(cell)
            self.server.receive(report)
            self.accepted.append(report)

    @precondition(lambda self: self.accepted)
    @rule(which=st.integers(0, 10**6))
    def again(self, which: int) -> None:
        """A report that was received, as it was, or with the address of the present batch."""
        old, view = self.accepted[which % len(self.accepted)], self.server.view
        self.refused(old)
        self.refused(replace(old, epoch=view.epoch, layer=view.layer, phase=view.phase))

    @rule(field=st.sampled_from(["epoch", "layer", "phase"]), value=ODD)
    def misaddressed(self, field: str, value: Any) -> None:
        report = self.fresh()
        if value is not getattr(report, field) and not _equal(value, getattr(report, field)):
            self.refused(replace(report, **{field: value}))

    @rule(value=st.sampled_from([-1, math.nan, 0.5, True, None, "0", [], -(10**30)]))
    def misnamed(self, value: Any) -> None:
        self.refused(replace(self.fresh(), id=value))

    @rule(value=TABLES, at=st.integers(0, 10**6))
    def poisoned(self, value: float, at: int) -> None:
        report = self.fresh()
        for name, table in report.tables.items():
            if table.size:
                bad = table.copy()
                bad.flat[at % table.size] = value
                self.refused(replace(report, tables=report.tables | {name: bad}))

    @rule(value=ODD)
    def no_report(self, value: Any) -> None:
        """What is no Report, and a Report that is nothing but its type."""
        self.refused(value)
        self.refused(Report)
        self.refused(vars(self.fresh()))
        self.refused(replace(self.fresh(), tables=value))
        before = dumps(self.server)
        with pytest.raises(ValueError, match="report"):
            self.server.replay([value] if isinstance(value, str | bytes | list | tuple | dict) else value)
        assert dumps(self.server) == before

    @rule()
    def misshapen(self) -> None:
        report = self.fresh()
        self.refused(replace(report, tables={}))
        for more in ("more", 1, None):
            self.refused(replace(report, tables=report.tables | {more: np.zeros(1)}))
        for name, table in report.tables.items():
            for bad in (table[None], table.astype(np.float32), table.tolist(), None, np.zeros(3), "table"):
                self.refused(replace(report, tables=report.tables | {name: bad}))

    @rule(value=ODD)
    def client_with_odd_data(self, value: Any) -> None:
        client, view = Client(10**6, SPEC), self.server.view
        phi = PROBLEM.features[0, 0]
        for arguments in ((value, 0, 1.0), (phi, value, 1.0), (phi, 0, value)):
            words = dict(zip(("phi", "action", "y"), arguments, strict=True))
            report = total(lambda **given: client.report(view, **given, rng=self.rng), words)
            assert report is None or all(np.isfinite(t).all() for t in report.tables.values())

    @invariant()
    def whole(self) -> None:
        server = self.server
        assert len(server.ids) == len(self.accepted)
        assert 0 <= server.received < server.batch
        assert all(np.isfinite(table).all() for table in server.sums.values())

    def teardown(self) -> None:
        """The state is a function of the accepted reports, and survives being saved."""
        other = Server(SPEC)
        for report in self.accepted:
            other.receive(Report.from_json(report.to_json()))
        assert dumps(other) == dumps(self.server) == dumps(loads(dumps(self.server)))


def _equal(one: Any, two: Any) -> bool:
    return not isinstance(one, np.ndarray | list | tuple | dict) and one == two


TestFire = Fire.TestCase
TestFire.settings = settings(cases(5, 300), stateful_step_count=8)
