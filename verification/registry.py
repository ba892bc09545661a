"""Finds every claim: those of this package, and a user's own modules."""

from __future__ import annotations

import difflib
import hashlib
import importlib
import importlib.util
import pkgutil
import re
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from urllib.parse import quote

import verification.claims
from verification import leaving
from verification.claim import Claim, Experiment
from verification.deadline import DeadlineError
from verification.leaving import StopRunError, staying
from verification.verdict import MAX_RANDOM_CHECKS, PROFILES, VARIANTS, Variant

LONGEST_NAME = 200
"""Characters; file systems take 255, of which a suffix needs some."""


@dataclass(frozen=True)
class Row:
    """One claim in one variant; ``without`` names the repair that is switched off, if any."""

    claim: str
    variant: Variant
    without: frozenset[str] = frozenset()

    @property
    def name(self) -> str:
        """What a person types: ``lemma-4.2-psi:paper``."""
        return f"{self.claim}:{self.variant}" + "".join(f"-without-{r}" for r in sorted(self.without))


@dataclass(frozen=True)
class Registry:
    """All claims in a fixed order, by id."""

    claims: dict[str, Claim]

    def claim(self, id: str) -> Claim:
        if id not in self.claims:
            near = nearest(id, list(self.claims))
            hint = f"the nearest are {', '.join(near)}" if near else "`lpcb verify --list` shows all"
            raise ValueError(f"unknown claim {id!r}; {hint}")
        return self.claims[id]

    def rows(self, ids: Sequence[str] = (), variants: Sequence[Variant] = VARIANTS) -> list[Row]:
        """The rows of the claims in ``ids`` (all if empty), in registry order."""
        wanted = {self.claim(id).id for id in ids} or set(self.claims)
        return [
            Row(claim.id, variant)
            for claim in self.claims.values()
            if claim.id in wanted
            for variant in claim.variants
            if variant in variants
        ]

    def repair_rows(self, rows: Iterable[Row]) -> list[Row]:
        """Each repaired row again, once for every repair that its claim guards, with that one off."""
        return [
            Row(row.claim, row.variant, frozenset({repair}))
            for row in rows
            if row.variant == "repaired"
            for repair in sorted(self.claim(row.claim).guards)
        ]

    def experiment(self, claim: str, name: str) -> Experiment:
        return next(e for e in self.claim(claim).experiments if e.name == name)


def nearest(id: str, known: Sequence[str]) -> list[str]:
    """What was perhaps meant: ids that begin with it, in their order, and then those spelled alike.

    >>> nearest("lemma-4.2", ["lemma-A.2", "lemma-4.2-psi", "lemma-4.2-steps", "lemma-4.3"])
    ['lemma-4.2-psi', 'lemma-4.2-steps']
    >>> nearest("lema-A.2", ["lemma-A.2", "conf-noise"])
    ['lemma-A.2']
    """
    begun = [other for other in known if id and other.lower().startswith(id.lower())]
    return begun[:6] or difflib.get_close_matches(id, known, n=3, cutoff=0.3)


@lru_cache(maxsize=8)
def load(modules: tuple[str, ...] = ()) -> Registry:
    """The claims of this package, then those of ``modules`` (dotted names or paths to .py files)."""
    names = sorted(info.name for info in pkgutil.iter_modules(verification.claims.__path__))
    own = [
        claim for name in names for claim in _exported(importlib.import_module(f"verification.claims.{name}"))
    ]
    users = [claim for name in modules for claim in _exported(load_module(name))]
    claims: dict[str, Claim] = {}
    for claim in [*sorted(own, key=lambda claim: paper_order(claim.id)), *users]:
        if claim.id in claims:
            raise ValueError(f"claim id {claim.id!r} is used twice")
        claims[claim.id] = claim
    _check_whole(claims)
    return Registry(claims)


def paper_order(id: str) -> tuple[int, int]:
    """Where in the paper a claim stands, by its id: (section, number), the supplement last, ours after it.

    >>> sorted(["lemma-A.1", "conf-noise", "prop-4.1-count", "fig-2-routing"], key=paper_order)
    ['fig-2-routing', 'prop-4.1-count', 'lemma-A.1', 'conf-noise']
    """
    if numbered := re.search(r"(\d+|A)\.(\d+)", id):
        section, number = numbered.groups()
        return (5 if section == "A" else int(section), int(number))
    return {"intro": (1, 0), "case": (2, 3), "fig": (4, 0)}.get(id.split("-")[0], (6, 0))


def load_module(name: str) -> ModuleType:
    """The module ``name``: an importable dotted name, or the path of a .py file.

    Whatever goes wrong in it is a ValueError, also where it ends the process: that would look like a success.
    """
    path = Path(name)
    if name.endswith(".py") and not path.is_file():
        raise ValueError(f"module {name!r}: there is no such file")
    with staying():
        try:
            return _run_file(path.resolve()) if name.endswith(".py") else importlib.import_module(name)
        except (StopRunError, DeadlineError, KeyboardInterrupt):
            raise
        except BaseException as error:  # a skipped test is no Exception either
            absent = error.name if isinstance(error, ModuleNotFoundError) else None
            if absent and f"{name}.".startswith(f"{absent}."):
                raise ValueError(f"module {name!r} is neither importable nor a .py file") from None
            what = f"{type(error).__name__}: {error}{_where(error)}"
            raise ValueError(f"module {name!r} cannot be imported: {what}") from error


def _where(error: BaseException) -> str:
    """The last line that was executed, but for the one of ours that refuses to end the process."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename != leaving.__file__
    ]
    return f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})"


def _run_file(path: Path) -> ModuleType:
    unique = f"lpcb_claims_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if unique in sys.modules:
        return sys.modules[unique]
    spec = importlib.util.spec_from_file_location(unique, path)
    assert spec is not None  # as for every path that ends in .py
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module  # dataclasses look their own module up while it is being executed
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[unique]
        raise
    return module


def _exported(module: ModuleType) -> tuple[Claim, ...]:
    claims = getattr(module, "CLAIMS", None)
    if not isinstance(claims, tuple) or not all(isinstance(c, Claim) for c in claims) or not claims:
        raise ValueError(f"module {module.__name__} must export CLAIMS, a non-empty tuple of Claim")
    return claims


def _check_whole(claims: dict[str, Claim]) -> None:
    """What must be true of all claims together."""
    random = sum(check.random for claim in claims.values() for check in claim.checks)
    if random > MAX_RANDOM_CHECKS:
        raise ValueError(
            f"{random} random checks are registered; the false alarm budget allows {MAX_RANDOM_CHECKS}"
        )
    experiments: dict[str, Experiment] = {}
    for claim in claims.values():
        _check_texts(claim)
        for experiment in claim.experiments:
            _check_experiment(experiment)
            if experiments.setdefault(experiment.name, experiment) != experiment:
                raise ValueError(f"two different experiments are called {experiment.name!r}")


def _check_texts(claim: Claim) -> None:
    """What a report shows of a claim: a text that is none would cost the report on all claims."""
    texts = {"title": claim.title, "method": claim.method, "statement": claim.statement or ""}
    for name, text in (texts | {"repaired": claim.repaired or ""}).items():
        if not _is_text(text):
            raise ValueError(f"claim {claim.id!r}: {name} is text, not {text!r}")
    if len(claim.id) > LONGEST_NAME:
        raise ValueError(f"claim {claim.id[:40]!r}…: an id has at most {LONGEST_NAME} characters")


def _check_experiment(experiment: Experiment) -> None:
    name, shards = experiment.name, experiment.shards
    if not _is_text(name) or name in ("", ".", "..") or len(quote(name, safe="")) > LONGEST_NAME:
        raise ValueError(f"experiment {str(name)[:40]!r}: its name is a text that files can be called by")
    numbers = shards.values() if isinstance(shards, Mapping) else [0]
    if not all(type(number) is int and number > 0 for number in numbers) or set(shards) - set(PROFILES):
        raise ValueError(
            f"experiment {name!r}: shards are whole numbers from 1 for {', '.join(PROFILES)}, not {shards!r}"
        )


def _is_text(text: object) -> bool:
    """A str and no subclass, which other processes may not know, that can be written to a file."""
    return type(text) is str and text == text.encode(errors="replace").decode()
