"""All mutants, in one table."""

from verification.mutants import data, fitting, learning, noise, repairs
from verification.mutants.mutant import Equivalent, Mutant

MUTANTS: tuple[Mutant, ...] = (
    *noise.MUTANTS,
    *data.MUTANTS,
    *fitting.MUTANTS,
    *learning.MUTANTS,
    *repairs.MUTANTS,
)
EQUIVALENT: tuple[Equivalent, ...] = ()
