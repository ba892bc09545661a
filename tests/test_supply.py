"""What comes in and what goes out: bounded and pinned dependencies, a whole wheel, nothing unpickled."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from verification.report.files import NAMES

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
SOURCES = [path for package in ("lpcb", "verification") for path in sorted((ROOT / package).rglob("*.py"))]
PATHS = sysconfig.get_paths()
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


def call(*command: str | Path, cwd: Path | None = None, **extra: str) -> str:
    """What a command prints; it has to succeed. It finds no packages but those that are installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | extra
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=kept, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    call(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", folder, ROOT)
    (found,) = folder.glob("lpcb-*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel in it, which borrows what the wheel needs from the one that tests."""
    folder = tmp_path_factory.mktemp("elsewhere") / "venv"
    venv.create(folder, symlinks=True)
    python = folder / "bin/python"
    call(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", wheel)
    (site,) = folder.glob("lib/python*/site-packages")
    # Only folders are borrowed: the .pth file of an editable install in them is not followed.
    (site / "borrowed.pth").write_text("\n".join(dict.fromkeys([PATHS["purelib"], PATHS["platlib"]])) + "\n")
    return folder


def test_the_wheel_works_outside_the_repository(installed: Path, tmp_path: Path) -> None:
    """The same report as from the source, from packages that lie where the wheel was installed."""
    python = installed / "bin/python"
    ask = "import lpcb, verification; print(lpcb.__file__, verification.__file__)"
    for place in call(python, "-c", ask, cwd=tmp_path).split():
        assert Path(place).is_relative_to(installed)
    assert "No broken requirements" in call(python, "-m", "pip", "check", cwd=tmp_path)
    words = ["verify", "lemma-4.2-psi", "prop-4.1-count", "--profile", "quick", "--jobs", "2", "--quiet"]
    call(installed / "bin/lpcb", *words, "--out", "theirs", cwd=tmp_path)
    call(sys.executable, "-m", "verification", *words, "--out", tmp_path / "ours", cwd=ROOT)
    for name in NAMES:
        assert (tmp_path / "theirs" / name).read_bytes() == (tmp_path / "ours" / name).read_bytes(), name


def test_a_wheel_holds_all_that_the_packages_read(wheel: Path) -> None:
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
    assert "lpcb = verification.__main__:main" in zipfile.ZipFile(wheel).read(points).decode()
