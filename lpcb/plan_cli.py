"""``lpcb plan``: how many users does it take on your contexts?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from lpcb.boundary import checked
from lpcb.console import counting
from lpcb.files import check_target, deliver, write_atomic
from lpcb.plan import plan
from lpcb.plan_text import as_dict, curves, plot_title, show
from lpcb.plots import share_svg
from lpcb.problem import Problem, build

PROBLEMS = ("random", "line", "f")
"""Those with a choice to make and no horizon of their own."""
DRAWS = 3
MAX_DRAWS = 1000
"""Each is planned for by itself, which takes a second or more."""


def plan_command(
    contexts: Annotated[
        Path | None, typer.Option(help="CSV of your contexts: context, action, weight, features.")
    ] = None,
    problem: Annotated[str | None, typer.Option(help=f"{', '.join(PROBLEMS)}, in place of a CSV.")] = None,
    d: Annotated[int | None, typer.Option(help="Dimension of a named problem (default 2).")] = None,
    actions: Annotated[int | None, typer.Option(help="Number of actions (default 2, or the CSV's).")] = None,
    size: Annotated[int | None, typer.Option(help="Contexts of a named problem (default 16).")] = None,
    alpha: Annotated[float, typer.Option(help="Privacy parameter, in (0, 1].")] = 1.0,
    target: Annotated[float, typer.Option(help="Regret per round as a share of uniform play's.")] = 0.5,
    theta: Annotated[str | None, typer.Option(help="The truth, if you know it: 0.6,-0.8.")] = None,
    draws: Annotated[
        int | None, typer.Option(help=f"Random unit vectors tried as theta (CSV: {DRAWS} by default).")
    ] = None,
    activation: Annotated[float | None, typer.Option(help="Factor on kappa_1 when scaled.")] = None,
    width: Annotated[float | None, typer.Option(help="Factor on kappa_2 and kappa_3 when scaled.")] = None,
    seeds: Annotated[int, typer.Option(help="Independent runs for each answer.")] = 5,
    seed: Annotated[int, typer.Option(help="Root seed of runs and of random theta.")] = 0,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything here; - is standard output.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write an SVG of regret against users here.")] = None,
) -> None:
    """How many users until regret per round is at most a share of uniform play's.

    As printed, repaired, with scaled constants, and without privacy; what no run can reach is extrapolated
    from the formulas and marked so.

    Exit codes: 0 answered (also "never"), 2 bad input.

    Examples: lpcb plan --problem random --d 1 · lpcb plan --contexts mine.csv --alpha 0.5 --json plan.json
    """
    base = _base(contexts, problem, d, actions, size, alpha, seed)
    problems = candidates(base, theta, draws if draws is not None or problem else DRAWS, seed)
    if (activation is None) != (width is None):
        raise ValueError("activation and width scale the constants together; give both or neither")
    scale = None if activation is None or width is None else (activation, width)
    written = [path for path in (json_file, plot) if path is not None]
    check_target("json", json_file)
    check_target("plot", plot)
    with counting("planning") as progress:
        found = plan(problems, alpha, target, seeds, seed, scale, progress)
    if plot is not None:
        write_atomic(plot, share_svg(curves(found), target, plot_title(found)))
    if not deliver(json_file, json.dumps(as_dict(found), indent=1) + "\n"):
        show(found, written)


@checked
def candidates(base: Problem, theta: str | None, draws: int | None, seed: int) -> list[Problem]:
    """The problem with the given theta, with random ones, or as it is."""
    if theta is not None:
        if draws not in (None, DRAWS):
            raise ValueError("theta is given, so that there is nothing to draw")
        return [_with(base, _numbers(theta))]
    if draws is None:
        return [base]
    if not 1 <= draws <= MAX_DRAWS:
        raise ValueError(f"draws is at least 1 and at most {MAX_DRAWS}, not {draws}")
    rng = np.random.default_rng(seed)
    vectors = rng.standard_normal((draws, base.d))
    return [_with(base, v / np.linalg.norm(v)) for v in vectors]


def _base(
    contexts: Path | None,
    problem: str | None,
    d: int | None,
    actions: int | None,
    size: int | None,
    alpha: float,
    seed: int,
) -> Problem:
    if (contexts is None) == (problem is None):
        raise ValueError("give either --contexts FILE.csv or --problem NAME")
    if problem is not None:
        if problem not in PROBLEMS:
            raise ValueError(f"problem is one of {', '.join(PROBLEMS)}, not {problem!r}")
        # The horizon only matters to f, whose gap is then 1/2, its largest.
        return build(problem, horizon=16, d=d, actions=actions, contexts=size, alpha=alpha, seed=seed)
    assert contexts is not None
    if not contexts.is_file():
        raise ValueError(f"contexts: there is no file {str(contexts)!r}")
    found = Problem.from_csv(contexts, name=contexts.name)
    for name, asked, have in (
        ("d", d, found.d),
        ("actions", actions, found.actions),
        ("size", size, found.contexts),
    ):
        if asked is not None and asked != have:
            raise ValueError(f"{contexts} has {name}={have}, not {asked}")
    return found


def _with(base: Problem, theta: Any) -> Problem:
    return Problem(base.features, base.weights, theta, base.reward, base.name)


def _numbers(text: str) -> Any:
    try:
        return np.array([float(part) for part in text.replace(",", " ").split()])
    except ValueError:
        raise ValueError(f"theta is numbers such as 0.6,-0.8, not {text!r}") from None
