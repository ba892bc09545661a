"""How numbers are shown: few digits, real minus signs and powers of ten, ∞ for the string "inf"."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_UP, Context, Decimal
from fractions import Fraction

Number = float | int | str
"""A JSON number, or the string "inf" or "-inf"."""

DIGITS = 4
MOST_DIGITS = 6
POINT = "–"
"""In the place of an interval where none is known: a point estimate, of unstated precision."""
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
    mantissa, exponent = _rounded(size, digits).split("e")
    if -4 < int(exponent) < 5:
        return sign + _grouped(_short(f"{Decimal(f'{mantissa}e{exponent}'):f}"))
    tail = power_of_ten(int(exponent))
    return sign + (tail if _short(mantissa) == "1" else f"{_short(mantissa)}×{tail}")


def apart(numbers: Sequence[Number], digits: int = DIGITS) -> list[str]:
    """All of ``numbers``, with as many digits as it takes to tell different ones apart, up to six.

    What six digits do not tell apart is shown as a number and the little that it is off by.

    >>> apart([0.99996, 1.0]), apart([0.5, 1.0]), apart([1 - 2**-40, 1.0])
    (['0.99996', '1'], ['0.5', '1'], ['1 − 9.1×10⁻¹³', '1'])
    """
    texts = [number(x, digits) for x in numbers]
    if len(set(texts)) == len(set(numbers)):
        return texts
    return apart(numbers, digits + 1) if digits < MOST_DIGITS else _offsets(numbers, texts)


def _offsets(numbers: Sequence[Number], texts: Sequence[str]) -> list[str]:
    """``texts``; of different numbers with one text, the roundest keeps it and the others say how far off."""
    out = list(texts)
    for text in set(texts):
        close = [i for i, other in enumerate(texts) if other == text]
        base = min((numbers[i] for i in close), key=lambda x: len(repr(x)))
        apart_by = [float(Fraction(numbers[i]) - Fraction(base)) for i in close if numbers[i] != base]
        for i, rest in zip((i for i in close if numbers[i] != base), apart(apart_by, 2), strict=True):
            out[i] += f" − {rest[1:]}" if rest.startswith("−") else f" + {rest}"
    return out


def _rounded(size: float, digits: int) -> str:
    return f"{size:.{digits - 1}e}"


def interval(low: str, high: str) -> str:
    """Two formatted ends; an infinite end is not part of the interval."""
    return f"{'(' if low == '−∞' else '['}{low}, {high}{')' if high == '∞' else ']'}"


def around(value: Number, low: Number, high: Number) -> str | None:
    """How far an interval reaches to either side of ``value``, where six digits do not tell its ends apart.

    >>> around(0.25, 0.25 - 2**-40, 0.25), around(0.25, 0.2, 0.3)
    ('value ± 9.1×10⁻¹³', None)
    """
    if low == high or number(low, MOST_DIGITS) != number(high, MOST_DIGITS):
        return None
    reach = max(abs(Fraction(float(value)) - Fraction(float(end))) for end in (low, high))
    rounded_up = Context(prec=2, rounding=ROUND_UP).create_decimal(Decimal(float(reach)))
    return f"value ± {number(float(rounded_up), 2)}"


def _short(decimal: str) -> str:
    return decimal.rstrip("0").rstrip(".") if "." in decimal else decimal


def _grouped(decimal: str) -> str:
    whole, dot, rest = decimal.partition(".")
    if len(whole) > 4:
        whole = f"{int(whole):,}".replace(",", _THIN)
    return whole + dot + rest
