"""The trust boundary: clients see raw data and emit reports; the server only ever sees reports.

What a server publishes (:class:`View`) is a function of the reports it has received. A client turns that
view and its own (phi, a, y) into one :class:`Report`: which cells it holds and how large their noise is
follows from the view alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from lpcb.arrays import Array, Ints, group_sum
from lpcb.boundary import check_number, checked, numbers_of, short
from lpcb.lplr import ci
from lpcb.lplr.aggregate import Oracle, parents_of
from lpcb.lplr.pcr import Components, pcr
from lpcb.lplr.update import Statistics, UpdateMechanisms, mechanisms, statistics
from lpcb.mechanisms import Laplace
from lpcb.partition import Bins, Routed, descend, enter, layer_keys
from lpcb.problem import TOLERANCE
from lpcb.spec import Spec, check_spec

Phase = Literal["update", "interval"]
VERSION = 1
MAX_ENTRY = 1e60
"""Larger entries are refused: noise never is that large, and sums of them stay finite, so that no earlier
user can make a later client's arithmetic overflow in the one cell it fills."""


@dataclass(frozen=True, eq=False)
class Report:
    """What one user sends: private statistics for every cell of one layer, addressed to one batch."""

    id: int
    epoch: int
    layer: int
    phase: Phase
    tables: dict[str, Array]

    def to_json(self) -> str:
        head = {"format": "lpcb-report", "version": VERSION, "id": self.id, "epoch": self.epoch}
        tables = {name: table.tolist() for name, table in self.tables.items()}
        return json.dumps(head | {"layer": self.layer, "phase": self.phase, "tables": tables})

    @classmethod
    def from_json(cls, text: str) -> Report:
        """Reads what :meth:`to_json` wrote; floats survive bit for bit."""
        try:
            data = json.loads(text)
            if data["format"] != "lpcb-report" or data["version"] != VERSION:
                raise ValueError(f"format {data['format']!r} version {data['version']!r}")
            tables = {name: _numbers(table) for name, table in data["tables"].items()}
            return cls(data["id"], data["epoch"], data["layer"], data["phase"], tables)
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise ValueError(f"not an lpcb report of version {VERSION}: {error}") from None


def _numbers(table: object) -> Array:
    array = np.array(table)
    if array.dtype.kind not in "if" and array.size:
        raise ValueError(f"a table of {array.dtype} is not a table of numbers")
    return array.astype(np.float64)


@dataclass(frozen=True, eq=False)
class View:
    """What the server publishes while it collects one batch.

    ``layers`` are this epoch's finished layers, ``components`` the fit of the current one once its
    update batch is in. ``oracles`` are those of finished epochs, by which users choose their actions.
    """

    spec: Spec
    epoch: int
    layer: int
    phase: Phase
    layers: tuple[Bins, ...]
    components: Components | None
    oracles: tuple[Oracle, ...]

    @cached_property
    def keys(self) -> Ints:
        return layer_keys(self.spec, self.layer, self.spec.actions)

    @cached_property
    def update(self) -> UpdateMechanisms:
        return mechanisms(self.spec, self.layer, self.keys)

    @cached_property
    def interval(self) -> Laplace:
        if self.components is None:
            raise ValueError("the interval batch comes after the update batch")
        return ci.mechanism(self.spec, self.keys, self.components)

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Shapes of the tables that a report to this batch holds."""
        cells, d = len(self.keys), self.spec.d
        if self.phase == "interval" and self.components is not None:
            return {"error": (int(self.components.active.sum()),)}
        return {"count": (cells,), "vector": (cells, d), "matrix": (cells, d, d)}

    def check(self) -> None:
        """Refuses a view whose directions are not orthonormal: with those phi_h could outgrow its bin."""
        if not self._sound:
            raise ValueError("the view's directions are not unit vectors orthogonal to those above them")

    @cached_property
    def _sound(self) -> bool:
        fits: list[Bins | Components] = [*self.layers, *([self.components] if self.components else [])]
        for above, fit in zip([None, *self.layers], fits, strict=False):
            keys = self.keys if isinstance(fit, Components) else fit.keys
            _, rest = parents_of(self.spec, keys, above)
            norm = np.linalg.norm(fit.u, axis=1)
            kept = np.linalg.norm(np.einsum("nij,nj->ni", rest, fit.u) - fit.u, axis=1)
            if not (((norm == 0) | (np.abs(norm - 1) < 1e-9)) & (kept < 1e-9)).all():
                return False
        return True


def _check_view(view: View) -> None:
    if not isinstance(view, View):
        raise ValueError(f"view is a View, not {short(view)}")


def _check_id(name: str, value: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError(f"{name} is a whole number of at least 0, not {short(value)}")


@dataclass(frozen=True)
class Client:
    """One user. Raw data goes in, a report comes out."""

    id: int
    spec: Spec

    def __post_init__(self) -> None:
        _check_id("id", self.id)
        check_spec(self.spec)

    @checked
    def report(self, view: View, phi: ArrayLike, action: int, y: float, rng: np.random.Generator) -> Report:
        """This user's private report on having seen reward y for ``action`` with features phi.

        The client keeps its own specification: a server that asks for less noise gets nothing.
        """
        if view.spec != self.spec:
            raise ValueError("the view has another specification than this client agreed to")
        view.check()
        if view.phase == "update":
            noisy = view.update.release(self.statistics(view, phi, action, y), rng)
            tables = {"count": noisy.count, "vector": noisy.vector, "matrix": noisy.matrix}
        else:
            tables = {"error": view.interval.release(self.errors(view, phi, action, y), rng)}
        return Report(self.id, view.epoch, view.layer, view.phase, tables)

    def statistics(self, view: View, phi: ArrayLike, action: int, y: float) -> Statistics:
        """The tables of an update batch before noise. Never leaves the client."""
        at, rewards = self._route(view, phi, action, y)
        return statistics(view.spec, at, view.keys, np.ones(len(rewards)), rewards)

    def errors(self, view: View, phi: ArrayLike, action: int, y: float) -> Array:
        """The table of an interval batch before noise. Never leaves the client."""
        _check_view(view)
        if view.components is None:
            raise ValueError("view is of an update batch: the interval batch comes after it")
        at, _ = self._route(view, phi, action, y)
        rows = np.searchsorted(view.keys, at.keys)
        share = ci.error_share(at, rows, view.components)
        return group_sum(share, rows, len(view.keys))[view.components.active]

    def _route(self, view: View, phi: ArrayLike, action: int, y: float) -> tuple[Routed, Array]:
        _check_view(view)
        spec = view.spec
        known = type(phi) is np.ndarray and phi.dtype == np.float64  # NaN has no norm of at most 1
        vector = np.asarray(phi) if known else numbers_of("phi", phi)
        if vector.shape != (spec.d,) or not np.linalg.norm(vector) <= 1 + TOLERANCE:
            raise ValueError(f"phi is a vector of {spec.d} numbers with norm at most 1; shape {vector.shape}")
        if not -1 <= check_number("y", y) <= 1:
            raise ValueError(f"y lies in [-1, 1], not {y!r}")
        whole = isinstance(action, int | np.integer) and not isinstance(action, bool)
        if not whole or not 0 <= action < spec.actions:
            raise ValueError(f"action is one of 0..{spec.actions - 1}, not {short(action)}")
        if spec.has("joint-actions"):
            points, oracle, rewards = vector[None, :], np.array([action]), np.array([float(y)])
        else:
            # As printed: every other oracle receives the zero vector with reward 0.
            oracle = np.arange(spec.actions)
            points, rewards = np.zeros((spec.actions, spec.d)), np.zeros(spec.actions)
            points[action], rewards[action] = vector, y
        at = enter(spec, points, oracle)
        for layer in view.layers:
            at = descend(spec, at, layer, ci.interval(spec, at, layer))
        return at, rewards


class Server:
    """Sums reports batch by batch and fits layer by layer. Its state is a function of the reports alone."""

    def __init__(self, spec: Spec) -> None:
        check_spec(spec)
        self.spec = spec
        self.ids: set[int] = set()
        self.oracles: list[Oracle] = []
        self.begin(View(spec, 1, 1, "update", (), None, ()))

    def begin(self, view: View) -> None:
        """Starts collecting the batch that ``view`` describes."""
        self.view = view
        self.received = 0
        self.sums = {name: np.zeros(shape) for name, shape in view.shapes.items()}

    @property
    def batch(self) -> int:
        """How many reports the current batch takes."""
        return self.spec.batch(self.view.epoch)

    def receive(self, report: Report) -> None:
        """Adds one report. A malformed one is refused with a ValueError and changes nothing."""
        if self.received == self.batch:
            self._finish_batch()  # failed before, as Algorithm 4 can without its repair: fails again
        self._check(report)
        self.ids.add(report.id)
        for name, table in report.tables.items():
            self.sums[name] += table
        self.received += 1
        if self.received == self.batch:
            self._finish_batch()

    def replay(self, reports: Iterable[Report]) -> Server:
        """Receives all ``reports`` in order; returns itself."""
        if not isinstance(reports, Iterable):
            raise ValueError(f"reports are one Report after another, not {short(reports)}")
        for report in reports:
            self.receive(report)
        return self

    def _check(self, report: Report) -> None:
        if not isinstance(report, Report):
            raise ValueError(f"report is a Report, not {short(report)}")
        view = self.view
        where = (report.epoch, report.layer, report.phase)
        if where != (view.epoch, view.layer, view.phase):
            wanted = f"epoch {view.epoch}, layer {view.layer}, phase {view.phase}"
            raise ValueError(f"report for (epoch, layer, phase) = {where!r}; this batch is {wanted}")
        _check_id("report id", report.id)
        if report.id in self.ids:
            raise ValueError(f"report id {report.id} was received before")
        if not isinstance(report.tables, dict):
            raise ValueError(f"report holds tables by name, not {short(report.tables)}")
        if set(report.tables) != set(view.shapes):
            found = short(list(report.tables))  # names may be of any kind, which cannot be sorted
            raise ValueError(f"report holds tables {found}, expected {sorted(view.shapes)}")
        for name, shape in view.shapes.items():
            table = report.tables[name]
            if not isinstance(table, np.ndarray) or table.shape != shape or table.dtype != np.float64:
                raise ValueError(
                    f"table {name!r} holds float64 numbers in shape {shape}, not {np.shape(table)}"
                )
            if not (np.abs(table) <= MAX_ENTRY).all():
                raise ValueError(f"table {name!r} holds NaN, infinity or entries above {MAX_ENTRY:g}")

    def _finish_batch(self) -> None:
        view, n = self.view, self.batch
        parents = view.layers[-1] if view.layers else None
        parent_open, parent_rest = parents_of(self.spec, view.keys, parents)
        if view.phase == "update":
            sums = Statistics(self.sums["count"], self.sums["vector"], self.sums["matrix"])
            fit = pcr(self.spec, n, view.keys, sums, parent_open, parent_rest)
            self.begin(View(self.spec, view.epoch, view.layer, "interval", view.layers, fit, view.oracles))
            return
        assert view.components is not None
        done = ci.bins(self.spec, n, view.keys, view.components, parent_rest, self.sums["error"])
        layers = (*view.layers, done)
        if view.layer < self.spec.d:
            self.begin(View(self.spec, view.epoch, view.layer + 1, "update", layers, None, view.oracles))
        else:
            self.oracles.append(Oracle(self.spec, layers))
            self.begin(View(self.spec, view.epoch + 1, 1, "update", (), None, tuple(self.oracles)))
