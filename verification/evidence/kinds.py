"""What arguments of the methods mean by their kind, so that each is checked in the same way."""

from __future__ import annotations

from typing import Annotated

from lpcb.boundary import Range

MOST = 2**62
"""Counts are 64-bit integers."""

Count = Annotated[int, Range(0, MOST)]
Size = Annotated[int, Range(1, MOST)]
Draws = Annotated[int, Range(1, 10**8)]
"""What is drawn, or summed up term by term, has to fit into memory."""
Probability = Annotated[float, Range(0, 1)]
Inner = Annotated[float, Range(0, 1, ends="()")]
Power = Annotated[float, Range(1e-12, 1, ends="[)")]
Level = Annotated[float, Range(1e-300, 1, ends="[)")]
"""A false alarm rate; below this quantiles are no longer found."""
