"""Synthetic studies of the gate itself, for tests of the report."""

from __future__ import annotations

from typing import Any

from tests.data_report_parts import HOSTILE

Json = dict[str, Any]

VERSIONS = {"python": "3.11.7", "numpy": "2.4.6"}


def entry(seed: int, claims: Json, unexpected: tuple[str, ...] = ()) -> Json:
    return {
        "seed": seed,
        "date": "2026-01-02",
        "versions": VERSIONS,
        "claims": claims,
        "rows": 104,
        "unexpected": list(unexpected),
        "random_checks": 77,
        "seconds": 97.0,
    }


def seeds(code: Json, runs: int = 30) -> Json:
    made = [entry(seed, code) for seed in range(1, runs + 1)]
    old = dict.fromkeys(code, "old")
    earlier = [
        entry(1, old),
        entry(2, old, ("lemma-4.2-psi:paper",)),
        entry(99, dict(list(code.items())[:1])),
    ]
    return {"schema": 1, "entries": earlier + made}


def check(row: str, name: str, wrong: int, limit: int = 143, **more: Any) -> Json:
    return {
        "row": row,
        "check": name,
        "seeds": 2000,
        "wrong": wrong,
        "all_wrong": wrong,
        "errors": 0,
        "limit": limit,
        "detectable": 0.0872,
        "missed": {},
        "said": {"a": {"HOLDS": 9, "REFUTED": 1}, "b": {"HOLDS": 0, "REFUTED": 0}},
        "truth": {"evidence": {"a": "HOLDS"}, "measures": {}},
        "code": "0123456789abcdef",
        "seconds": 1.5,
    } | more


def levels() -> Json:
    return {
        "schema": 1,
        "level": 0.05,
        "familywise": 0.001,
        "comparisons": 4,
        "edits": [["verification.verdict", "1e-9", "0.05"]],
        "versions": VERSIONS,
        "date": "2026-01-02",
        "seconds": 2310.0,
        "checks": [
            check("lemma-4.2-psi:paper", "failure rates", 0),
            check("lemma-4.2-psi:repaired", "failure rates", 88, missed={"tightness at $d = 1$": 151}),
            check("thm-3.2-privacy:paper", HOSTILE, 3, 24, seeds=200),
        ],
    }


def mutant(name: str, row: str, killed: bool = True, **more: Any) -> Json:
    return {
        "name": name,
        "what": f"what {name} does to $\\gamma^k$",
        "module": "lpcb.lplr.update",
        "edit": "0123456789abcdef",
        "row": row,
        "killed": killed,
        "by": "failure rate at delta = 0.05" if killed else None,
        "expected": "HOLDS" if killed else None,
        "found": "REFUTED" if killed else None,
        "samples": 1950 if killed else 0,
        "also": [],
        "errors": [],
        "silent": [],
    } | more


def also(row: str) -> Json:
    return {"row": row, "by": "verdict", "expected": "HOLDS", "found": "REFUTED", "samples": 7}


ROWS = ("conf-noise:repaired", "fig-2-routing:repaired", "lemma-4.2-psi:paper", "lemma-4.2-psi:repaired")


def mutants() -> Json:
    return {
        "schema": 1,
        "versions": VERSIONS,
        "profile": "quick",
        "seed": 0,
        "mutants": [
            mutant(
                "scale-05",
                "lemma-4.2-psi:repaired",
                also=[also("conf-noise:repaired")],
                errors=["lemma-4.2-psi:paper"],
            ),
            mutant("budget-split", "conf-noise:repaired"),
            mutant(HOSTILE, "fig-2-routing:repaired", killed=False),
        ],
        "rows": dict.fromkeys(ROWS, "0123456789abcdef"),
        "complete": list(ROWS),
        "equivalent": [{"name": "swap-sum", "what": f"order of a sum {HOSTILE}", "why": "addition commutes"}],
        "seconds": {"scale-05": 61.0, "budget-split": 59.0},
    }


def studies(code: Json) -> dict[Any, Json | None]:
    return {"seeds": seeds(code), "levels": levels(), "mutants": mutants()}
