"""All mutants, in one table."""

from verification.mutants import (
    budget,
    comparison,
    data,
    fitting,
    learning,
    noise,
    repairs,
    runs,
    scales,
    server,
)
from verification.mutants.equivalent import EQUIVALENT
from verification.mutants.mutant import Mutant

__all__ = ["EQUIVALENT", "MUTANTS"]

MUTANTS: tuple[Mutant, ...] = (
    *noise.MUTANTS,
    *budget.MUTANTS,
    *data.MUTANTS,
    *fitting.MUTANTS,
    *learning.MUTANTS,
    *server.MUTANTS,
    *runs.MUTANTS,
    *scales.MUTANTS,
    *comparison.MUTANTS,
    *repairs.MUTANTS,
)
