"""Two ways to run the same algorithm: ``stream`` with real clients, ``aggregate`` with exact laws of sums."""

from lpcb.engines import aggregate, stream
from lpcb.engines.run import Run

__all__ = ["Run", "aggregate", "stream"]
