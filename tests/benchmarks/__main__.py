"""Run all benchmarks, or those named on the command line."""

from __future__ import annotations

import pkgutil
import sys
from importlib import import_module
from pathlib import Path


def main(wanted: list[str]) -> int:
    known = sorted(module.name for module in pkgutil.iter_modules([str(Path(__file__).parent)]))
    known = [name for name in known if not name.startswith("_")]
    unknown = [name for name in wanted if name not in known]
    if unknown:
        print(f"unknown benchmark {', '.join(unknown)}; there are {', '.join(known)}", file=sys.stderr)
        return 2
    for name in wanted or known:
        print(f"== {name}")
        import_module(f"tests.benchmarks.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
