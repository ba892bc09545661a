"""Rows, evidence and figures with all their fields filled in, for tests of the reports."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

HOSTILE = '<script>document.title = "pwned"</script>'
"""Text that must be shown, never run."""


def row(id_: str, variant: str, title: str, statement: str, verdict: str, **rest: Any) -> Json:
    """One row, passing unless told otherwise."""
    return {
        "id": id_,
        "variant": variant,
        "title": title,
        "statement": statement,
        "method": "",
        "verdict": verdict,
        "expected": verdict,
        "passed": True,
        "reason": "",
        "counterexample": None,
        "measures": {},
        "evidence": [],
        "figures": [],
        "error": None,
        **rest,
    }


def evidence(check: str, grade: str, verdict: str, **rest: Any) -> Json:
    """One piece of evidence with the fields that its grade asks for."""
    random = grade in ("tested", "fitted")
    return {
        "check": check,
        "grade": grade,
        "role": "decides",
        "scope": "$d \\in \\{1, \\dots, 4\\}$, $\\alpha \\in (0, 1]$",
        "verdict": verdict,
        "value": 0.0312,
        "bound": 0.05,
        "interval": [0.0287, 0.0339],
        "false_alarm": 1e-9 if random else 0.0,
        "detectable": 0.0031 if random else None,
        "samples": 20000 if random else 0,
        "note": "",
        "counterexample": {"seed": 7} if verdict == "REFUTED" else None,
        **rest,
    }


def measure(value: Any, low: Any, high: Any, unit: str = "", note: str = "") -> Json:
    return {"value": value, "interval": [low, high], "unit": unit, "note": note}


def series(label: str, x: list[Any], y: list[Any], style: str = "line", **band: list[Any]) -> Json:
    return {"label": label, "x": x, "y": y, "low": None, "high": None, "style": style, **band}


def figure(title: str, *curves: Json, **rest: Any) -> Json:
    return {
        "title": title,
        "caption": "Twenty runs each; the band holds the mean with probability $1 - 10^{-9}$.",
        "xlabel": "users $n$",
        "ylabel": "error $\\mathbb{E}|\\hat f - f^\\star|$",
        "series": list(curves),
        "xlog": True,
        "ylog": True,
        **rest,
    }
