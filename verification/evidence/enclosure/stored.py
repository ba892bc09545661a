"""Inequalities that claims rest on, each with a committed certificate that is verified, not trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import verification
from verification.evidence.enclosure.balls import Ball
from verification.evidence.enclosure.box import Box
from verification.evidence.enclosure.certificate import function_name, write_certificate
from verification.evidence.enclosure.recheck import Rejected, Verified, verify_certificate
from verification.evidence.enclosure.search import Proved, Result, prove
from verification.verdict import Profile

FOLDER = Path(verification.__path__[0]) / "certificates"


@dataclass(frozen=True)
class Statement:
    """``f ≤ 0`` on ``box``; its certificate is the file ``name.json``."""

    name: str
    f: Callable[..., Ball]
    box: Box

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.json"

    def prove(self) -> Result:
        return prove(self.f, self.box)

    def verify(self) -> Verified:
        """Verify the certificate, and that it is about this function and this box."""
        if not self.path.is_file():
            raise Rejected(
                f"{self.name} has no certificate; `python -m verification.evidence.enclosure` writes it"
            )
        found = verify_certificate(self.path)
        if found.function != function_name(self.f) or found.box != self.box.as_dict():
            raise Rejected(f"{self.path.name} proves another statement: {found.function} on {found.box}")
        return found

    def write(self) -> Proved:
        proof = self.prove()
        if not isinstance(proof, Proved):
            raise ValueError(f"{self.name} cannot be written: {proof}")
        write_certificate(self.path, self.f, proof)
        return proof


def established(statement: Statement, profile: Profile) -> str:
    """How ``statement`` was established: its certificate verified, and in thorough runs also proved anew.

    Raises where it is not, so that a claim resting on it stays undecided.
    """
    leaves = statement.verify().leaves
    how = f"certificate {statement.name} verified on {leaves} boxes"
    if profile != "thorough":
        return how
    proof = statement.prove()
    if not isinstance(proof, Proved):
        raise Rejected(f"{statement.name} has a certificate and yet is not proved anew: {proof}")
    return f"{how}, proved anew on {proof.boxes}"
