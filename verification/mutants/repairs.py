"""Each repair switched off, as a mistake like any other."""

from __future__ import annotations

from verification.mutants.mutant import Mutant
from verification.substitution import Edit

NOTICED = {
    "symmetric-noise": "prop-4.1-matrix:repaired",
    "replacement-sensitivity": "prop-4.1-count:repaired",
    "joint-actions": "thm-3.2-privacy:repaired",
    "residual-range": "fig-2-residual:repaired",
    "width-cap": "lemma-4.4-inactive:repaired",
    "inactive-width": "lemma-4.4-inactive:repaired",
    "root-n-margin": "cor-A.4:repaired",
    "dummy-width": "def-3.1-dummy:repaired",
    "eigenvalue-guard": "lemma-4.3-eigenvalue:repaired",
}


def _without(repair: str, row: str) -> Mutant:
    old = "return repair in self.repairs\n"
    new = f'return repair in self.repairs and repair != "{repair}"\n'
    return Mutant(
        f"without-{repair}", f"The repair {repair} is never applied.", Edit("lpcb.spec", old, new), row
    )


MUTANTS = tuple(_without(repair, row) for repair, row in NOTICED.items())
