"""What is changed in the code so that every random check can be run thousands of times.

One constant makes every check reject at 5 % in place of 1e-9; the others are sample sizes of the quick
profile. Methods, windows, bounds and problems stay as they are.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

from verification.alarms.code import claim_hash, home, reached
from verification.fingerprint import versions
from verification.substitution import Edit

LEVEL = 0.05
BLOCK = 50
"""Seeds that share one simulation of each experiment."""

RELEVEL = Edit("verification.verdict", "FALSE_ALARM = 1e-9", f"FALSE_ALARM = {LEVEL}")

_CLAIMS, _EXPERIMENTS = "verification.claims", "verification.experiments"

FEWER_SAMPLES = (
    Edit(f"{_CLAIMS}.intro_lower_regret", '{"quick": 6,', '{"quick": 2 * 50,'),
    Edit(f"{_CLAIMS}.theorem_2_1_rate", '{"quick": 1000,', '{"quick": 40,'),
    Edit(f"{_CLAIMS}.theorem_2_1_rate", "DRAWN_SEEDS = 100", "DRAWN_SEEDS = 2"),
    Edit(f"{_CLAIMS}.theorem_2_1_rate", "BOUND_SEEDS = 1000", "BOUND_SEEDS = 40"),
    Edit(f"{_CLAIMS}.theorem_2_1_rate", "RESPONSE_SEEDS = 6000", "RESPONSE_SEEDS = 60"),
    Edit(f"{_CLAIMS}.theorem_2_2_estimators", '{"quick": 1500,', '{"quick": 40,'),
    Edit(
        f"{_CLAIMS}.theorem_2_2_estimators",
        "{10**2: 400, 10**3: 400, 10**4: 100}",
        "{10**2: 4, 10**3: 4, 10**4: 1}",
    ),
    Edit(
        f"{_CLAIMS}.theorem_2_2_estimators",
        "{10**2: 8000, 10**3: 8000, 10**4: 8000}",
        "{10**2: 80, 10**3: 80, 10**4: 80}",
    ),
    Edit(
        f"{_CLAIMS}.theorem_2_2_rate",
        "{10**2: 4000, 10**3: 4000, 10**4: 2000, 10**5: 1200}",
        "{10**2: 40, 10**3: 40, 10**4: 20, 10**5: 12}",
    ),
    Edit(
        f"{_CLAIMS}.theorem_2_2_rate",
        "{10**2: 10_000, 10**3: 5000, 10**4: 2000}",
        "{10**2: 100, 10**3: 50, 10**4: 20}",
    ),
    Edit(
        f"{_CLAIMS}.theorem_2_2_sharpness",
        "{10**2: 20_000, 10**3: 8000, 10**4: 3000}",
        "{10**2: 200, 10**3: 80, 10**4: 30}",
    ),
    Edit(
        f"{_CLAIMS}.theorem_2_2_sharpness",
        "{10**2: 1000, 10**3: 500, 10**4: 100}",
        "{10**2: 40, 10**3: 20, 10**4: 5}",
    ),
    Edit(f"{_CLAIMS}.theorem_2_2_sharpness", '{"quick": 2000,', '{"quick": 40,'),
    Edit(f"{_CLAIMS}.cases", '{"quick": 1500,', '{"quick": 40,'),
    Edit("verification.evidence.report_audit", '{"quick": 200_000,', '{"quick": 3000,'),
    Edit(f"{_CLAIMS}.proposition_4_1", '{"quick": 20_000,', '{"quick": 500,'),
    Edit(f"{_EXPERIMENTS}.update", "REPEATS = 1300", "REPEATS = 50 * 50"),
    Edit(f"{_EXPERIMENTS}.fits", "FITS = 3000", "FITS = 100 * 50"),
    Edit(f"{_EXPERIMENTS}.interval_cases", "REPEATS = 300", "REPEATS = 20 * 50"),
    Edit(f"{_EXPERIMENTS}.interval_cases", '_run, {"quick": 3,', '_run, {"quick": 1,'),
    Edit(
        f"{_EXPERIMENTS}.interval_scaled",
        "{0.5: 100, 0.2: 250, 0.05: 750, 0.01: 2400}",
        "{0.5: 10 * 50, 0.2: 10 * 50, 0.05: 20 * 50, 0.01: 40 * 50}",
    ),
    Edit(f"{_EXPERIMENTS}.interval_scaled", '_run, {"quick": 2,', '_run, {"quick": 1,'),
    Edit(
        f"{_EXPERIMENTS}.interval_deltas",
        "{0.5: 60, 0.2: 150, 0.05: 600, 0.01: 1800}",
        "{0.5: 10 * 50, 0.2: 10 * 50, 0.05: 20 * 50, 0.01: 20 * 50}",
    ),
    Edit(f"{_EXPERIMENTS}.interval_deltas", '_run, {"quick": 2,', '_run, {"quick": 1,'),
    Edit(f"{_EXPERIMENTS}.interval_needed", "REPEATS = 300", "REPEATS = 20 * 50"),
    Edit(f"{_EXPERIMENTS}.interval_needed", '_run, {"quick": 2,', '_run, {"quick": 1,'),
    Edit(f"{_EXPERIMENTS}.interval_rates", "REPEATS = 60", "REPEATS = 10 * 50"),
    Edit(f"{_EXPERIMENTS}.interval_rates", '_run, {"quick": 2,', '_run, {"quick": 1,'),
    Edit(f"{_EXPERIMENTS}.envelopes", 'SEARCH = {"quick": 4,', 'SEARCH = {"quick": 1,'),
    Edit(f"{_EXPERIMENTS}.envelopes", 'FRESH = {"quick": 240,', 'FRESH = {"quick": 10 * 50,'),
    Edit(f"{_EXPERIMENTS}.envelopes", 'spec, {"quick": 48,', 'spec, {"quick": 4 * 50,'),
    Edit(f"{_EXPERIMENTS}.baseline_envelopes", "SEARCH, FRESH = 12, 48", "SEARCH, FRESH = 2, 10 * 50"),
    Edit(f"{_EXPERIMENTS}.rare_noise", "SAMPLES = 20_000", "SAMPLES = 1000"),
    Edit(f"{_CLAIMS}.lemma_a1", '{"quick": 100_000,', '{"quick": 2000,'),
    Edit(f"{_CLAIMS}.conformance", '"quick": (230, 64, 110),', '"quick": (10 * 50, 10 * 50, 10 * 50),'),
    Edit(f"{_CLAIMS}.conformance_baselines", "SEEDS = 1000", "SEEDS = 40 * 50"),
    Edit(f"{_CLAIMS}.conformance_noise", '{"quick": 9_000,', '{"quick": 300,'),
    Edit(f"{_CLAIMS}.conformance_users", '{"quick": 2500,', '{"quick": 200,'),
    Edit(f"{_CLAIMS}.conformance_users", 'SERVERS = {"quick": 12,', 'SERVERS = {"quick": 2,'),
    Edit(f"{_CLAIMS}.conformance_users", 'ABSENT = {"quick": 100,', 'ABSENT = {"quick": 10,'),
    Edit(f"{_CLAIMS}.conformance_reports", 'REPORTS = {"quick": 400,', 'REPORTS = {"quick": 40,'),
    Edit(f"{_CLAIMS}.conformance_reports", "MAGNITUDES = 6000", "MAGNITUDES = 600"),
    Edit(f"{_EXPERIMENTS}.interval_constants", 'BUDGET = {"quick": 12,', 'BUDGET = {"quick": 2,'),
    Edit(f"{_EXPERIMENTS}.interval_constants", "one, 600, fresh)", "one, 150, fresh)"),
)

REDUCED = (RELEVEL, *FEWER_SAMPLES)


@lru_cache(maxsize=128)
def reduced_hash(claim: str) -> str:
    """Names what the reduced checks of ``claim`` are: the code that they run, and the edits made in it."""
    mine = set(reached([home(claim)]))
    edits = [[e.module, e.old, e.new] for e in REDUCED if e.module in mine]
    text = json.dumps([claim_hash(claim), edits, versions()], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
