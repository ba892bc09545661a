"""Every random draw of a run comes from here, keyed by what it is for and not by when it is made."""

from __future__ import annotations

import hashlib

import numpy as np


def seed_sequence(root: int, *key: str | int) -> np.random.SeedSequence:
    """The seed for ``key`` under root seed ``root``: a hash, so that keys never collide by accident.

    >>> seed_sequence(0, "check", "paper", 1).entropy == seed_sequence(0, "check", "paper", 1).entropy
    True
    >>> seed_sequence(0, "check", 11).entropy == seed_sequence(0, "check1", 1).entropy
    False
    """
    text = "\x1f".join([str(int(root)), *(f"{type(k).__name__}:{k}" for k in key)])
    return np.random.SeedSequence(int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big"))


def generator(root: int, *key: str | int) -> np.random.Generator:
    """A fresh generator for ``key``; see :func:`seed_sequence`."""
    return np.random.Generator(np.random.PCG64DXSM(seed_sequence(root, *key)))
