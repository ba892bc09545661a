"""Algorithm 1: which actions are still in play."""

from __future__ import annotations

import numpy as np

from lpcb.arrays import Array, Bools
from lpcb.boundary import checked


@checked
def eliminate(active: Bools, f_hat: Array, delta: Array) -> Bools:
    """A_tau = {a in A_{tau-1} : f_hat_a + Delta_a >= max over a' in A_{tau-1} of f_hat_a' - Delta_a'}.

    Algorithm 1, line 8; actions are the last axis.

    >>> eliminate(np.array([True, True]), np.array([0.9, 0.1]), np.array([0.2, 0.2]))
    array([ True, False])
    """
    active = _some_active(active)
    f_hat, delta = np.asarray(f_hat), np.asarray(delta)
    if not f_hat.shape == delta.shape == active.shape:
        raise ValueError(
            f"active, f_hat and delta have one shape, not {active.shape}, {f_hat.shape}, {delta.shape}"
        )
    floor = np.where(active, f_hat - delta, -np.inf).max(axis=-1, keepdims=True)
    kept: Bools = active & (f_hat + delta >= floor)
    if not kept.any(axis=-1).all():
        raise ArithmeticError("Algorithm 1 eliminated every action: a negative interval (repair: width-cap)")
    return kept


@checked
def uniform_policy(active: Bools) -> Array:
    """p(a | x) = 1{a in A_tau(x)} / |A_tau(x)|: Algorithm 1 plays uniformly over the active actions.

    >>> uniform_policy(np.array([True, False, True]))
    array([0.5, 0. , 0.5])
    """
    active = _some_active(active)
    policy: Array = active / active.sum(axis=-1, keepdims=True)
    return policy


def _some_active(active: Bools) -> Bools:
    """``active`` as an array with at least one action in play everywhere."""
    found = np.asarray(active)
    if found.dtype != np.bool_ or found.ndim == 0:
        raise ValueError(f"active holds True or False for each action, not {found.dtype} {found.shape}")
    if not found.any(axis=-1).all():
        raise ValueError("active names at least one action everywhere")
    return found
