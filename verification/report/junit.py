"""The report for continuous integration: one JUnit test case per row."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

from verification.report.model import failed, failure

Json = dict[str, Any]

DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'


def render(report: Json) -> str:
    rows = report["rows"]
    counts = {
        "tests": len(rows),
        "failures": sum(failed(row) and row["error"] is None for row in rows),
        "errors": sum(row["error"] is not None for row in rows),
    }
    attributes = {"name": "lpcb", **{key: str(value) for key, value in counts.items()}}
    suite = ElementTree.Element("testsuite", attributes)
    properties = ElementTree.SubElement(suite, "properties")
    for name in ("seed", "profile", "complete"):
        value = str(report[name]).lower()
        ElementTree.SubElement(properties, "property", {"name": name, "value": value})
    for row in rows:
        _case(suite, row)
    if not report["complete"]:
        ElementTree.SubElement(suite, "system-err").text = "The run is incomplete: rows are missing."
    suites = ElementTree.Element("testsuites", attributes)
    suites.append(suite)
    ElementTree.indent(suites)
    return f"{DECLARATION}\n{ElementTree.tostring(suites, encoding='unicode')}\n"


def _case(suite: ElementTree.Element, row: Json) -> None:
    name = {"classname": f"lpcb.{row['variant']}", "name": row["id"]}
    case = ElementTree.SubElement(suite, "testcase", name)
    if not failed(row):
        return
    kind = "failure" if row["error"] is None else "error"
    problem = ElementTree.SubElement(case, kind, {"message": failure(row), "type": row["verdict"]})
    replay = f"lpcb replay {row['id']}:{row['variant']}"
    problem.text = "\n".join(filter(None, [row["reason"], row["error"], replay]))
