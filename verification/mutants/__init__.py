"""Named small mistakes in lpcb, and whether the gate notices them: ``lpcb mutants``."""

from verification.mutants.mutant import Equivalent, Mutant, place, source
from verification.mutants.tables import EQUIVALENT, MUTANTS

__all__ = ["EQUIVALENT", "MUTANTS", "Equivalent", "Mutant", "place", "source"]
