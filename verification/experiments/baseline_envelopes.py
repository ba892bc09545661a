"""Worst regret of the baselines at each horizon, over F(s) with s on a grid that scales with T."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lpcb.arrays import Array
from lpcb.baselines import BASELINES
from lpcb.baselines._epochs import FIRST
from lpcb.problem import family_f
from verification.claim import Arrays, Experiment, Setting
from verification.verdict import Profile

LARGEST = 0.86
"""F(s) exists up to sqrt(3)/2."""


@dataclass(frozen=True)
class BaselineGrid:
    """F(s) with s = size * T^-power; ``streamed`` draws every user, otherwise in aggregate.

    ``seeds`` is for streams: rounds cost nearly the same for few and many, so half choose s and half give
    regret.
    """

    name: str
    power: float
    sizes: tuple[float, ...]
    expected: float
    streamed: bool = False
    seeds: int = 64
    why: str = ""

    @property
    def key(self) -> str:
        return f"{self.name}, streamed" if self.streamed else self.name

    def gaps(self, horizon: float) -> list[float]:
        """The sizes at this horizon, each once: those beyond LARGEST are LARGEST."""
        return sorted({min(LARGEST, size * horizon**-self.power) for size in self.sizes})


EARLY = (
    "not seen yet: up to T = 1e6 nothing is learned, the worst s is the largest there is, and regret is "
    "linear; the aggregated form shows it from 1e12 on"
)
BEND = (
    "between two regimes: at T = 1e3 it follows the sign of its noisy estimate and the worst s, near "
    "4 T^(-1/4), is about the largest there is; from 1e12 on optimism rules and it is 30 to 120 T^(-1/4); "
    "while that factor rises regret grows faster than T^(3/4), as the doubling form shows from the start on"
)
GRIDS = (
    BaselineGrid("uniform", 0.0, (LARGEST,), 1.0),
    BaselineGrid("elimination_ls", 0.5, (16.0, 32.0, 64.0, 128.0, 256.0), 0.5),
    BaselineGrid("linucb_doubling", 0.5, (6.0, 12.0, 24.0, 48.0, 96.0), 0.5),
    BaselineGrid("private_statistics", 0.25, (30.0, 36.0, 42.0, 50.0, 60.0, 71.0, 85.0, 101.0), 0.75),
    BaselineGrid("ldp_linucb_doubling", 0.25, (15.0, 30.0, 60.0, 120.0, 240.0), 0.75),
    BaselineGrid("input_perturbation", 0.25, (125.0, 150.0, 178.0, 212.0, 252.0, 300.0, 357.0), 0.75),
)
"""Grids found once by a wider search: the maximum lies inside at every horizon looked at."""
STREAMS = (
    BaselineGrid("linucb", 0.5, (3.0, 6.0, 12.0, 24.0), 0.5, streamed=True),
    BaselineGrid(
        "ldp_linucb", 0.25, (2.5, 4.0, 6.5, 10.0, 15.0, 22.0), 0.75, streamed=True, seeds=128, why=BEND
    ),
    BaselineGrid("input_perturbation", 0.0, (LARGEST,), 0.75, streamed=True, why=EARLY),
)
"""What acts or reports user by user, as it is. Private LinUCB's worst s is below that of its
doubling form at long horizons: so early it follows its noisy estimate, and optimism says nothing yet."""
FEW = ("uniform", "elimination_ls", "private_statistics")


def baseline_grids(setting: Setting) -> tuple[BaselineGrid, ...]:
    """All beside the repaired algorithm, one of each exponent beside the printed one and in the quick
    profile; what is streamed is for the thorough one."""
    if setting.variant == "paper" or setting.profile == "quick":
        return tuple(grid for grid in GRIDS if grid.name in FEW)
    return GRIDS + STREAMS if setting.profile == "thorough" else GRIDS


DOUBLINGS: dict[Profile, tuple[int, ...]] = {
    "quick": (36, 54),
    "standard": (34, 44, 54),
    "thorough": (34, 38, 42, 46, 50, 54),
}
"""Horizons FIRST (2^k - 1), at which epochs of doubling length end: 1.1e12 to 1.2e18."""
STREAMED = (10**3, 10**4, 10**5, 10**6)
"""A million rounds is the most that is played round by round; it takes most of the study's time."""
SEARCH, FRESH = 12, 48


def _run(setting: Setting, rng: np.random.Generator) -> Arrays:
    """The worst of F(s) for each baseline at each horizon, and other seeds there."""
    out: dict[str, Array] = {}
    for grid in baseline_grids(setting):
        long = tuple(FIRST * (2**k - 1) for k in DOUBLINGS[setting.profile])
        horizons = STREAMED if grid.streamed else long
        columns, inside, sizes = [], [], []
        for T in horizons:
            regret, at, gaps = (_streamed if grid.streamed else _aggregated)(grid, T, rng)
            columns.append(regret)
            inside.append(0 < at < len(gaps) - 1 or len(gaps) == 1)
            sizes.append(gaps[at])
        out[f"{grid.key}:regret"] = np.stack(columns, axis=1)
        out[f"{grid.key}:interior"] = np.array([inside])
        out[f"{grid.key}:size"] = np.array([sizes])
        out[f"{grid.key}:horizon"] = np.array([horizons], dtype=np.float64)
    return out


def _aggregated(grid: BaselineGrid, T: int, rng: np.random.Generator) -> tuple[Array, int, list[float]]:
    simulate = BASELINES[grid.name].aggregate
    if simulate is None:
        raise ValueError(f"baseline {grid.name!r} has no aggregate form")
    gaps = grid.gaps(T)
    means = [float(simulate(family_f(s), T, 1.0, SEARCH, rng, [T]).regret.mean()) for s in gaps]
    at = int(np.argmax(means))
    return simulate(family_f(gaps[at]), T, 1.0, FRESH, rng, [T]).regret[:, 0], at, gaps


def _streamed(grid: BaselineGrid, T: int, rng: np.random.Generator) -> tuple[Array, int, list[float]]:
    stream, gaps = BASELINES[grid.name].stream, grid.gaps(T)
    seeds = grid.seeds if len(gaps) > 1 else 8  # with one s there is nothing to choose
    regret = np.stack([stream(family_f(s), T, 1.0, seeds, rng, [T]).regret[:, 0] for s in gaps])
    at = int(regret[:, ::2].mean(axis=1).argmax())
    return regret[at, 1::2], at, gaps


BASELINE_ENVELOPES = Experiment("baseline-envelopes", _run, {"quick": 1, "standard": 1, "thorough": 1})
