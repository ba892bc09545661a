"""``audit``: is anyone's randomizer as private as it claims? By its log-density, or by samples alone."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from lpcb.boundary import checked
from verification.evidence.privacy import search
from verification.evidence.privacy.blackbox import BlackBox, Draw, blackbox
from verification.evidence.privacy.events import Aim
from verification.evidence.privacy.outputs import Source
from verification.evidence.privacy.scores import Density
from verification.evidence.privacy.whitebox import WhiteBox, closed_form, exceeds, log_ratio, whitebox
from verification.seeds import generator
from verification.serialise import plain
from verification.verdict import Verdict

Method = Literal["closed form", "log-density", "samples"]
MOST_SAMPLES = 10**11
"""Days of drawing: more is a slip."""
SAMPLES = 1_000_000
SEARCH_SHARE = 0.2
WHITE_SHARE = 0.1
"""Parts of the samples spent on looking for a pair, and on the log-density (also its part of alpha)."""
SMALLEST_ALPHA = 1e-90


@dataclass(frozen=True)
class AuditResult:
    """What an audit found. Every number holds together with all others with probability ``confidence``.

    ``epsilon_low`` and ``delta_low`` are lower bounds on the true ε (at the claimed δ) and on the true δ (at
    the claimed ε). ``detectable`` is the smallest true ε that would have been refuted with probability 0.99
    through the event that was tested. ``scope`` says which pairs the verdict speaks of, ``decided_by`` which
    argument it rests on. The same arguments and ``seed`` give the same result.
    """

    verdict: Verdict
    reason: str
    decided_by: Method
    scope: str
    epsilon: float
    delta: float
    confidence: float
    epsilon_low: float
    delta_low: float
    detectable: float
    pair: tuple[Any, Any]
    samples: int
    seed: int
    blackbox: BlackBox
    whitebox: WhiteBox | None
    notes: tuple[str, ...] = ()

    @property
    def refuted(self) -> bool:
        return self.verdict == "REFUTED"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON; infinities are the strings "inf" and "-inf"."""
        data = plain(replace(self, pair=(_jsonable(self.pair[0]), _jsonable(self.pair[1]))))
        assert isinstance(data, dict)
        return {"schema": 1, **data}


@checked
def audit(
    randomizer: Any,
    epsilon: float,
    delta: float = 0.0,
    *,
    pair: tuple[Any, Any] | None = None,
    pairs: Sequence[tuple[Any, Any]] | None = None,
    domain: Any = None,
    confidence: float = 0.99,
    samples: int = SAMPLES,
    seed: int = 0,
    bits: bool = False,
    nan: bool = True,
) -> AuditResult:
    """Audit the claim that ``randomizer`` is (epsilon, delta)-differentially private.

    ``randomizer`` is a callable ``(value, rng, size) -> array`` whose first axis is the sample, or an object
    with such a method ``release``. If it has ``log_density(output, value)`` it gets the white-box audit too;
    with ``loss(value, other)`` (the exact worst-case loss) or ``outputs`` (all of them) an exact one.
    Say where to look: one ``pair`` of inputs, candidate ``pairs``, or a ``domain`` to search (a list of
    inputs, a :class:`~verification.evidence.privacy.search.Box`, or a hypothesis strategy).
    ``samples`` is the total number drawn. Outputs count as real numbers; with ``bits`` also the low bits of
    floating-point numbers are looked at, which give away nearly all textbook noise.
    NaN is an outcome like any other; without ``nan`` it is an error, as for the command.

    >>> def coin(value, rng, size):  # tells the truth three times out of four
    ...     return np.where(rng.random(size) < 0.75, value, 1 - value)
    >>> result = audit(coin, epsilon=1.0, pair=(0, 1), samples=20_000)
    >>> result.verdict, 1.0 < result.epsilon_low < math.log(3)
    ('REFUTED', True)
    """
    alpha = _check(epsilon, delta, confidence, samples)
    draw = _draw(randomizer, nan)
    knows = callable(getattr(randomizer, "log_density", None))
    found, scope = _find(
        randomizer, draw, pair, pairs, domain, Aim(epsilon, delta, alpha, samples // 4), seed
    )
    left = samples - found.samples
    white = None
    if knows:
        budget = int(left * WHITE_SHARE)
        white = whitebox(randomizer, draw, found.pair, epsilon, alpha * WHITE_SHARE, budget, seed)
        left -= white.samples
    black = blackbox(
        draw,
        found.pair,
        epsilon,
        delta,
        alpha * (1 - WHITE_SHARE) if knows else alpha,
        left,
        seed,
        extra=[Density(lambda outputs: log_ratio(randomizer, *found.pair, outputs))] if knows else [],
        bits=bits,
    )
    exact = white.exact if white is not None else closed_form(randomizer, *found.pair)
    verdict, reason, decided_by = _decide(epsilon, delta, confidence, found, exact, white, black)
    return AuditResult(
        verdict=verdict,
        reason=reason,
        decided_by=decided_by,
        scope=scope,
        epsilon=float(epsilon),
        delta=float(delta),
        confidence=float(confidence),
        epsilon_low=black.epsilon_low,
        delta_low=max(black.delta_low, white.delta_low if white is not None else 0.0),
        detectable=black.detectable,
        pair=found.pair,
        samples=found.samples + black.samples + (white.samples if white is not None else 0),
        seed=int(seed),
        blackbox=black,
        whitebox=white,
        notes=white.notes if white is not None else (),
    )


def _decide(
    epsilon: float,
    delta: float,
    confidence: float,
    found: search.Found,
    exact: float | None,
    white: WhiteBox | None,
    black: BlackBox,
) -> tuple[Verdict, str, Method]:
    """Exact arguments first. Samples alone never say HOLDS, but they can contradict a closed form."""
    sure = f"with confidence {confidence:.12g}"
    if delta == 0 and exact is not None and exceeds(exact, epsilon):
        return "REFUTED", f"the closed form gives a loss of {exact:.6g}, above {epsilon:g}", "closed form"
    if delta == 0 and white is not None and exceeds(white.attained, epsilon):
        return "REFUTED", f"an output has loss {white.attained:.6g}, above {epsilon:g}", "log-density"
    if white is not None and white.delta_low > delta:
        text = f"δ({epsilon:g}) is at least {white.delta_low:.4g}, above {delta:g}, {sure}"
        return "REFUTED", text, "log-density"
    if black.refuted:
        text = _shown(black, epsilon, delta)
        if exact is not None and not exceeds(exact, epsilon):
            text += (
                f"; this contradicts the closed form's loss of {exact:.6g}: they are not the same mechanism"
            )
        return "REFUTED", f"{text}, {sure}", "samples"
    if exact is not None and not exceeds(exact, epsilon) and found.exhaustive:
        return "HOLDS", f"the closed form gives a loss of {exact:.6g}, at most {epsilon:g}", "closed form"
    seen = "none" if math.isinf(black.detectable) else f"ε = {black.detectable:.4g}"
    text = f"samples show ε ≥ {black.epsilon_low:.4g} {sure}; the smallest violation sure to be seen: {seen}"
    if exact is not None and not exceeds(exact, epsilon):
        text = f"the largest closed-form loss found is {exact:.6g}, but not all pairs were looked at; {text}"
    return "UNDECIDED", text, "samples"


def _shown(black: BlackBox, epsilon: float, delta: float) -> str:
    if black.epsilon_low > epsilon:
        at = f" at δ = {delta:g}" if delta else ""
        return f"samples show ε ≥ {black.epsilon_low:.6g}{at}, above {epsilon:g}"
    return f"samples show δ({epsilon:g}) ≥ {black.delta_low:.4g}, above {delta:g}"


def _find(
    randomizer: Any, draw: Draw, pair: Any, pairs: Any, domain: Any, aim: Aim, seed: int
) -> tuple[search.Found, str]:
    """The pair to audit, and what the verdict will speak of."""
    given = [name for name, v in (("pair", pair), ("pairs", pairs), ("domain", domain)) if v is not None]
    if len(given) != 1:
        raise ValueError(f"exactly one of pair, pairs and domain is needed, not {given or 'none'}")
    if pair is not None:
        return search.Found(_pair("pair", pair), 1, 0, True), "this pair"
    budget = int(4 * aim.n * SEARCH_SHARE)
    loss, counter = _loss(randomizer, draw, budget, seed)
    found, scope = _search(draw, pairs, domain, loss, aim, budget, seed)
    return replace(found, samples=found.samples + counter()), scope


def _search(
    draw: Draw, pairs: Any, domain: Any, loss: search.Loss | None, aim: Aim, budget: int, seed: int
) -> tuple[search.Found, str]:
    if pairs is not None:
        checked = [_pair(f"pairs[{i}]", p) for i, p in enumerate(pairs)]
        if not checked:
            raise ValueError("pairs is a sequence of at least one pair, not empty")
        found = search.of_pairs(checked, draw, loss, aim, budget, seed)
        return found, f"the worst of {len(checked)} pairs"
    if isinstance(domain, search.Box):
        found = search.of_box(domain, draw, loss, aim, budget, seed)
        return found, f"the worst pair found in a box ({found.looked_at} looked at)"
    if hasattr(domain, "example") and hasattr(domain, "map"):
        found = search.of_strategy(domain, draw, loss, aim, budget, seed)
        return found, f"the worst of {found.looked_at} pairs drawn by hypothesis"
    values = list(domain) if isinstance(domain, Sequence | np.ndarray | range) else []
    if len(values) < 2:
        raise ValueError(
            f"domain is a list of at least two inputs, a Box or a hypothesis strategy, not {domain!r}"
        )
    found = search.of_values(values, draw, loss, aim, budget, seed)
    if found.exhaustive:
        return found, f"all pairs of {len(values)} inputs"
    return found, f"the worst of {found.looked_at} pairs of {len(values)} inputs"


def _loss(
    randomizer: Any, draw: Draw, budget: int, seed: int
) -> tuple[search.Loss | None, Callable[[], int]]:
    """How pairs can be judged without racing them, and how many samples that has taken."""
    if callable(getattr(randomizer, "loss", None)) or hasattr(randomizer, "outputs"):
        return search.Loss(lambda a, b: _known(randomizer, a, b), True), lambda: 0
    if not callable(getattr(randomizer, "log_density", None)):
        return None, lambda: 0
    n, drawn = max(2, budget // (2 * search.EVALUATIONS)), [0]

    def largest(a: Any, b: Any) -> float:
        found = []
        for i, (value, other) in enumerate(((a, b), (b, a))):
            # The same randomness for every pair: then the largest loss is a function of the pair.
            outputs = Source(draw, value, generator(seed, "audit", "search", "loss", i)).sample(n)
            found.append(float(log_ratio(randomizer, value, other, outputs).max()))
            drawn[0] += n
        return max(found)

    return search.Loss(largest, False), lambda: drawn[0]


def _known(randomizer: Any, value: Any, other: Any) -> float:
    found = closed_form(randomizer, value, other)
    assert found is not None
    return found


def _pair(name: str, pair: Any) -> tuple[Any, Any]:
    if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
        raise ValueError(f"{name} is two inputs, not {pair!r}")
    return pair[0], pair[1]


def _draw(randomizer: Any, nan: bool) -> Draw:
    release = getattr(randomizer, "release", randomizer)
    if not callable(release):
        raise ValueError(
            f"randomizer is a callable (value, rng, size) -> array, or has such a method release, "
            f"not {randomizer!r}"
        )

    def draw(value: Any, rng: np.random.Generator, size: int) -> Any:
        raw = release(value, rng, size)
        if not nan and (count := _nans(raw)):
            raise ValueError(f"it returned NaN {count} times in {size} samples")
        return raw

    return draw


def _nans(raw: Any) -> int:
    """How many entries are NaN, in whatever a randomizer returns."""
    if isinstance(raw, Mapping):
        return sum(_nans(part) for part in raw.values())
    if isinstance(raw, list | tuple) and any(not isinstance(part, float | int) for part in raw):
        return sum(_nans(part) for part in raw)
    if isinstance(raw, str | bytes):
        return 0
    array = np.asarray(raw)
    if array.dtype.names:
        return sum(_nans(array[name]) for name in array.dtype.names)
    if array.dtype.kind == "O":
        return sum(_nans(part) for part in array.ravel() if isinstance(part, float | Sequence | np.ndarray))
    return int(np.isnan(array).sum()) if array.dtype.kind in "fc" else 0


def _check(epsilon: float, delta: float, confidence: float, samples: int) -> float:
    if not (isinstance(epsilon, int | float | np.number) and 0 <= epsilon < math.inf):
        raise ValueError(f"epsilon is a number from 0, not {epsilon!r}")
    if not (isinstance(delta, int | float | np.number) and 0 <= delta < 1):
        raise ValueError(f"delta lies in [0, 1), not {delta!r}")
    if not 0 < confidence < 1 or not SMALLEST_ALPHA <= 1 - confidence < 1:
        raise ValueError(f"confidence lies in (0, 1), not {confidence!r}")
    try:
        if not 400 <= operator.index(samples) <= MOST_SAMPLES:
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(
            f"samples is a whole number from 400 to {MOST_SAMPLES:.0e}, not {samples!r}"
        ) from None
    return 1 - float(confidence)


def _jsonable(value: Any) -> Any:
    try:
        return plain(value)
    except (TypeError, ValueError):
        return repr(value)
