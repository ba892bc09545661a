"""One BLAS thread per process, so that sums are added in one order whatever machine or worker adds them."""

from __future__ import annotations

import os

from threadpoolctl import threadpool_limits

VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS")


def single_thread() -> None:
    """Limit what is loaded already, and through the environment what is loaded later or by children.

    Not undone afterwards: two tasks in threads of one process would undo each other's limit.
    """
    for name in VARIABLES:
        os.environ[name] = "1"
    threadpool_limits(limits=1)
