"""What a check changes in its process is put back, so that the next row finds it as the last one did."""

from __future__ import annotations

import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np


@contextmanager
def put_back() -> Iterator[None]:
    """Restores numpy's settings, warnings, both old random states, environment, folder, and sys.path.

    What a check sets in modules stays: rows of other claims in the same process see it.
    """
    environment, path, limit = dict(os.environ), list(sys.path), sys.getrecursionlimit()
    folder = None
    with suppress(OSError):
        folder = os.getcwd()
    states = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        with np.errstate(), np.printoptions(), warnings.catch_warnings():
            yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])  # noqa: NPY002
        if dict(os.environ) != environment:
            os.environ.clear()
            os.environ.update(environment)
        sys.path[:] = path
        sys.setrecursionlimit(limit)
        if folder is not None:
            with suppress(OSError):  # somebody has removed it
                os.chdir(folder)
