"""``lpcb simulate``: runs the algorithm and says what came of it."""

from __future__ import annotations

import json
import math
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from lpcb.compare import Comparison, compare
from lpcb.console import counting, say, show_table, tell
from lpcb.engines import Run, aggregate, stream
from lpcb.files import check_target, write_atomic
from lpcb.plots import RegretCurve, regret_svg
from lpcb.problem import Problem, build
from lpcb.spec import REPAIRS, Spec


class Engine(StrEnum):
    stream = "stream"
    aggregate = "aggregate"


class Variant(StrEnum):
    paper = "paper"
    repaired = "repaired"


def horizon_of(text: str) -> int:
    """A horizon such as 1000000 or 1e18."""
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not (math.isfinite(number) and number == int(number)):
        raise ValueError(f"horizon is a whole number such as 1000000 or 1e18, not {text!r}")
    return int(number)


def simulate(
    problem: Annotated[
        str,
        typer.Option(help="random, line, f, theorem-2.1, theorem-2.2, case-1, case-2, or a CSV file."),
    ] = "random",
    d: Annotated[int | None, typer.Option(help="Dimension (random and line; default 2).")] = None,
    actions: Annotated[int | None, typer.Option(help="Number of actions (default 2).")] = None,
    contexts: Annotated[int | None, typer.Option(help="Number of contexts (default 16).")] = None,
    alpha: Annotated[float, typer.Option(help="Privacy parameter, in (0, 1].")] = 1.0,
    horizon: Annotated[str, typer.Option(help="Rounds, e.g. 1e18.")] = "1e12",
    engine: Annotated[Engine, typer.Option(help="stream (real reports) or aggregate.")] = Engine.aggregate,
    variant: Annotated[Variant, typer.Option(help="As printed, or with the repairs.")] = Variant.repaired,
    without: Annotated[list[str] | None, typer.Option(help="Switch a repair off; may be repeated.")] = None,
    beta: Annotated[float | None, typer.Option(help="In (0, 1/2]; default 1/ln T.")] = None,
    activation: Annotated[float, typer.Option(help="Factor on kappa_1 and kappa_1' (1 = printed).")] = 1.0,
    width: Annotated[float, typer.Option(help="Factor on kappa_2 and kappa_3 (1 = printed).")] = 1.0,
    seeds: Annotated[int, typer.Option(help="Independent runs.")] = 20,
    seed: Annotated[int, typer.Option(help="Root seed of runs and of random problems.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write everything here.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write an SVG of regret against rounds here.")] = None,
    against: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Run the printed, the repaired and a scaled algorithm and all baselines (what acts round "
            "by round up to 1e6 rounds); --activation and --width are then the factors of the scaled one.",
        ),
    ] = False,
) -> None:
    """Run Algorithm 1 and report regret, coverage and when it starts to learn.

    Examples: lpcb simulate --problem random --d 2 --horizon 1e18 --seeds 5 --json out.json,
    lpcb simulate --problem mine.csv --horizon 1e12 --compare --json out.json --plot out.svg
    """
    check_target("json", json_file)
    check_target("plot", plot)
    rounds = horizon_of(horizon)
    chosen = _problem(problem, d, actions, contexts, rounds, alpha, seed)
    if against:
        if engine is Engine.stream or without:
            given = (
                f"--engine {engine.value}" if engine is Engine.stream else f"--without {(without or [''])[0]}"
            )
            raise ValueError(f"--compare runs fixed specifications in aggregate and does not go with {given}")
        scale = None if activation == width == 1.0 else (activation, width)
        _compare(chosen, rounds, alpha, beta, scale, seeds, seed, json_file, plot)
        return
    repairs = REPAIRS - _known(without or []) if variant is Variant.repaired else frozenset()
    spec = Spec(
        chosen.d, chosen.actions, rounds, alpha, beta, activation=activation, width=width, repairs=repairs
    )
    run = _run(chosen, spec, engine, seeds, seed)
    result = as_dict(run, engine.value, variant.value, seed)
    if json_file is not None:
        write_atomic(json_file, json.dumps(result, indent=1) + "\n")
    if plot is not None:
        write_atomic(plot, _plot(run, variant.value))
    _print(run, [path for path in (json_file, plot) if path is not None])


def _compare(
    problem: Problem,
    horizon: int,
    alpha: float,
    beta: float | None,
    scale: tuple[float, float] | None,
    seeds: int,
    seed: int,
    json_file: Path | None,
    plot: Path | None,
) -> None:
    with counting("comparing") as progress:
        result = compare(problem, horizon, alpha, beta, scale, seeds, seed, progress)
    if json_file is not None:
        write_atomic(json_file, json.dumps(result.as_dict(), indent=1) + "\n")
    if plot is not None:
        title = f"{problem.name}: d={problem.d}, A={problem.actions}, alpha={alpha:g}"
        write_atomic(plot, regret_svg(result.curves(), title))
    _print_comparison(result, [path for path in (json_file, plot) if path is not None])


def _print_comparison(result: Comparison, written: list[Path]) -> None:
    rows = []
    for one in result.competitors:
        low, middle, high = one.total.min(), np.median(one.total), one.total.max()
        covered = "" if one.covered is None else f"{one.covered:.0%}"
        rows.append((one.name, one.privacy, one.form, f"{middle:.4g}", f"{low:.3g} to {high:.3g}", covered))
    show_table(
        ("algorithm", "privacy", "form", "median regret", "range over seeds", "covered"),
        rows,
        f"{result.problem.name}, T = {result.horizon:.3g}, {result.seeds} seeds",
        frozenset({"median regret", "range over seeds", "covered"}),
    )
    tell(*(f"Left out: {name}: {reason}." for name, reason in result.left_out.items()))
    say(*(f"Written: {path}" for path in written))


def _known(repairs: list[str]) -> frozenset[str]:
    if unknown := set(repairs) - REPAIRS:
        raise ValueError(f"unknown repair {sorted(unknown)[0]!r}; there are {', '.join(sorted(REPAIRS))}")
    return frozenset(repairs)


def _problem(
    name: str, d: int | None, actions: int | None, contexts: int | None, horizon: int, alpha: float, seed: int
) -> Problem:
    if name.endswith(".csv"):
        if not Path(name).is_file():
            raise ValueError(f"problem file {name!r} does not exist")
        return Problem.from_csv(name, seed=seed)
    return build(name, horizon=horizon, d=d, actions=actions, contexts=contexts, alpha=alpha, seed=seed)


def _run(problem: Problem, spec: Spec, engine: Engine, seeds: int, seed: int) -> Run:
    rng = np.random.default_rng(seed)
    execute = stream.run if engine is Engine.stream else aggregate.run
    with counting("simulating") as progress:
        return execute(problem, spec, seeds, rng, progress)


def as_dict(run: Run, engine: str, variant: str, seed: int) -> dict[str, Any]:
    """Everything about a run, JSON-able: per seed and epoch, and the parameters."""
    problem = run.problem
    return {
        "schema": 1,
        "engine": engine,
        "variant": variant,
        "seed": seed,
        "problem": {
            "name": problem.name,
            "reward": problem.reward,
            "features": problem.features.tolist(),
            "weights": problem.weights.tolist(),
            "theta": problem.theta.tolist(),
            "uniform_regret_per_round": problem.uniform_regret,
        },
        "parameters": run.spec.as_dict(),
        "rounds": run.rounds.tolist(),
        "elapsed": run.elapsed.tolist(),
        "regret": run.regret.tolist(),
        "total_regret": run.total_regret.tolist(),
        "covered": run.covered.tolist(),
        "mean_interval": run.width.tolist(),
        "active_bins": run.active_bins.tolist(),
        "onset": run.onset(),
    }


def _plot(run: Run, variant: str) -> str:
    curve = RegretCurve(f"{variant}, {len(run.regret)} seeds", run.elapsed, np.cumsum(run.regret, axis=1))
    uniform = run.problem.uniform_regret * run.elapsed.astype(np.float64)
    curves = [curve, RegretCurve("uniform", run.elapsed, uniform[None, :])]
    return regret_svg(
        curves, f"{run.problem.name}: d={run.spec.d}, A={run.spec.actions}, alpha={run.spec.alpha:g}"
    )


def _print(run: Run, written: list[Path]) -> None:
    uniform = run.problem.uniform_regret * run.spec.horizon
    values = {"regret": run.total_regret}
    if uniform > 0:
        values["regret / uniform's"] = run.total_regret / uniform
    values["mean interval at the end"] = run.width[:, -1]
    rows = [(name, f"{np.median(v):.4g}", f"{v.min():.4g} to {v.max():.4g}") for name, v in values.items()]
    for name, when in run.onset().items():
        known = sorted(t for t in when if t is not None)
        reached = f"{known[0]:.3g} to {known[-1]:.3g}" if known else "never"
        rows.append((name.replace("_", " ") + " at T", f"{len(known)} of {len(when)} seeds", reached))
    covered = f"{run.covered.all(axis=1).sum()} of {len(run.covered)} seeds"
    show_table(
        ("what", "median", "range over seeds"),
        [*rows, ("every interval covered", covered, "")],
        f"{run.problem.name}, T = {run.spec.horizon:.3g}, {len(run.regret)} seeds",
        frozenset({"median", "range over seeds"}),
    )
    say(*(f"Written: {path}" for path in written))
