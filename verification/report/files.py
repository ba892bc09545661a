"""Reading a report file, and writing all four reports so that each is whole or untouched."""

from __future__ import annotations

import json
import os
import tempfile
from collections import Counter
from functools import cache
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from verification import strict
from verification.report.junit import render as junit
from verification.report.markdown import render as markdown
from verification.report.page import render as page
from verification.report.prose import clean
from verification.serialise import canonical_json
from verification.verdict import decide

Json = dict[str, Any]

NAMES = ("report.json", "report.md", "report.html", "junit.xml")


def write(report: Json, directory: Path) -> None:
    """Writes report.json, report.md, report.html and junit.xml into ``directory``.

    Everything is rendered, from what report.json will hold, before the first file is touched.
    """
    text = canonical_json(report)
    held = parse(text, "report")
    shown = clean(held)
    contents = (text, markdown(shown), page(shown), junit(shown))
    directory.mkdir(parents=True, exist_ok=True)
    replace_all(directory, dict(zip(NAMES, contents, strict=True)))


def read(path: Path) -> Json:
    """The report in ``path``; a ValueError says what is wrong with a file that does not hold one."""
    try:
        return parse(Path(path).read_text(encoding="utf-8"), str(path))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not a report, its bytes are not UTF-8 text") from error


def parse(text: str, name: str) -> Json:
    """The report in ``text``, checked; ``name`` stands in error messages."""
    try:
        report = strict.loads(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}: not JSON, or cut off: {error}") from error
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    if (fault := best_match(_validator().iter_errors(report))) is not None:
        what = fault.message if len(fault.message) <= 200 else f"{fault.message[:200]}…"
        raise ValueError(f"{name}: not a report of schema 1: at {fault.json_path}, {what}")
    for problem in _inconsistent(report):
        raise ValueError(f"{name}: {problem}")
    return dict(report)


def _inconsistent(report: Json) -> list[str]:
    """What a schema cannot say."""
    count = Counter((row["id"], row["variant"]) for row in report["rows"])
    problems = [f"row {id_}:{variant} is there twice" for (id_, variant), n in count.items() if n > 1]
    for row in report["rows"]:
        where = f"row {row['id']}:{row['variant']}"
        names = Counter(evidence["check"] for evidence in row["evidence"])
        problems += [f"{where}: evidence {name!r} is there twice" for name, n in names.items() if n > 1]
        follows = _verdict(row)
        if row["verdict"] != follows:
            problems.append(
                f"{where}: its verdict is {row['verdict']}, but {follows} follows from its evidence"
            )
        for series in (series for figure in row["figures"] for series in figure["series"]):
            lengths = {len(series[key]) for key in ("x", "y", "low", "high") if series[key] is not None}
            if len(lengths) > 1 or (series["low"] is None) != (series["high"] is None):
                problems.append(f"{where}: series {series['label']!r} has columns of different lengths")
    return problems


def _verdict(row: Json) -> str:
    """What follows from a row's evidence; a row with an error is undecided, whatever it found before."""
    if row["error"] is not None:
        return "UNDECIDED"
    evidence: Any = [SimpleNamespace(**found) for found in row["evidence"]]
    return decide(evidence)[0]


def replace_all(directory: Path, contents: dict[str, str]) -> None:
    """Each file by one rename, and no rename before all contents are on disk."""
    temporary: dict[str, str] = {}
    try:
        for name, content in contents.items():
            handle, temporary[name] = tempfile.mkstemp(dir=directory, prefix=f".{name}.")
            with open(handle, "wb") as stream:
                stream.write(content.encode())
                stream.flush()
                os.fsync(stream.fileno())
            os.chmod(temporary[name], 0o644)  # mkstemp's files are the owner's alone
        for name in contents:
            os.replace(temporary[name], directory / name)
    finally:
        for path in temporary.values():
            Path(path).unlink(missing_ok=True)


@cache
def _validator() -> Draft202012Validator:
    schema = json.loads(files("verification.report").joinpath("schema.json").read_text(encoding="utf-8"))
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)
