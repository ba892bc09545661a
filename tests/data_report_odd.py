"""Synthetic claims that went wrong in some way: errors, no expectation, hostile text."""

from __future__ import annotations

from tests.data_report_parts import HOSTILE, Json, evidence, figure, measure, row, series


def regret() -> list[Json]:
    bound = (
        "\\mathrm{Reg}(T) \\le C\\left(\\frac{2.54}{\\beta}\\right)^d "
        "\\frac{A^2 d^5 \\ln^2(48dT/\\beta)}{\\alpha}"
        "\\,T^{1/2+2\\beta} + \\sum_{\\tau=1}^{\\tau_0} n_\\tau \\hat\\Delta_{\\tau-1}"
    )
    return [
        row(
            "thm-4.6-bound",
            "paper",
            "Theorem 4.6, regret bound",
            f"With probability $1-\\delta$, ${bound}$.",
            "UNDECIDED",
            expected="HOLDS",
            passed=False,
            reason="every run is below the trivial bound $2T$",
            method="Every run on the success event.",
        ),
        row(
            "thm-4.6-bound",
            "repaired",
            "Theorem 4.6, regret bound",
            f"As printed, with $2C$: ${bound}$.",
            "UNDECIDED",
            passed=False,
            reason="the check stopped with an error",
            error='Traceback (most recent call last):\n  File "bound.py", line 12\n'
            "ZeroDivisionError: division by zero",
        ),
    ]


def routing() -> list[Json]:
    return [
        row(
            "fig-2-routing",
            "paper",
            "Figure 2, routing",
            "Every $\\phi$ has exactly one bin per layer, "
            "$\\gamma^{-k-1} < \\|\\phi_h\\| \\le \\gamma^{-k}$.",
            "HOLDS",
            method="Property tests, exact at the edges of bins.",
            reason="edges (exact)",
            evidence=[evidence("edges", "exact", "HOLDS", value=0, bound=0, interval=[0, 0])],
        ),
        row(
            "fig-2-routing",
            "repaired",
            "Figure 2, routing",
            "The same, for $k < M$.",
            "HOLDS",
            expected=None,
            passed=False,
            method="Property tests, exact at the edges of bins.",
            reason="edges (exact)",
            evidence=[evidence("edges", "exact", "HOLDS", value=0, bound=0, interval=[0, 0])],
        ),
    ]


def growth() -> list[Json]:
    t = [10.0**k for k in range(6, 19, 2)]
    return [
        row(
            "thm-4.6-slope",
            "repaired",
            "Theorem 4.6, growth of regret",
            "Worst-case regret grows like $T^{1/2+2\\beta}$ up to logarithms.",
            "UNDECIDED",
            method="Envelope over instances, fitted past onset.",
            reason="onset at $T = 10^{21}$, beyond the horizon",
            measures={"onset": measure(1e21, 1e20, "inf", "rounds")},
            figures=[
                figure(
                    "Regret",
                    *[
                        series(name, t, [x**p for x in t])
                        for name, p in (
                            ("layered", 0.52),
                            ("Zheng et al.", 0.75),
                            ("uniform", 1.0),
                            ("LinUCB", 0.5),
                            ("sufficient statistics", 0.76),
                            ("RegCB", 0.51),
                            ("another", 0.6),
                        )
                    ],
                    xlabel="rounds $T$",
                    ylabel="regret",
                )
            ],
        )
    ]


def hostile() -> list[Json]:
    return [
        row(
            f"own-{HOSTILE}",
            "paper",
            f"Title {HOSTILE}",
            f"Statement {HOSTILE} with $\\text{{{HOSTILE}}}$, $\\unknowncommand{{x}}$ and $\\frac{{1}}{{$.",
            "REFUTED",
            method=f"{HOSTILE} | *not emphasis* `tick`",
            reason=f"bell \x07, {HOSTILE}, snowman ☃, 😀",
            counterexample={HOSTILE: f"``` {HOSTILE}"},
            measures={HOSTILE: measure(1e-12, "-inf", 1e-11, HOSTILE, HOSTILE)},
            evidence=[evidence(HOSTILE, "tested", "REFUTED", scope=HOSTILE, note=HOSTILE)],
            figures=[
                figure(
                    HOSTILE,
                    series(HOSTILE, [1, 10], [1, 0.1]),
                    caption=HOSTILE,
                    xlabel=HOSTILE,
                    ylabel="😀 $\\frac{1}{$",
                ),
                figure("Nothing finite", series("lost", [1, 10], ["inf", 0])),
            ],
        )
    ]
