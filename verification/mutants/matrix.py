"""Every mutant against every row that it can reach, in pieces: what is done is kept in a file of lines."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock

import lpcb
import verification
from verification.fingerprint import versions
from verification.mutants.kill import Kill, affected, judge, observed, reference, side_by_side
from verification.mutants.mutant import Mutant
from verification.mutants.observe import Seen
from verification.registry import load


def code(seed: int) -> str:
    """A hash of all that a result depends on but the mutant: sources, certificates, baseline, libraries.

    The tables of mutants are left out, so that a new mutant leaves the results of the others alone.
    """
    digest = hashlib.sha256(json.dumps([versions(), seed], sort_keys=True).encode())
    for package in (lpcb, verification):
        root = Path(package.__path__[0])
        for path in sorted(
            [*root.rglob("*.py"), *root.glob("certificates/*.json"), *root.glob("baseline.json")]
        ):
            name = path.relative_to(root.parent).as_posix()
            if not name.startswith("verification/mutants"):
                digest.update(f"{name}\0".encode() + hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:16]


@dataclass
class Progress:
    """Finished pieces by their key, read from a file and appended to it; broken lines are skipped."""

    path: Path
    code: str

    def __post_init__(self) -> None:
        self.lock = Lock()
        self.done: dict[str, list[Seen]] = {}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        for line in lines:
            try:
                data = json.loads(line)
                if data["code"] == self.code:
                    self.done[data["key"]] = [Seen.from_json(json.dumps(seen)) for seen in data["seen"]]
            except (ValueError, KeyError, TypeError):
                continue  # a line that was cut off: that piece is done again

    def keep(self, key: str, seen: Sequence[Seen]) -> None:
        line = json.dumps({"code": self.code, "key": key, "seen": [asdict(one) for one in seen]})
        with self.lock:
            self.done[key] = list(seen)
            with self.path.open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")


def run_matrix(
    mutants: Sequence[Mutant],
    seed: int,
    jobs: int,
    path: Path,
    progress: Callable[[Kill], None] = lambda kill: None,
) -> list[Kill]:
    """Each mutant against all rows that call the function it changes. Goes on where ``path`` ends."""
    kept = Progress(path, code(seed))
    plain = _plain(kept, seed, jobs)

    def one(mutant: Mutant) -> Kill:
        key = json.dumps(asdict(mutant.edit), sort_keys=True)
        if key not in kept.done:
            kept.keep(key, observed((mutant.edit,), affected(mutant, plain), seed))
        kill = judge(mutant, kept.done[key], plain)
        progress(kill)
        return kill

    return side_by_side(one, mutants, jobs)


def _plain(kept: Progress, seed: int, jobs: int) -> Mapping[str, Seen]:
    """Every row of the code as it is, with the functions that it calls."""
    rows = [row.name for row in load().rows()]
    if "plain" not in kept.done:
        kept.keep("plain", list(reference(rows, seed, jobs, calls=True).values()))
    return {seen.row: seen for seen in kept.done["plain"]}
