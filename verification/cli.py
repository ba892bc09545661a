"""The lpcb command: verify, gate, replay, explain, diff, audit, and lpcb's own simulate and plan."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Annotated, Any

import typer

from lpcb.cli import simulate
from lpcb.files import check_target
from lpcb.plan_cli import plan_command
from verification import baseline
from verification.account import account, contents
from verification.alarms_cli import app as alarms_app
from verification.audit_cli import audit_command
from verification.console import CleanGroup, brief, complain, progress, say, show_table, tell, written
from verification.diff import diff as compare_reports
from verification.explain import explanation, newest
from verification.explain import show as show_explanation
from verification.fingerprint import versions
from verification.gate import Change, compare, stale
from verification.message import failure
from verification.mutants_cli import mutants_command
from verification.registry import Registry, load
from verification.replay import replay as run_again
from verification.report.model import sentences
from verification.reportfile import read_report
from verification.runner import ROW_TIMEOUT, Run, as_profile, as_variants, passed, resolve
from verification.runner import verify as run_rows
from verification.verdict import VARIANTS, Variant

app = typer.Typer(
    cls=CleanGroup,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_show_locals=False,
    help="Locally private linear contextual bandits, and a check of every claim made about them. "
    "Exit codes: 0 as expected, 1 a row or gate failed, 2 bad input, 3 incomplete run.",
)

Claims = Annotated[list[str] | None, typer.Argument(metavar="CLAIM", help="Claim ids; all if none.")]
Modules = Annotated[
    list[str] | None,
    typer.Option("--claims", metavar="MODULE", help="Your own claims: a module or a .py file. Repeatable."),
]
ProfileName = Annotated[str, typer.Option(metavar="quick|standard|thorough", help="How hard to look.")]
Seed = Annotated[int, typer.Option(help="Root of all randomness.")]
Jobs = Annotated[int, typer.Option(help="Worker processes; -1 is one per core.")]
BaselineFile = Annotated[
    Path | None, typer.Option("--baseline", help="Your own expectations, over the committed ones.")
]
ReportFile = Annotated[
    Path | None,
    typer.Option(
        "--report",
        show_default=False,
        help="The report to look at; by default the newest in reports/latest and reports/partial that has "
        "the claim.",
    ),
]


def _json_target(path: Path | None) -> Path | None:
    check_target("json", path)
    return path


def _folder(text: str) -> Path:
    if not text:
        raise typer.BadParameter("it names a folder, and cannot be empty; the current folder is .")
    return Path(text)


JsonFile = Annotated[
    Path | None,
    typer.Option(
        "--json",
        callback=_json_target,
        help="Write it here as JSON; - is standard output, and nothing else.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress.")]

LATEST = Path("reports/latest")
PARTIAL = Path("reports/partial")
"""Where a run of named claims, or of one variant, goes: it must not overwrite the report on everything."""


def _version(wanted: bool) -> None:
    if wanted:
        say(f"lpcb {versions()['lpcb']}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, metavar="", help="Show the version."),
    ] = False,
) -> None:
    # A user's claims module may lie in the current directory, which commands do not search by themselves.
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


@app.command()
def verify(
    claims: Claims = None,
    profile: ProfileName = "quick",
    variant: Annotated[str, typer.Option(metavar="all|paper|repaired", help="Which statements.")] = "all",
    out: Annotated[
        Path | None,
        typer.Option(
            parser=_folder,
            metavar="PATH",
            show_default=False,
            help="Where the reports go: by default reports/latest, or reports/partial when claims or a "
            "variant are named.",
        ),
    ] = None,
    jobs: Jobs = -1,
    seed: Seed = 0,
    executor: Annotated[
        str,
        typer.Option(
            help="local; dask://HOST:PORT of a scheduler; or in-process, for a debugger: without workers, so "
            "that a claim can hang the run or end it."
        ),
    ] = "local",
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was stopped.")] = False,
    show_list: Annotated[bool, typer.Option("--list", help="Show the claims and stop.")] = False,
    modules: Modules = None,
    baseline_file: BaselineFile = None,
    row_timeout: Annotated[float, typer.Option(help="Seconds for one row or shard.")] = ROW_TIMEOUT,
    quiet: Quiet = False,
    json_file: JsonFile = None,
) -> None:
    """Check claims and write report.json, .md, .html, junit.xml and timings.json.

    With --json also a short account of the rows, or with --list of the claims.

    Exit codes: 0 all rows as expected, 1 a row is not, 2 bad input, 3 incomplete (go on with --resume).

    Examples: lpcb verify --profile standard · lpcb verify lemma-4.2-psi --variant paper --out /tmp/r
    """
    if show_list:
        _list(load(resolve(modules or [])), json_file)
        return
    if out is None:
        out = PARTIAL if claims or variant != "all" else LATEST
    expected = baseline.expectations(baseline_file)
    with progress(quiet, _count(claims or [], as_variants(variant), modules or [])) as bar:
        run = run_rows(
            claims or [],
            as_variants(variant),
            as_profile(profile),
            seed,
            out,
            modules=modules or [],
            jobs=jobs,
            executor=executor,
            resume=resume,
            row_timeout=row_timeout,
            expectations=expected,
            progress=bar,
        )
    if not written(json_file, account(run.report, out)):
        _show_rows(run.report)
        for row in run.report["rows"]:
            if not row["passed"]:
                found = baseline.find(row, as_profile(profile), expected)
                say(failure(row, found, profile, seed, out / "report.json", modules or []), "")
        tell(" ".join(sentences(run.report)[:3]), "")
        say(f"Read it: {out / 'report.html'} or report.md; all numbers: report.json")
    everything = not claims and variant == "all"
    gone = stale(expected, load(resolve(modules or []))) if everything else []
    if gone:
        complain(f"The baseline expects rows that no claim has any more: {', '.join(c.row for c in gone)}.")
    _exit(run, f"lpcb verify … --out {out} --resume", bool(gone) or not passed(run.report))


@app.command()
def gate(
    claims: Claims = None,
    profile: ProfileName = "quick",
    update_baseline: Annotated[
        bool, typer.Option("--update-baseline", help="Accept what was found and write it down.")
    ] = False,
    report: Annotated[Path | None, typer.Option(help="Judge this report; no fresh run.")] = None,
    jobs: Jobs = -1,
    seed: Seed = 0,
    modules: Modules = None,
    baseline_file: BaselineFile = None,
    quiet: Quiet = False,
    json_file: JsonFile = None,
) -> None:
    """Compare a fresh run, or a report, with the committed verdicts and measures.

    A report is judged on the claims that are named, or on all: what it lacks is a change too.

    Exit codes: 0 nothing changed, 1 something did, 2 bad input, 3 incomplete run.

    Examples: lpcb gate --profile quick · lpcb gate --report reports/latest/report.json --update-baseline
    """
    target = baseline_file or baseline.BASELINE
    if update_baseline:
        check_target("baseline", target)
    registry = load(resolve(modules or []))
    fresh = update_baseline and not target.exists()
    expected = baseline.expectations(None if fresh else baseline_file)
    if report is not None:
        run = _read_run(report, profile, claims or [], registry)
    else:
        rows = _count(claims or [], VARIANTS, modules or [])
        with tempfile.TemporaryDirectory() as folder, progress(quiet, rows) as bar:
            run = run_rows(
                claims or [],
                as_variants("all"),
                as_profile(profile),
                seed,
                Path(folder),
                modules=modules or [],
                jobs=jobs,
                expectations=expected,
                progress=bar,
            )
    found = left = compare(run.report, expected, registry, claims or [])
    complete: bool = run.report["complete"]
    if update_baseline and complete:
        old = {} if fresh else baseline.read(target)
        baseline.write(target, baseline.updated(old, run.report, registry))
        left = compare(run.report, baseline.expectations(baseline_file), registry, claims or [])
    judged = run.report | {
        "rows": [baseline.judge(row, as_profile(profile), expected) for row in run.report["rows"]]
    }
    short = account(judged, None) | {
        "passed": complete and not left,
        "changes": found,
        "updated": update_baseline and complete,
    }
    if not written(json_file, short) and complete:
        _show_changes(found, "from the baseline")
        if update_baseline:
            _show_changes(left, f"that {target.name} cannot take in")
    _exit(run, "lpcb gate", bool(left))


@app.command()
def replay(
    target: Annotated[
        str, typer.Argument(metavar="ROW-OR-FILE", help="lemma-4.2-psi:paper, or a .json file.")
    ],
    report: ReportFile = None,
    modules: Modules = None,
    json_file: JsonFile = None,
) -> None:
    """Run a counterexample, or a row's evidence, again and compare it with what was recorded.

    Exit codes: 0 it comes out the same, 1 it does not, 2 bad input.

    Examples: lpcb replay lemma-4.2-psi:paper · lpcb replay counterexample.json
    """
    pairs = run_again(target, report or _newest(target), load(resolve(modules or [])))
    agree = all(pair.agrees for pair in pairs)
    if not written(json_file, {"schema": 1, "target": target, "agrees": agree, "values": pairs}):
        show_table(
            ("evidence", "what", "recorded", "now"),
            [(pair.evidence, pair.what, brief(pair.recorded), brief(pair.now)) for pair in pairs],
        )
        say("It comes out the same." if agree else "It does not come out the same.")
    raise typer.Exit(0 if agree else 1)


@app.command()
def explain(
    claim: Annotated[str, typer.Argument(metavar="CLAIM")],
    report: ReportFile = None,
    modules: Modules = None,
    json_file: JsonFile = None,
) -> None:
    """Show what a claim says, how it is checked, what came of it, and what is wrong with it.

    Without a report the verdicts are those of the committed baseline.

    Exit codes: 0 explained, whatever the verdict, 2 bad input.

    Example: lpcb explain lemma-4.2-psi
    """
    known = load(resolve(modules or [])).claim(claim)
    found = explanation(known, report or _newest(claim), modules or [])
    if not written(json_file, found):
        show_explanation(found)


@app.command()
def diff(
    left: Annotated[Path, typer.Argument(metavar="A/report.json")],
    right: Annotated[Path, typer.Argument(metavar="B/report.json")],
    json_file: JsonFile = None,
) -> None:
    """Show in what two reports differ.

    Exit codes: 0 they are the same, 1 they differ, 2 bad input.

    Example: lpcb diff old/report.json new/report.json
    """
    found = compare_reports(read_report(left), read_report(right))
    if not written(json_file, {"schema": 1, "differences": found}):
        rows = [(d.row, d.what, brief(d.left), brief(d.right)) for d in found]
        if rows:
            show_table(("row", "what", "A", "B"), rows)
        say(f"{len(found)} difference{'' if len(found) == 1 else 's'}.")
    raise typer.Exit(1 if found else 0)


app.command(epilog="Exit codes: 0 done, 2 bad input.")(simulate)
app.command("audit")(audit_command)
app.add_typer(alarms_app, name="alarms")
app.command("mutants")(mutants_command)
app.command("plan")(plan_command)


def _count(claims: list[str], variants: tuple[Variant, ...], modules: list[str]) -> int:
    """How many rows a run has, those with a repair switched off included."""
    registry = load(resolve(modules))
    rows = registry.rows(claims, variants)
    return len(rows) + len(registry.repair_rows(rows))


def _newest(target: str) -> Path:
    """The report that a claim or row is looked up in when none is named."""
    places = [folder / "report.json" for folder in (LATEST, PARTIAL)]
    return newest(places, target.split(":")[0]) or places[0]


def _list(registry: Registry, json_file: Path | None) -> None:
    if written(json_file, contents(registry)):
        return
    rows = [(c.id, ", ".join(c.variants), str(len(c.checks)), c.title) for c in registry.claims.values()]
    show_table(("claim", "variants", "checks", "title"), rows)


def _show_rows(report: dict[str, Any]) -> None:
    rows = [
        (f"{r['id']}:{r['variant']}", r["verdict"], r["expected"] or "nothing", "" if r["passed"] else "✗")
        for r in report["rows"]
    ]
    show_table(("row", "verdict", "expected", ""), rows)
    if report["repairs"]:
        matrix = [(e["repair"], e["id"], e["verdict"]) for e in report["repairs"]]
        show_table(("without repair", "claim", "verdict"), matrix)


def _show_changes(found: list[Change], which: str) -> None:
    if found:
        rows = [(c.row, c.what, brief(c.expected), brief(c.found)) for c in found]
        show_table(("row", "what", "baseline", "found"), rows)
    say(f"{len(found)} change{'' if len(found) == 1 else 's'} {which}.")


def _read_run(path: Path, profile: str, claims: list[str], registry: Registry) -> Run:
    """What a report says of ``claims``, or of everything."""
    found = read_report(path)
    if found["profile"] != profile:
        raise ValueError(f"report {str(path)!r} is of profile {found['profile']}, not {profile}")
    if found["versions"] != versions():
        here, there = versions(), found["versions"]
        other = [name for name in sorted({*here, *there}) if there.get(name) != here.get(name)]
        told = ", ".join(f"{name} {there.get(name)}, not {here.get(name)}" for name in other)
        complain(f"The report was made with {told}.")
    if claims:
        ids = {row.claim for row in registry.rows(claims)}
        found |= {part: [e for e in found[part] if e["id"] in ids] for part in ("rows", "repairs")}
    return Run(found, None if found["complete"] else "the report is incomplete")


def _exit(run: Run, resume: str, failed: bool) -> None:
    if not run.report["complete"]:
        complain(f"Incomplete: {run.trouble or 'rows are missing'}. Go on with: {resume}")
        raise typer.Exit(3)
    raise typer.Exit(1 if failed else 0)
