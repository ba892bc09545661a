"""Tiny claims that behave well: one that holds, one that is refuted, one that shares an experiment."""

import numpy as np

from verification import Check, Claim, Context, Evidence, Experiment, Figure, Finding, Measure, Series

# Matrix products large enough for BLAS to use several threads if it may.
WALK = Experiment(
    "walk",
    lambda setting, rng: {"steps": rng.standard_normal((100, 3)), "gram": _gram(rng)},
    {"quick": 3, "standard": 4, "thorough": 5},
)


def _gram(rng):
    x = rng.standard_normal((200, 200))
    return (x @ x.T).sum()


def _mean(context: Context) -> Finding:
    steps = context.result(WALK)["steps"]
    value = float(abs(steps.mean()))
    tested = Evidence(
        "mean",
        "tested",
        "decides",
        "standard normal steps",
        "HOLDS",
        np.float64(value),
        1.0,
        (0.0, value + 0.5),
        false_alarm=1e-9,
        detectable=0.6,
        samples=np.int64(steps.size),
    )
    figure = Figure("steps", "by shard", "i", "sum", (Series("s", [0, 1], [0.0, float("inf")]),))
    measure = Measure(np.float64(value), (0.0, float("inf")), "steps")
    return Finding((tested,), {"mean": measure}, (figure,))


def _gram_check(context: Context) -> Finding:
    gram = context.result(WALK)["gram"]
    noise = context.rng("gram").random()
    exact = Evidence(
        "gram", "exact", "decides", "three shards", "HOLDS", float(gram.sum() + noise), 1e9, (0, 1e9)
    )
    return Finding((exact,), {"gram": Measure(float(gram.sum()), (0.0, 1e9))})


def _largest(context: Context) -> Finding:
    """Whether numbers drawn from [0, 1) stay below the bound; they do not in the paper's variant."""
    noisy = context.setting.variant == "paper" or "width-cap" in context.setting.without
    value = float(context.rng("largest").random()) + noisy
    return Finding(
        (
            Evidence(
                "largest",
                "exact",
                "decides",
                "one draw",
                "REFUTED" if value > 1 else "HOLDS",
                value,
                1.0,
                (value, value),
                note=f"drew {value:.3f}",
                counterexample={"draw": np.array([value])} if value > 1 else None,
            ),
        )
    )


CLAIMS = (
    Claim(
        "toy-mean",
        "Toy mean",
        r"$|\bar x| \le 1$",
        r"$|\bar x| \le 1$ again",
        "average",
        (Check("mean", _mean, random=True), Check("gram", _gram_check, random=False)),
        (WALK,),
        baselined=frozenset({"mean"}),
    ),
    Claim(
        "toy-gram",
        "Toy gram",
        r"$x x^T$",
        None,
        "product",
        (Check("gram", _gram_check, random=False),),
        (WALK,),
    ),
    Claim(
        "toy-largest",
        "Toy largest",
        r"$\max x \le 1$",
        r"$\max x \le 1$, capped",
        "one draw",
        (Check("largest", _largest, random=False),),
        guards=frozenset({"width-cap"}),
    ),
)
