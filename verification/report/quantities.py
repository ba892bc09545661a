"""How numbers are shown: few digits, real minus signs and powers of ten, ∞ for the string "inf"."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

Number = float | int | str
"""A JSON number, or the string "inf" or "-inf"."""

DIGITS = 4
MOST_DIGITS = 17
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
_THIN = "\u202f"


def finite(x: Number) -> float | None:
    """The number, or None when it is infinite."""
    return None if x in ("inf", "-inf") else float(x)


def power_of_ten(exponent: int) -> str:
    return "10" + str(exponent).translate(_SUPERSCRIPT)


def number(x: Number, digits: int = DIGITS) -> str:
    """``x`` for readers.

    >>> [number(x) for x in (5.13579, -0.0031, 1e-9, 2.5e-8, 10**18, 20000, "inf", 0)]
    ['5.136', '−0.0031', '10⁻⁹', '2.5×10⁻⁸', '10¹⁸', '20\u202f000', '∞', '0']
    """
    if isinstance(x, str):
        if x not in ("inf", "-inf"):
            raise ValueError(f'a number is a number, "inf" or "-inf", not {x!r}')
        return "∞" if x == "inf" else "−∞"
    sign, size = ("−" if x < 0 else ""), abs(x)
    if size < 10**6 and size == int(size):
        return sign + _grouped(str(int(size)))
    mantissa, exponent = f"{size:.{digits - 1}e}".split("e")
    if -4 < int(exponent) < 5:
        return sign + _grouped(_short(f"{Decimal(f'{mantissa}e{exponent}'):f}"))
    tail = power_of_ten(int(exponent))
    return sign + (tail if _short(mantissa) == "1" else f"{_short(mantissa)}×{tail}")


def apart(numbers: Sequence[Number], digits: int = DIGITS) -> list[str]:
    """All of ``numbers``, with as many digits as it takes to tell different ones apart.

    >>> apart([0.99996, 1.0]), apart([0.5, 1.0])
    (['0.99996', '1'], ['0.5', '1'])
    """
    texts = [number(x, digits) for x in numbers]
    if len(set(texts)) == len(set(numbers)) or digits == MOST_DIGITS:
        return texts
    return apart(numbers, digits + 1)


def interval(low: str, high: str) -> str:
    """Two formatted ends; an infinite end is not part of the interval."""
    return f"{'(' if low == '−∞' else '['}{low}, {high}{')' if high == '∞' else ']'}"


def _short(decimal: str) -> str:
    return decimal.rstrip("0").rstrip(".") if "." in decimal else decimal


def _grouped(decimal: str) -> str:
    whole, dot, rest = decimal.partition(".")
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", _THIN)
    return whole + dot + rest
