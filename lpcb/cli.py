"""``lpcb simulate``: runs the algorithm and says what came of it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from lpcb.boundary import checked
from lpcb.compare import PRINTED_PRIVACY, STREAMED, STREAMED_SEEDS, Comparison, Progress, compare
from lpcb.console import counting, say, show_table, tell
from lpcb.engines import Run, aggregate, stream
from lpcb.files import check_target, deliver, write_atomic
from lpcb.plots import RegretCurve, comparison_svg, regret_svg
from lpcb.problem import Problem, build
from lpcb.spec import REPAIRS, Spec


class Engine(StrEnum):
    stream = "stream"
    aggregate = "aggregate"


class Variant(StrEnum):
    paper = "paper"
    repaired = "repaired"


@checked
def horizon_of(text: str, name: str = "horizon") -> int:
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
        raise ValueError(f"{name} is a whole number such as 1000000 or 1e18, not {text!r}")
    return int(number)


def simulate(
    problem: Annotated[
        str,
        typer.Option(help="random, line, f, theorem-2.1, theorem-2.2, case-1, case-2, or a CSV file."),
    ] = "random",
    d: Annotated[int | None, typer.Option(help="Dimension (random and line; default 2).")] = None,
    actions: Annotated[int | None, typer.Option(help="Number of actions (default 2).")] = None,
    contexts: Annotated[int | None, typer.Option(help="Number of contexts (default 16).")] = None,
    theta: Annotated[
        str | None,
        typer.Option(
            help="The unknown parameter, d numbers such as 0.6,-0.8 of norm at most 1 (random, line and CSV "
            "files; default: drawn with --seed)."
        ),
    ] = None,
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
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything here; - is standard output.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write an SVG of regret against rounds here.")] = None,
    against: Annotated[
        bool,
        typer.Option(
            "--compare",
            help="Run the printed, the repaired and a scaled algorithm and all baselines; --activation and "
            "--width are then the factors of the scaled one.",
        ),
    ] = False,
    streamed: Annotated[
        str,
        typer.Option(
            help="With --compare: longest horizon at which baselines that act round by round are run, up to "
            f"1e6 (with at most {STREAMED_SEEDS} seeds; about 10 s for every 1e5 rounds)."
        ),
    ] = f"{STREAMED:.0e}",
) -> None:
    """Run Algorithm 1 and report regret, coverage and when it starts to learn.

    Examples: lpcb simulate --problem random --d 2 --horizon 1e18 --seeds 5 --json out.json,
    lpcb simulate --problem mine.csv --horizon 1e12 --compare --json out.json --plot out.svg
    """
    check_target("json", json_file)
    check_target("plot", plot)
    rounds = horizon_of(horizon)
    chosen = _problem(problem, d, actions, contexts, rounds, alpha, seed)
    if theta is not None:
        chosen = _with_theta(chosen, problem, theta)
    which = _which_theta(chosen, problem, theta, seed)
    if against:
        if engine is Engine.stream or without:
            given = (
                f"--engine {engine.value}" if engine is Engine.stream else f"--without {(without or [''])[0]}"
            )
            raise ValueError(f"--compare runs fixed specifications in aggregate and does not go with {given}")
        scale = None if activation == width == 1.0 else (activation, width)
        limit = horizon_of(streamed, "streamed")
        with _telling() as progress:
            compared = compare(chosen, rounds, alpha, beta, scale, seeds, seed, progress, limit)
        if _write_comparison(compared, json_file, plot):
            return
        _print_comparison(compared, which, [path for path in (json_file, plot) if path is not None])
        return
    repairs = REPAIRS - _known(without or []) if variant is Variant.repaired else frozenset()
    spec = Spec(
        chosen.d, chosen.actions, rounds, alpha, beta, activation=activation, width=width, repairs=repairs
    )
    run = _run(chosen, spec, engine, seeds, seed)
    result = as_dict(run, engine.value, variant.value, seed)
    if plot is not None:
        write_atomic(plot, _plot(run, variant.value))
    if deliver(json_file, json.dumps(result, indent=1) + "\n"):
        return
    _print(run, which, [path for path in (json_file, plot) if path is not None])


@contextmanager
def _telling() -> Iterator[Progress]:
    """On a terminal, what is being run; nothing elsewhere."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda name, number, total: None
        return
    with console.status("comparing") as status:
        yield lambda name, number, total: status.update(f"comparing: {name} ({number} of {total})")


def _write_comparison(result: Comparison, json_file: Path | None, plot: Path | None) -> bool:
    """True if standard output is taken by the JSON."""
    problem = result.problem
    if plot is not None:
        title = f"{problem.name}: d={problem.d}, A={problem.actions}, alpha={result.alpha:g}"
        write_atomic(plot, comparison_svg(result.curves(), title))
    return deliver(json_file, json.dumps(result.as_dict(), indent=1) + "\n")


SHORT = {"none": "no", "nothing is sent": "no data", PRINTED_PRIVACY: "claimed", "alpha-LDP": "LDP"}
"""What a promise to users is called in a narrow table."""


def _print_comparison(result: Comparison, which: list[str], written: list[Path]) -> None:
    rows, promises, forms = [], dict[str, str](), dict[str, list[str]]()
    for one in result.competitors:
        low, middle, high = one.total.min(), float(np.median(one.total)), one.total.max()
        short = SHORT.get(one.privacy, "LDP*")
        promises[short] = one.privacy
        forms.setdefault(one.form, []).append(one.name)
        covered = "" if one.covered is None else f"{one.covered:.0%}"
        spread = f"{_number(low)}–{_number(high)}"
        rows.append((one.name, short, covered, f"{one.seeds}", _number(middle), spread))
    show_table(
        ("algorithm", "private", "covered", "seeds", "regret", "range"),
        rows,
        f"{result.problem.name}, T = {result.horizon:.3g}, alpha = {result.alpha:g}: median regret and its "
        "range over seeds",
        frozenset({"covered", "seeds", "regret", "range"}),
    )
    tell(
        "Covered: share of seeds whose intervals always held the truth.",
        "Private: " + "; ".join(f"{k}: {v}" for k, v in promises.items() if k != v) + ".",
        "How: " + "; ".join(f"{form}: {', '.join(names)}" for form, names in forms.items()) + ".",
        *(f"Left out: {name}: {reason}." for name, reason in result.left_out.items()),
        *which,
    )
    if any(one.seeds < result.seeds for one in result.competitors):
        tell(f"What acts round by round was run with {STREAMED_SEEDS} seeds only.")
    say(*(f"Written: {path}" for path in written))


def _number(value: float) -> str:
    """Three digits in few characters.

    >>> _number(248600.0), _number(13.45)
    ('2.49e5', '13.4')
    """
    return f"{value:.3g}".replace("e+0", "e").replace("e+", "e")


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


def _with_theta(problem: Problem, name: str, text: str) -> Problem:
    """The problem with the parameter that the user gives; the paper's instances have theirs."""
    if name not in ("random", "line") and not name.endswith(".csv"):
        raise ValueError(
            f"theta={text!r}: problem {name!r} has a theta of its own; random, line and CSV take one"
        )
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        raise ValueError(f"theta is numbers separated by commas such as 0.6,-0.8, not {text!r}") from None
    if len(numbers) != problem.d:
        raise ValueError(f"theta={text!r} has {len(numbers)} numbers; the problem has d={problem.d}")
    return replace(problem, theta=np.array(numbers))


def _which_theta(problem: Problem, name: str, given: str | None, seed: int) -> list[str]:
    """One line that says which theta a user's own contexts were run with."""
    if given is None and not name.endswith(".csv"):
        return []
    numbers = ", ".join(f"{x:.4g}" for x in problem.theta)
    how = "as given" if given is not None else f"drawn at random with seed {seed}; --theta sets it"
    return [f"theta = ({numbers}), {how}."]


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


def _print(run: Run, which: list[str], written: list[Path]) -> None:
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
    tell(*which)
    say(*(f"Written: {path}" for path in written))
