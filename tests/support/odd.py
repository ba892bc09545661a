"""Claims whose checks return what no report can hold, or what shows nothing, and what is said of them."""

import os
import random
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from verification import Check, Claim, Context, Evidence, Experiment, Figure, Finding, Series
from verification.verdict import Table

FINE = Evidence("fine", "exact", "decides", "nothing", "HOLDS", 0.0, 1.0, (0.0, 0.0))
TESTED = replace(FINE, grade="tested", false_alarm=1e-9, detectable=0.5, samples=9)
REFUTED = replace(FINE, verdict="REFUTED", counterexample={"x": 1})
SHARDS = {"quick": 6, "standard": 6, "thorough": 6}
UNDECODABLE = b"\xff.csv".decode("utf-8", "surrogateescape")


def _figure(x: object, y: object, style: str = "line") -> Finding:
    return Finding((FINE,), figures=(Figure("t", "c", "x", "y", (Series("s", x, y, style=style),)),))


def _fail(text: str) -> Finding:
    raise ValueError(text)


def _disturb(context: Context) -> Finding:
    """Changes what all rows of a process share."""
    np.seterr(all="raise")
    np.set_printoptions(precision=2)
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    os.environ["LPCB_TEST_LEFT"] = "1"
    os.chdir("/")
    sys.path.insert(0, "/nowhere")
    sys.setrecursionlimit(5000)
    warnings.simplefilter("error")
    return Finding((FINE,))


def _look(context: Context) -> Finding:
    np.exp(-1e9 * np.ones(1))
    return Finding((FINE,))


def _ragged(key: Callable[[np.random.Generator], str], columns: int) -> Experiment:
    return Experiment(
        f"ragged-{columns}", lambda s, rng: {key(rng): np.ones((1, int(rng.integers(1, columns))))}, SHARDS
    )


KEYS = _ragged(lambda rng: "ab"[int(rng.integers(2))], 2)
SHAPES = _ragged(lambda rng: "a", 9)

SAID: dict[str, tuple[Finding | Callable[[Context], Finding], str]] = {
    "value": (Finding((replace(FINE, value=np.bool_(True)),)), "evidence 'fine', value: True is not"),
    "note": (Finding((replace(FINE, note=None),)), "evidence 'fine', note: None is not of type 'string'"),
    "scope": (Finding((replace(FINE, scope=3),)), "evidence 'fine', scope: 3 is not of type 'string'"),
    "interval": (Finding((replace(FINE, interval=(0.0, 1.0, 2.0)),)), "evidence 'fine', interval: "),
    "example": (Finding((replace(REFUTED, counterexample=[1]),)), "evidence 'fine', counterexample: [1] is"),
    "digits": (Finding((replace(REFUTED, counterexample={"T": 10**5000}),)), "it cannot be written: "),
    "table": (
        Finding((FINE,), tables=(Table("t", "c", ("a",), ((1,),)),)),
        "tables, 0, rows, 0, 0: 1 is not of type 'string'",
    ),
    "style": (_figure([1], [2], "dots"), "figures, 0, series, 0, style: 'dots' is not one of"),
    "figure": (Finding((FINE,), figures=("x",)), "figures, 0: 'x' is not of type 'object'"),
    "nan": (_figure([1, 2], [2, float("nan")]), "check 'c' raised ValueError: NaN cannot be written"),
    "none": (_figure([1, 2], [2, None]), "figures, 0, series, 0, y, 1: None is not valid"),
    "huge": (_figure([1, 10**400], [2, 3]), "figures, 0, series, 0, x, 1: 1000"),
    "measure": (Finding((FINE,), {"m": 3.0}), "measure 'm': 3.0 is not of type 'object'"),
    "text": (Finding((replace(FINE, note=UNDECODABLE),)), "it cannot be written: UnicodeEncodeError"),
    "message": (lambda context: _fail(UNDECODABLE), r"check 'c' raised ValueError: \udcff.csv"),
    "nothing": (
        Finding((replace(TESTED, samples=0),)),
        "evidence 'fine' is tested, has 0 samples and detects 0.5, and says HOLDS",
    ),
    "blind": (
        Finding((replace(TESTED, detectable=float("inf")),)),
        "evidence 'fine' is tested, has 9 samples and detects inf, and says HOLDS",
    ),
    "keys": (lambda context: context.result(KEYS) and Finding((FINE,)), "check 'c' raised KeyError: "),
    "shapes": (
        lambda context: context.result(SHAPES) and Finding((FINE,)),
        "check 'c' raised ValueError: all the input array dimensions except",
    ),
}
DRAWN = {"far": _figure([1e308, -1e308], [1e308, -1e308]), "bars": _figure([1e308, -1e308], [1, 2], "bars")}


def _claim(name: str, run: Finding | Callable[[Context], Finding], *experiments: Experiment) -> Claim:
    check = Check("c", run if callable(run) else lambda context: run, name in ("nothing", "blind"))
    return Claim(f"odd-{name}", name, "$1 < 2$", None, "by hand", (check,), experiments)


EXPERIMENTS = {"keys": (KEYS,), "shapes": (SHAPES,)}
CLAIMS = (
    *(_claim(name, run, *EXPERIMENTS.get(name, ())) for name, (run, _) in SAID.items()),
    *(_claim(name, finding) for name, finding in DRAWN.items()),
    _claim("disturb", _disturb),
    _claim("look", _look),
)
