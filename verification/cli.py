"""The lpcb command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any, Optional

import typer

app = typer.Typer(no_args_is_help=True)

@app.callback()
def main() -> None:
    pass

@app.command()
def verify(
    claims: Annotated[Optional[list[str]], typer.Argument()] = None,
    out: Path = Path("reports/latest"),
    jobs: int = -1,
    resume: bool = False,
    modules: Annotated[Optional[list[str]], typer.Option("--claims")] = None,
) -> None:
    from verification.runner import verify as run
    r = run(claims or [], ["paper", "repaired"], "quick", 0, out, modules=modules or [], jobs=jobs, resume=resume)
    print(r.trouble, len(r.report["rows"]))

if __name__ == "__main__":
    app()
