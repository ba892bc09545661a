"""Privacy loss of a randomizer: exactly, by its log-density, or from samples with a confidence level."""

from verification.evidence.privacy.blackbox import BlackBox, EventTest, blackbox
from verification.evidence.privacy.exact import Counts, delta_low, detectable, epsilon_low, refutes
from verification.evidence.privacy.search import Box
from verification.evidence.privacy.whitebox import HockeyStick, WhiteBox, Witness, whitebox

__all__ = [
    "BlackBox",
    "Box",
    "Counts",
    "EventTest",
    "HockeyStick",
    "WhiteBox",
    "Witness",
    "blackbox",
    "delta_low",
    "detectable",
    "epsilon_low",
    "refutes",
    "whitebox",
]
