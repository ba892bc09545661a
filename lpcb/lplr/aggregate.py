"""Algorithm 6, LPLR-Aggregate: the fitted oracle, an estimate and an interval for every vector."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from lpcb.arrays import Array, Bools, Ints
from lpcb.boundary import kind, numbers_of, short
from lpcb.lplr.ci import interval
from lpcb.partition import Bins, Routed, descend, enter, prediction
from lpcb.problem import TOLERANCE
from lpcb.spec import Spec

_whole = kind(Ints)

Complete = Callable[[int, Bins, Ints, Bins | None], Bins]
"""(h, bins so far, missing keys, parents) -> bins with the missing ones drawn."""


class Oracle:
    """Estimates f_hat and intervals Delta of one or many oracles fitted in one epoch.

    The oracle of Definition 3.1; Lemma 4.5 claims |f_hat(phi) - phi' theta*| <= Delta(phi) for all phi.

    Bins nobody was routed to may be left out of ``layers`` and drawn by ``complete`` when asked for. There is
    one oracle an action, numbered from 0, for each of the ``seeds`` runs side by side.
    """

    def __init__(
        self, spec: Spec, layers: tuple[Bins, ...], complete: Complete | None = None, seeds: int = 1
    ) -> None:
        self.spec = spec
        self.count = seeds * spec.actions
        self._layers = list(layers)
        self._complete = complete

    @property
    def layers(self) -> tuple[Bins, ...]:
        return tuple(self._layers)

    def route(self, phi: Array, oracle: Ints) -> list[Routed]:
        """Each point before layer 1, 2, ..., d and after layer d: the loop of Algorithm 6.

        A vector longer than 1 takes the way of level 0, where no interval is claimed to cover; calling the
        oracle refuses it.
        """
        path = [enter(self.spec, phi, self._numbers(oracle))]
        for h in range(1, len(self._layers) + 1):
            at = path[-1]
            layer = self._with(h, at.keys)
            path.append(descend(self.spec, at, layer, interval(self.spec, at, layer)))
        return path

    def __call__(self, phi: Array, oracle: Ints) -> tuple[Array, Array]:
        """(f_hat, Delta) at each vector ``phi[i]`` of oracle ``oracle[i]`` (Algorithm 6)."""
        phi, oracle = numbers_of("phi", phi, copy=False), self._numbers(oracle)
        if phi.ndim != 2 or phi.shape[1] != self.spec.d or oracle.shape != phi.shape[:1]:
            raise ValueError(f"phi has shape (points, {self.spec.d}) and oracle (points,), not {phi.shape}")
        if not (np.linalg.norm(phi, axis=1) <= 1 + TOLERANCE).all():
            raise ValueError("phi holds vectors of norm at most 1")
        return estimate(self.spec, self.route(phi, oracle)[-1])

    def _numbers(self, oracle: Ints) -> Ints:
        """``oracle`` as an array of numbers of oracles that there are."""
        known = type(oracle) is np.ndarray and oracle.dtype == np.int64  # every epoch comes by here
        numbers = oracle if known else np.asarray(_whole("oracle", oracle), dtype=np.int64)
        if not ((numbers >= 0) & (numbers < self.count)).all():
            raise ValueError(f"oracle holds numbers from 0 to {self.count - 1}, not {short(oracle)}")
        return numbers

    def _with(self, h: int, keys: Ints) -> Bins:
        layer = self._layers[h - 1]
        missing = np.setdiff1d(keys, layer.keys)
        if len(missing) and self._complete is not None:
            parents = self._layers[h - 2] if h > 1 else None
            self._layers[h - 1] = layer = self._complete(h, layer, missing, parents)
        return layer


def estimate(spec: Spec, end: Routed) -> tuple[Array, Array]:
    """f_hat(phi) = sum_h phi_h' theta_{B_h} and Delta(phi) = eta_hat_{B_d}(phi), after the last layer."""
    return prediction(spec, end.total), end.eta


def parents_of(spec: Spec, keys: Ints, parents: Bins | None) -> tuple[Bools, Array]:
    """Whether each bin's parent is open, and the projector I - U U' above it; the root is open."""
    if parents is None:
        return np.ones(len(keys), dtype=bool), np.broadcast_to(np.eye(spec.d), (len(keys), spec.d, spec.d))
    rows = parents.rows(keys // (spec.M + 1))
    return parents.open[rows], parents.rest[rows]
