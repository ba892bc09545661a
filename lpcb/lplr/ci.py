"""Algorithm 5, LPLR-CI: how far the estimates in each bin can be off, pointwise."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from lpcb.arrays import Array, Ints, dot
from lpcb.lplr.pcr import Components
from lpcb.lplr.update import touched_cells
from lpcb.mechanisms import Laplace
from lpcb.partition import Bins, Routed, edges, key_level
from lpcb.spec import Spec, check_spec


def cap(spec: Spec) -> float:
    """Largest interval: 1 in Algorithm 5; but a clipped prediction and a mean in [-1, 1] may differ by 2."""
    check_spec(spec)
    return 2.0 if spec.has("width-cap") else 1.0


def error_share(at: Routed, rows: Ints, fit: Components) -> Array:
    """epsilon_i = eta_hat_{B^o}(phi) |u_B' phi| / sqrt(s_B) (Algorithm 5), zero outside active bins."""
    s = fit.s[rows]
    along = np.abs(dot(fit.u[rows], at.rest))
    share: Array = at.eta * np.divide(along, np.sqrt(s), out=np.zeros_like(along), where=s > 0)
    return share


def mechanism(spec: Spec, keys: Ints, fit: Components) -> Laplace:
    """The randomizer for the active bins among ``keys``, as printed s_B^(-1/2) gamma^-k Lap(1/alpha).

    epsilon_i lies in [0, cap gamma^-k / sqrt(s)]: in units of gamma^-k / sqrt(s) a replacement changes
    the table by at most cap in each of two cells.
    """
    rows = np.flatnonzero(fit.active)
    unit = edges(spec)[key_level(spec, keys[rows])] / np.sqrt(fit.s[rows])
    return Laplace(unit, touched_cells(spec) * cap(spec), spec.alpha)


def bins(spec: Spec, n: int, keys: Ints, fit: Components, parent_rest: Array, errors: Array) -> Bins:
    """The finished bins of a layer from the components and the private error sums of the active ones.

    Algorithm 5: bar-epsilon_B = epsilon_hat_B / (psi_hat_B n) + kappa_2 gamma d^(3/2) / (psi_hat_B n), the
    last n a sqrt(n) with `root-n-margin`; a bin with psi_hat_B <= kappa_1' gamma d^(3/2) / sqrt(n) is not
    open, so that its children are inactive. Lemma 4.4 says what the result is good for.
    """
    d, root_n = spec.d, math.sqrt(n)
    rows = np.flatnonzero(fit.active)
    error = np.zeros(len(keys))
    margin = root_n if spec.has("root-n-margin") else n
    mean = errors / (fit.psi[rows] * n)
    error[rows] = mean + spec.kappa2 * spec.gamma * d**1.5 / (fit.psi[rows] * margin)
    if spec.has("width-cap"):
        error = np.maximum(error, 0.0)
    open_ = fit.active & (fit.psi > spec.kappa1_prime * spec.gamma * d**1.5 / root_n)
    if spec.has("inactive-width"):
        # A bin that fails this second threshold is inactive like any other and forgets its fit.
        kept = open_.astype(np.float64)
        fit = replace(
            fit, active=open_, u=fit.u * kept[:, None], s=fit.s * kept, theta=fit.theta * kept[:, None]
        )
    rest = parent_rest - fit.u[:, :, None] * fit.u[:, None, :]
    return Bins(n, keys, fit.psi, fit.active, open_, fit.u, fit.s, fit.theta, rest, error)


def interval(spec: Spec, at: Routed, layer: Bins) -> Array:
    """eta_hat_B(phi) = min {1, eta_hat_{B^o}(phi) + chi_hat_B(phi)} in open bins (Algorithm 5).

    In others it is gamma^-k_h as printed, and with `inactive-width` the parent's eta_hat on top of what is
    left, |phi_h| with `dummy-width`. Below an inactive bin it is inherited. `width-cap` makes the 1 a 2.
    """
    rows = layer.rows(at.keys)
    remainder = np.linalg.norm(at.rest, axis=-1) if spec.has("dummy-width") else edges(spec)[at.k]
    inactive = at.eta + remainder if spec.has("inactive-width") else remainder
    width = np.minimum(cap(spec), np.where(layer.open[rows], at.eta + chi(spec, at, layer), inactive))
    return np.where(at.stopped, at.eta, width)


def chi(spec: Spec, at: Routed, layer: Bins) -> Array:
    """chi_hat_B(phi) = kappa_3 gamma^2 (d+1)^4 / (psi_hat_B sqrt(n)) + bar-epsilon_B |u_B' phi| / sqrt(s_B).

    Algorithm 5; 0 in bins that are not open.
    """
    rows = layer.rows(at.keys)
    open_, s = layer.open[rows], layer.s[rows]
    along = np.abs(dot(layer.u[rows], at.rest))
    first = spec.kappa3 * spec.gamma**2 * (spec.d + 1) ** 4 / math.sqrt(layer.n)
    fixed = np.divide(first, layer.psi[rows], out=np.zeros_like(along), where=open_)
    along = np.divide(layer.error[rows] * along, np.sqrt(s), out=np.zeros_like(along), where=open_)
    return fixed + along
