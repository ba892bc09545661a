"""Algorithm 1: which actions are still in play."""

from __future__ import annotations

import numpy as np

from lpcb.arrays import Array, Bools


def eliminate(active: Bools, f_hat: Array, delta: Array) -> Bools:
    """A_tau from A_{tau-1}: keep a with f_hat + Delta >= max over active a' of f_hat - Delta (last axis)."""
    floor = np.where(active, f_hat - delta, -np.inf).max(axis=-1, keepdims=True)
    kept: Bools = active & (f_hat + delta >= floor)
    if not kept.any(axis=-1).all():
        raise ArithmeticError("Algorithm 1 eliminated every action: a negative interval (repair: width-cap)")
    return kept


def uniform_policy(active: Bools) -> Array:
    """p(a | x), uniform over the active actions."""
    policy: Array = active / active.sum(axis=-1, keepdims=True)
    return policy
