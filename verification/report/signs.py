"""Mathematics typed in plain letters, with the signs that it stands for: what is safe to replace, no more."""

from __future__ import annotations

import re

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eta": "η", "theta": "θ",
    "kappa": "κ", "lambda": "λ", "Lambda": "Λ", "mu": "μ", "rho": "ρ", "tau": "τ", "phi": "φ", "chi": "χ",
    "psi": "ψ", "omega": "ω",
}  # fmt: skip
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_NAMES = "|".join(_GREEK)

_RULES = (
    (re.compile(rf"(?<![\w-])({_NAMES})(_hat|_[0-9])?(?![\w-])"), lambda m: _letter(m[1], m[2] or "")),
    (re.compile(r"(?<!\w)([a-zA-Z])_hat(?!\w)"), lambda m: _letter(m[1], "_hat")),
    (re.compile(r"(?<!\w)sqrt(?:\(([^\W_]+)\)| (\d+)(?![\w.]))"), lambda m: f"√{m[1] or m[2]}"),
    (re.compile(r"(?<!\w)sqrt(?=\()"), lambda m: "√"),
    (re.compile(r"(?<=[\w)])\^(-?\d+)(?![\w./])"), lambda m: m[1].translate(_RAISED)),
    (re.compile(r"(?<![\w.])(\d(?:\.\d+)?)e([+-]\d+)(?![\w.])"), lambda m: _power(m[1], int(m[2]))),
    (re.compile(r"<="), lambda m: "≤"),
    (re.compile(r">="), lambda m: "≥"),
    (re.compile(r"\+-(?=[\w(])"), lambda m: "±"),
    (re.compile(r" -> "), lambda m: " → "),
)


def typeset(text: str) -> str:
    """``text`` with the signs that its letters stand for.

    >>> typeset("c/sqrt(n) with c = 1/(4 sqrt(2) (e^alpha - 1)) <= 10^-9, theta_2 and f_hat at n = 1e+17")
    'c/√n with c = 1/(4 √2 (e^α - 1)) ≤ 10⁻⁹, θ₂ and f̂ at n = 10¹⁷'

    Names in code, words with hyphens and powers that have no signs of their own stay as they are.

    >>> typeset("beta-binomial, alpha_max, n^(-1/3), T^2.5")
    'beta-binomial, alpha_max, n^(-1/3), T^2.5'
    """
    for pattern, sign in _RULES:
        text = pattern.sub(sign, text)
    return text


def _letter(name: str, tail: str) -> str:
    return _GREEK.get(name, name) + ("\u0302" if tail == "_hat" else tail[1:].translate(_LOWERED))


def _power(mantissa: str, exponent: int) -> str:
    power = "10" + str(exponent).translate(_RAISED)
    return power if mantissa == "1" else f"{mantissa}×{power}"
