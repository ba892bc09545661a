"""The intervals of Algorithm 5 once more, from the formula alone: what the certificate speaks of is the code.

The certificate of :mod:`verification.experiments.coverage` and the search for worst points take for granted
that a point's interval is the sum of its bins' parts. Here that sum is formed from the fitted bins, and held
against what the algorithm returned for the same points.
"""

from __future__ import annotations

import math

import numpy as np

from lpcb.arrays import Array
from lpcb.partition import Routed
from verification.experiments.coverage import Fits, Layer, largest


def expected(data: Fits, layer: Layer, at: Routed, eta: Array) -> Array:
    """eta_hat after ``layer`` of points that came with ``eta``."""
    spec, bins = data.spec, layer.bins
    rows = np.searchsorted(bins.keys, at.keys)
    open_, d = bins.open[rows], spec.d
    psi = np.where(open_, bins.psi[rows], 1.0)
    root_s = np.sqrt(np.where(open_, bins.s[rows], 1.0))
    width = spec.width / spec.alpha
    A = 300 * width * spec.log_term(48) * spec.gamma**2 * (d + 1) ** 4 / (psi * math.sqrt(bins.n))
    E = bins.error[rows] * np.abs((bins.u[rows] * at.rest).sum(axis=1)) / root_s
    if spec.has("inactive-width"):
        left = eta + np.sqrt((at.rest**2).sum(axis=1))
    else:
        left = spec.gamma ** -at.k.astype(np.float64)
    top = 2.0 if spec.has("width-cap") else 1.0
    return np.where(at.stopped, eta, np.minimum(top, np.where(open_, eta + A + E, left)))


def formula_gap(data: Fits) -> Array:
    """Per fit, the largest difference between an interval and the formula, over all probes and layers.

    ``dummy-width`` apart: where it is switched off but ``inactive-width`` is not, neither form is printed.
    """
    worst = np.zeros(data.fits)
    eta = np.zeros(len(data.probes[0].keys))
    for h, layer in enumerate(data.layers):
        before, after = data.probes[h], data.probes[h + 1]
        eta = expected(data, layer, before, eta)
        gap = np.abs(after.eta - eta)
        worst = np.maximum(worst, largest(gap, data.fit_of(after.h, after.keys), data.fits))
    return worst
