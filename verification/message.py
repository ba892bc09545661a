"""Says in sentences why a row is not as expected: what was seen, what is allowed, and how to see it again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from verification.baseline import changes
from verification.serialise import number


def failure(
    row: Mapping[str, Any],
    expectation: Mapping[str, Any] | None,
    profile: str,
    seed: int,
    report: Path | None = None,
    modules: Sequence[str] = (),
) -> str:
    """The message for a row that did not pass; ``report`` is where the row can be read later."""
    name = f"{row['title']} ({row['id']}, {row['variant']}, {profile}, seed {seed})"
    lines = [f"{name} is {row['verdict']}: {row['reason']}."]
    if expectation is None and row["error"] is None:
        lines.append("The baseline expects nothing of this row; `lpcb gate --update-baseline` accepts it.")
    if expectation is not None:
        lines += [
            f"Expected {what}: {wanted}; found {seen}." for what, wanted, seen in changes(row, expectation)
        ]
    lines += [describe(evidence) for evidence in _telling(row)]
    lines.append(f"See it again: {again(row['id'], row['variant'], profile, seed, report, modules)}")
    if row["error"]:
        lines += ["", row["error"].rstrip()]
    return "\n".join(lines)


def describe(evidence: Mapping[str, Any]) -> str:
    """One piece of evidence as a sentence."""
    low, high = (figure(x) for x in evidence["interval"])
    text = (
        f"Check {evidence['check']!r} ({evidence['scope']}) says {evidence['verdict']}: "
        f"saw {figure(evidence['value'])}, the truth in [{low}, {high}], "
        f"allowed {figure(evidence['bound'])}; "
    )
    if evidence["false_alarm"]:
        return text + f"by chance this is wrong at most once in {1 / evidence['false_alarm']:.0e} runs."
    return text + "chance plays no part in it."


def again(
    id: str, variant: str, profile: str, seed: int, report: Path | None, modules: Sequence[str] = ()
) -> str:
    """The command that shows the row's evidence again."""
    claims = "".join(f" --claims {module}" for module in modules)
    if report is not None:
        return f"lpcb replay {id}:{variant} --report {report}{claims}"
    return f"lpcb verify {id} --variant {variant} --profile {profile} --seed {seed} --out DIR{claims}"


def figure(value: float | str) -> str:
    return f"{number(value):.6g}"


def _telling(row: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The deciding evidence that gave the verdict."""
    deciding = [e for e in row["evidence"] if e["role"] == "decides"]
    return [e for e in deciding if e["verdict"] == row["verdict"]] or deciding
