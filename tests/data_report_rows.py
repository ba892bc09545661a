"""Synthetic claims, one per kind of row that a report may hold; no number in them was measured."""

from __future__ import annotations

import math

from tests.data_report_parts import Json, evidence, figure, measure, row, series


def frequency() -> list[Json]:
    method = "Monte Carlo with a beta-binomial mixture; Chernoff tails for $\\delta$ down to $10^{-36}$."
    bound = "\\frac{\\ln(48d/\\beta\\delta)}{\\alpha\\sqrt{n}}"
    checks = [
        evidence("failure rate at $\\delta = 0.05$", "tested", "HOLDS", interval=[0.0, 0.0339]),
        evidence(
            "rigorous tail at $\\delta = 10^{-36}$",
            "proved",
            "HOLDS",
            value=3.1e-41,
            bound=1e-36,
            interval=[3.1e-41, 3.1e-41],
            scope="$n \\ge 2d\\ln(24d/\\beta\\delta)$",
        ),
        evidence(
            "search over bins",
            "exact",
            "UNDECIDED",
            role="supports",
            value="-inf",
            bound=0.0,
            interval=["-inf", "inf"],
            note="found nothing in 4000 starts",
        ),
    ]
    figures = [
        figure(
            "Failure rate of the frequency bound",
            series(
                "as printed",
                [0.01, 0.05, 0.2, 0.5],
                [0.002, 0.011, 0.06, 0.21],
                low=[0.001, 0.008, 0.05, 0.19],
                high=[0.004, 0.014, 0.07, 0.23],
            ),
            series("allowed, $\\delta$", [0.01, 0.05, 0.2, 0.5], [0.01, 0.05, 0.2, 0.5], "dashed"),
            xlabel="$\\delta$",
            ylabel="failure rate",
        ),
    ]
    return [
        row(
            "lemma-4.2-psi",
            "paper",
            "Lemma 4.2, frequency",
            f"With $\\hat\\psi_B = \\hat c_B/\\sqrt{{n}}$, all bins satisfy "
            f"$|\\hat\\psi_B - \\psi_B| \\le {bound}$.",
            "REFUTED",
            method=method,
            reason="frequency scale: the definition is off by $\\sqrt{n}$",
            counterexample={"n": 4096, "psi": 0.5, "psi_hat": 31.7, "bins": [0.5, 0.25, 0.25], "loss": "inf"},
            evidence=[
                evidence(
                    "frequency scale",
                    "exact",
                    "REFUTED",
                    value=31.7,
                    bound=0.62,
                    interval=[31.7, 31.7],
                    counterexample={"n": 4096, "psi_hat": 31.7},
                )
            ],
        ),
        row(
            "lemma-4.2-psi",
            "repaired",
            "Lemma 4.2, frequency",
            f"With $\\hat\\psi_B = \\hat c_B/n$, all bins satisfy "
            f"$|\\hat\\psi_B - \\psi_B| \\le 2\\,{bound}$ "
            "with probability $1 - \\delta$, uniformly over the bins of every layer.",
            "HOLDS",
            method=method,
            reason="failure rate (tested); rigorous tail (proved)",
            measures={
                "tightness": measure(5.137, 4.9, 5.3, note="printed bound over the $1-\\delta$ quantile"),
                "onset": measure(20480, 20480, 20480, "users", "below it the bound exceeds 1"),
            },
            evidence=checks,
            figures=figures,
        ),
    ]


def matrix() -> list[Json]:
    eps = [0.1 * i for i in range(1, 31)]
    curve = [1 - math.exp(-1 / 9) if e < 3 else 0.105 for e in eps]
    return [
        row(
            "prop-4.1-matrix",
            "paper",
            "Proposition 4.1, matrix statistic",
            "The release $\\phi\\phi^\\top + 3\\,W_d(d+1, \\tfrac{1.5}{\\alpha}I)$ "
            "is $\\alpha/3$-locally private.",
            "REFUTED",
            method="Exact loss, support witnesses, hockey-stick curve, black-box lower bound.",
            reason="support witness: outputs possible under $\\bot$ are impossible under a unit vector with "
            "probability $1 - e^{-\\alpha/9}$",
            counterexample={
                "input": [1.0, 0.0],
                "other": "dummy",
                "output": [[0.2, 0.0], [0.0, 0.9]],
                "loss": "inf",
                "seed": 3,
            },
            measures={
                "loss": measure("inf", "inf", "inf", note="privacy loss at the witness"),
                "mass": measure(0.10516, 0.1047, 0.1056),
            },
            evidence=[
                evidence(
                    "support witness",
                    "proved",
                    "REFUTED",
                    value="inf",
                    bound=1 / 3,
                    interval=["inf", "inf"],
                    note="the determinant of $Z - \\phi\\phi^\\top$ is negative",
                ),
                evidence(
                    "black-box lower bound",
                    "tested",
                    "REFUTED",
                    value=2.31,
                    bound=1 / 3,
                    interval=[1.98, "inf"],
                    samples=1_000_000,
                ),
                evidence(
                    "exact loss",
                    "exact",
                    "REFUTED",
                    value=0.99996,
                    bound=0.99995,
                    interval=[0.99996, 0.99996],
                ),
            ],
            figures=[
                figure(
                    "Hockey-stick divergence",
                    series("$\\delta(\\varepsilon)$", eps, curve),
                    series("witness mass", eps, [0.1052] * 30, "dashed"),
                    xlog=False,
                    ylog=False,
                    xlabel="$\\varepsilon$",
                    ylabel="$\\delta(\\varepsilon)$",
                    caption="It does not fall to zero: no finite $\\varepsilon$ is enough.",
                )
            ],
        ),
        row(
            "prop-4.1-matrix",
            "repaired",
            "Proposition 4.1, matrix statistic",
            "With symmetric Laplace noise of scale $3(d+1)/\\alpha$ on the upper triangle, the release is "
            "$\\alpha/3$-locally private.",
            "HOLDS",
            method="Exact loss, support witnesses, hockey-stick curve, black-box lower bound.",
            reason="exact loss (exact); black-box lower bound (tested)",
            measures={"slack": measure(0.0034, 0.0031, 0.0039)},
            evidence=[
                evidence(
                    "exact loss", "exact", "HOLDS", value=0.3322, bound=1 / 3, interval=[0.3322, 0.3322]
                ),
                evidence("black-box lower bound", "tested", "HOLDS", interval=[0.291, 0.3331], bound=1 / 3),
            ],
        ),
    ]


def mixture() -> list[Json]:
    return [
        row(
            "lemma-A.1",
            variant,
            "Lemma A.1, divergence of the mixture",
            f"$\\mathrm{{KL}}(P_{{\\pm\\mu}} \\,\\|\\, P_0) \\le {constant}\\,\\alpha^3 \\|\\mu\\|_1^3$ "
            "whenever "
            "$\\|\\mu\\|_1 \\le 1$ and $\\alpha \\le 1$.",
            "HOLDS",
            reason="chi-square enclosed on the whole box (proved)",
            method="Ball arithmetic and branch and bound after dividing out the cube.",
            measures={"sharp constant": measure(0.2215, 0.22149, 0.22151)},
            evidence=[
                evidence(
                    "enclosure",
                    "proved",
                    "HOLDS",
                    value=0.2215,
                    bound=constant,
                    interval=[0.2214, 0.2216],
                    scope="the whole box",
                )
            ],
        )
        for variant, constant in (("paper", 16.7), ("repaired", 0.25))
    ]


def rate() -> list[Json]:
    n = [10.0**k for k in range(3, 18, 2)]
    lplr = [3 * x**-0.5 for x in n]
    return [
        row(
            "lemma-4.5-rate",
            variant,
            "Lemma 4.5, rate",
            "For every distribution, "
            "$\\mathbb{E}|\\hat f - f^\\star|$ and $\\mathbb{E}[\\hat\\Delta]$ fall like "
            "$n^{-1/2}$ up to logarithms.",
            verdict,
            method="Slope of the worst case over instances, $n$ up to $10^{17}$.",
            reason=reason,
            measures={"exponent": measure(-0.4987, -0.503, -0.494)},
            evidence=[
                evidence(
                    "slope",
                    "fitted",
                    verdict,
                    value=-0.4987,
                    bound=-0.49,
                    interval=[-0.503, -0.494],
                    samples=160,
                )
            ],
            figures=[
                figure(
                    "Error against the number of users",
                    series(
                        "layered regression",
                        n,
                        lplr,
                        low=[0.8 * y for y in lplr],
                        high=[1.25 * y for y in lplr],
                    ),
                    series(
                        "input perturbation",
                        n,
                        [x ** (-1 / 3) for x in n],
                        "points",
                        low=[0.7 * x ** (-1 / 3) for x in n],
                        high=[1.4 * x ** (-1 / 3) for x in n],
                    ),
                    series("slope $-1/2$", n, [2 * x**-0.5 for x in n], "dashed"),
                ),
                figure(
                    "Width against the number of users",
                    series("mean width", n, ["inf", *lplr[1:]]),
                    ylabel="width $\\mathbb{E}[\\hat\\Delta]$",
                ),
            ],
        )
        for variant, verdict, reason in (
            ("paper", "UNDECIDED", "vacuous below $n = 10^{19}$"),
            ("repaired", "HOLDS", "slope (fitted)"),
        )
    ]


def remark() -> list[Json]:
    return [
        row(
            "lemma-4.4-remark",
            "paper",
            "Lemma 4.4, remark",
            "The second term is at most "
            "$C\\gamma^2 d^4 \\ln(48d/\\beta\\delta)/(\\alpha\\beta^h\\sqrt{n})$, $C < 10^4$.",
            "REFUTED",
            method="Constants, over $d$, $h$, $\\beta$.",
            reason="the constant is 13216 at $d = 2$",
            counterexample={"d": 2, "h": 2, "beta": 0.024, "C": 13216.0},
            evidence=[
                evidence(
                    "constant", "proved", "REFUTED", value=13216.0, bound=1e4, interval=[13215.2, 13216.4]
                )
            ],
        )
    ]


def engines() -> list[Json]:
    return [
        row(
            "conf-engines",
            "repaired",
            "Engines agree",
            "Stream and aggregate runs have the same law.",
            "HOLDS",
            method="Kolmogorov–Smirnov, statistic by statistic.",
            reason="same law (tested)",
            evidence=[
                evidence(f"statistic {i}", "tested", "HOLDS", value=0.011 * i, bound=0.08)
                for i in range(1, 7)
            ],
            figures=[
                figure(
                    "Distances",
                    series(
                        "seen",
                        [1, 2, 3, 4, 5, 6],
                        [0.011 * i for i in range(1, 7)],
                        "bars",
                        low=[0.01 * i for i in range(1, 7)],
                        high=[0.013 * i for i in range(1, 7)],
                    ),
                    series("allowed", [1, 2, 3, 4, 5, 6], [0.08] * 6, "dashed"),
                    xlog=False,
                    ylog=False,
                    xlabel="statistic",
                    ylabel="distance",
                    caption="",
                )
            ],
        )
    ]


def remainder() -> list[Json]:
    return [
        row(
            "lemma-4.3-omega",
            variant,
            "Lemma 4.3, remainder",
            f"$\\|\\omega_B\\| \\le "
            f"{c}(d+1)^4\\gamma^{{k+2}}\\ln(48d/\\beta\\delta)/(\\alpha\\psi_B\\sqrt{{n}})$",
            "HOLDS",
            method="Any noise inside the event of Lemma 4.2.",
            reason="norms (proved)",
            measures={"tightness": measure(214.0, 180, "inf")},
            evidence=[evidence("norms", "proved", "HOLDS", value=0.56, bound=c, interval=[0.55, 0.57])],
        )
        for variant, c in (("paper", 120), ("repaired", 260))
    ]


def two_point() -> list[Json]:
    return [
        row(
            "thm-2.1-two-point",
            variant,
            "Theorem 2.1, two points",
            "$c = 1/(4\\sqrt{2}(e^\\alpha - 1))$ makes "
            "$\\mathrm{TV}(Q_0^n, Q_1^n) \\le 1/4$ on $\\mathcal{D}_n$.",
            verdict,
            method="Proved on the whole box.",
            reason=reason,
            counterexample={"alpha": 0.1, "n": 1} if verdict == "REFUTED" else None,
            evidence=[evidence("box", "proved", verdict, value=0.25, bound=0.25, interval=[0.2499, 0.25])],
        )
        for variant, verdict, reason in (
            ("paper", "REFUTED", "the construction does not exist at $n = 1$"),
            ("repaired", "HOLDS", "box (proved)"),
        )
    ]
