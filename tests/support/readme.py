"""The commands and snippets of README.md: found, run as a reader would, and, on request, filled in again.

``python -m tests.support.readme`` rewrites what the README shows under its commands. A line with nothing but
"…" stands for any number of lines, and is kept.
"""

from __future__ import annotations

import re
import shlex
from contextlib import chdir
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from typer.testing import CliRunner

from verification.cli import app

README = Path(__file__).resolve().parents[2] / "README.md"
_BLOCK = re.compile(r"^```(\w+)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_INLINE = re.compile(r"(?<!`)`(lpcb [^`]+)`(?!`)")
_EXIT = re.compile(r"\s+# exits with (\d)$")
SLOW = ("lpcb gate --profile quick",)
"""Too long for a test: .ci/run makes the whole report and judges it with the gate."""


@dataclass(frozen=True)
class Command:
    """One ``lpcb`` command, the lines shown under it, and the exit code it is said to have."""

    text: str
    shown: tuple[str, ...] = ()
    code: int = 0


def blocks(language: str, text: str) -> list[str]:
    return [body for name, body in _BLOCK.findall(text) if name == language]


def session(block: str) -> list[Command]:
    """The commands of one console block, each with what is shown under it."""
    out: list[Command] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            code = _EXIT.search(line)
            out.append(Command(_EXIT.sub("", line[2:]), code=int(code[1]) if code else 0))
        else:
            out[-1] = Command(out[-1].text, (*out[-1].shown, line.rstrip()), out[-1].code)
    return out


def inline(text: str) -> list[str]:
    """Commands in running text, in order, without those of blocks."""
    return list(dict.fromkeys(_INLINE.findall(_BLOCK.sub("", text))))


def files(text: str) -> dict[str, str]:
    """Blocks whose first line is a comment with a file's name."""
    found = (body for _, body in _BLOCK.findall(text) if re.match(r"# \S+\.(py|csv)\n", body))
    return {body.split("\n", 1)[0][2:]: body.split("\n", 1)[1] for body in found}


def run(command: str) -> tuple[int, tuple[str, ...]]:
    """Exit code and output, in this process and one worker, which changes no output."""
    words = shlex.split(command)[1:]
    if words[0] in ("verify", "gate") and "--list" not in words:
        words += ["--jobs", "1", "--quiet"]
    result = CliRunner().invoke(app, words, env={"COLUMNS": "80", "NO_COLOR": "1"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, tuple(line.rstrip() for line in result.stdout.splitlines())


def agrees(shown: tuple[str, ...], found: tuple[str, ...]) -> bool:
    """Line by line, blank lines aside; "…" is any number of lines."""
    parts = ["(?:.*\n)*?" if line == "…" else re.escape(line) + "\n" for line in shown if line]
    return re.fullmatch("".join(parts), "".join(line + "\n" for line in found if line)) is not None


def updated(text: str) -> str:
    """``text`` with what its commands print now, where they show all of it; each block in a new folder."""

    def replace(match: re.Match[str]) -> str:
        if match[1] != "console":
            return match[0]
        lines = []
        with TemporaryDirectory() as folder, chdir(folder):
            for name, body in files(text).items():
                Path(name).write_text(body, encoding="utf-8")
            for command in session(match[2]):
                code, found = run(command.text)
                lines.append("$ " + command.text + (f"  # exits with {code}" if code else ""))
                lines += command.shown if "…" in command.shown else [line for line in found if line]
        return "```console\n" + "\n".join(lines) + "\n```"

    return _BLOCK.sub(replace, text)


if __name__ == "__main__":
    README.write_text(updated(README.read_text(encoding="utf-8")), encoding="utf-8")
