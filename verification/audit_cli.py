"""``lpcb audit``: the auditor on a user's own file."""

from __future__ import annotations

import json
import math
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from lpcb.files import check_target
from verification.audit import SAMPLES, AuditResult, audit
from verification.console import brief, show_table, tell, written
from verification.evidence.privacy import Box
from verification.leaving import staying
from verification.registry import load_module

Target = Annotated[
    str, typer.Argument(metavar="MODULE:OBJECT", help="mypkg.mod:name or path/to/file.py:name.")
]


def audit_command(
    randomizer: Target,
    epsilon: Annotated[float, typer.Option(help="The claimed epsilon.")],
    delta: Annotated[float, typer.Option(help="The claimed delta.")] = 0.0,
    pair: Annotated[
        tuple[str, str] | None, typer.Option(metavar="X Y", help="Two inputs, as JSON or plain text.")
    ] = None,
    pairs: Annotated[str | None, typer.Option(help="Candidate pairs, as JSON: [[0, 1], [0, 2]].")] = None,
    domain: Annotated[
        str | None,
        typer.Option(help='Where to look for a bad pair, as JSON: [0, 1, 2] or {"low": [0], "high": [1]}.'),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of everything that is said.")] = 0.99,
    samples: Annotated[str, typer.Option(help="Samples in all, e.g. 1e6.")] = str(SAMPLES),
    seed: Annotated[int, typer.Option(help="Root of all randomness.")] = 0,
    bits: Annotated[bool, typer.Option("--bits", help="Look at the low bits of floats, too.")] = False,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything here; - is standard output.")
    ] = None,
) -> None:
    """Audit a randomizer: (value, rng, size) -> array, or an object with release and log_density.

    Exit codes: 0 not refuted, 1 refuted, 2 bad input.

    Example: lpcb audit mypkg.mod:randomizer --epsilon 1 --pair 0 1 --confidence 0.99
    """
    check_target("json", json_file)
    result = audit(
        _load(randomizer),
        epsilon,
        delta,
        pair=None if pair is None else (_value(pair[0]), _value(pair[1])),
        pairs=None if pairs is None else _pairs(pairs),
        domain=None if domain is None else _domain(domain),
        confidence=confidence,
        samples=_whole(samples),
        seed=seed,
        bits=bits,
        nan=False,  # in a user's file it is nearly always a slip, and no verdict should rest on it
    )
    if not written(json_file, {"randomizer": randomizer, **result.to_dict()}):
        _show(result)
    raise typer.Exit(1 if result.refuted else 0)


def _load(target: str) -> Any:
    """The object that ``target`` names."""
    module_name, colon, path = target.rpartition(":")
    if not (colon and module_name and path):
        raise ValueError(f"randomizer is MODULE:OBJECT or FILE.py:OBJECT, not {target!r}")
    if module_name.endswith(".py") and not Path(module_name).is_file():
        raise ValueError(f"randomizer {target!r}: there is no file {module_name!r}")
    try:
        # load_module speaks of claims; what it does not find is reported here.
        with staying():
            load = load_module if module_name.endswith(".py") else import_module
            found: Any = load(module_name)
    except Exception as error:
        raise ValueError(
            f"randomizer {target!r}: {module_name!r} cannot be imported: {type(error).__name__}: {error}"
        ) from error
    for name in path.split("."):
        if not hasattr(found, name):
            known = ", ".join(sorted(n for n in vars(found) if not n.startswith("_"))) or "nothing"
            raise ValueError(f"randomizer {target!r}: there is no {name!r} among {known}")
        found = getattr(found, name)
    if isinstance(found, type):
        raise ValueError(f"randomizer {target!r} is a class; name an instance of it or a function")
    return found


def _value(text: str) -> Any:
    """JSON if it is JSON, else plain text; lists of numbers become arrays."""
    try:
        return _arrays(json.loads(text))
    except json.JSONDecodeError:
        return text


def _arrays(value: Any) -> Any:
    if isinstance(value, list):
        array = np.asarray(value, dtype=object if _ragged(value) else None)
        return array if array.dtype.kind in "biuf" else value
    return value


def _ragged(value: list[Any]) -> bool:
    try:
        np.asarray(value)
    except ValueError:
        return True
    return False


def _json(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name} is JSON, not {text!r}: {error}") from None


def _pairs(text: str) -> list[tuple[Any, Any]]:
    found = _json("pairs", text)
    if not isinstance(found, list) or not all(isinstance(p, list) and len(p) == 2 for p in found):
        raise ValueError(f"pairs is a list of pairs such as [[0, 1], [0, 2]], not {text!r}")
    return [(_arrays(a), _arrays(b)) for a, b in found]


def _domain(text: str) -> Any:
    found = _json("domain", text)
    if isinstance(found, dict) and set(found) == {"low", "high"}:
        try:
            low, high = (np.asarray(found[end], np.float64) for end in ("low", "high"))
        except (TypeError, ValueError) as error:
            raise ValueError(f"domain: low and high are numbers or lists of them, not {text!r}") from error
        return Box(low, high)
    if isinstance(found, list):
        return [_arrays(value) for value in found]
    raise ValueError(f'domain is a list of inputs or {{"low": …, "high": …}}, not {text!r}')


def _whole(text: str) -> int:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number == int(number)):
        raise ValueError(f"samples is a whole number such as 1000000 or 1e6, not {text!r}")
    return int(number)


def _show(result: AuditResult) -> None:
    best = result.blackbox.decisive
    rows = [
        ("verdict", result.verdict),
        ("claimed", f"ε = {result.epsilon:g}" + (f", δ = {result.delta:g}" if result.delta else "")),
        ("shown by samples", f"ε ≥ {result.epsilon_low:.6g}, δ({result.epsilon:g}) ≥ {result.delta_low:.4g}"),
        ("pair", f"{brief(result.pair[0], 60)} and {brief(result.pair[1], 60)} ({result.scope})"),
        ("event", f"{best.event}: {best.k1} of {best.n1} against {best.k2} of {best.n2}"),
        ("samples", f"{result.samples} in all, seed {result.seed}, confidence {result.confidence:.12g}"),
    ]
    white = result.whitebox
    if white is not None:
        exact = f", closed form {white.exact:.6g}" if white.exact is not None else ""
        rows.insert(3, ("by log-density", f"largest loss met {white.largest:.6g}{exact}"))
        for w in white.witnesses:
            text = f"seen {w.seen} of {w.samples} times: {brief(w.output, 120)}"
            rows.append((f"impossible under {brief(result.pair[1 - w.under], 30)}", text))
    show_table(("", ""), rows)
    tell(*(f"Note: {note}." for note in result.notes), _sentence(result))


def _sentence(result: AuditResult) -> str:
    """What came out, for someone who does not read tables."""
    start = {
        "REFUTED": "The claim is wrong",
        "HOLDS": f"The claim holds for {result.scope}",
        "UNDECIDED": "The claim was not refuted, which does not prove it",
    }[result.verdict]
    return f"{start}: {result.reason}."
