"""What comes in and what goes out: bounded and pinned dependencies, a whole wheel, nothing unpickled."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = [path for package in ("lpcb", "verification") for path in sorted((ROOT / package).rglob("*.py"))]
PICKLES = {"pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal"}


def name_of(requirement: str) -> str:
    return re.sub(r"[-_.]+", "-", re.split(r"[\s\[<>=!~;(]", requirement.strip(), maxsplit=1)[0]).lower()


def requirements() -> list[str]:
    extras = [r for extra in PROJECT["optional-dependencies"].values() for r in extra]
    return [r for r in [*PROJECT["dependencies"], *extras] if name_of(r) != "lpcb"]


def test_every_dependency_has_an_upper_bound() -> None:
    assert len(requirements()) > 20
    assert [r for r in requirements() if not re.search(r">=[\w.]+,<[\w.]+$", r)] == []


def pinned() -> set[str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+", pin) for pin in pins)
    return {name_of(pin) for pin in pins}


def needed(names: list[str]) -> set[str]:
    """``names`` and all they need here, as far as they are installed: markers and extras decide that."""
    found: set[str] = set()
    while names:
        name = names.pop()
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if name not in found:
            found.add(name)
            names += [name_of(r) for r in distribution.requires or [] if "extra ==" not in r]
    return found


def test_everything_that_is_installed_for_the_tests_is_pinned() -> None:
    installed = needed([name_of(r) for r in requirements()])
    assert len(installed) > 40
    # Installers are not dependencies; make and CI bring their own.
    assert installed - pinned() - {"pip", "setuptools", "wheel"} == set()


def test_what_is_installed_fits_together() -> None:
    done = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_unpickled(path: Path) -> None:
    """Processes of one run speak pickle with each other, through loky and Dask; no file is ever read so."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not PICKLES & {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").split(".")[0] not in PICKLES
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            assert (node.value.id, node.attr) not in {
                ("joblib", "load"),
                ("np", "fromfile"),
                ("yaml", "load"),
            }
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in ("np.load", "np.savez", "np.save"):
            allowed = {word.arg: ast.unparse(word.value) for word in node.keywords}
            assert allowed.get("allow_pickle") == "False", ast.unparse(node)


def test_a_wheel_holds_all_that_the_packages_read(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(tmp_path), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("lpcb-*.whl")
    inside = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "lpcb", "verification"], cwd=ROOT, capture_output=True, text=True
    )
    known = set(listed.stdout.split())
    if known:  # a checkout: every committed file of the two packages, and nothing else of the repository
        assert known <= inside
    assert "verification/baseline.json" in inside
    assert "verification/report/schema.json" in inside
    assert any(name.startswith("verification/certificates/") for name in inside)
    assert any(name.endswith(".html.j2") for name in inside)
    assert {name.split("/")[0] for name in inside if ".dist-info" not in name} == {"lpcb", "verification"}
    points = next(name for name in inside if name.endswith("entry_points.txt"))
    assert "lpcb = verification.cli:app" in zipfile.ZipFile(wheel).read(points).decode()
