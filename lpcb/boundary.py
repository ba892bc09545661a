"""Arguments of public functions, checked by their annotations: what is of the wrong kind is named at once.

This sees to kinds (a whole number, a number that is not NaN, one of a few words, an array of numbers); what
values mean, and which of them are allowed, is said where they are used.
"""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, is_dataclass
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import ArrayLike, NDArray

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class Range:
    """Where a number lies: ``Annotated[float, Range(0, 1, ends="(]")]``."""

    low: float
    high: float
    ends: str = "[]"

    def __contains__(self, value: float | np.floating[Any]) -> bool:
        if isinstance(value, np.floating):  # compared as float32, an end such as 1e300 would overflow
            value = float(value)
        above = self.low < value or (self.ends[0] == "[" and value == self.low)
        return above and (value < self.high or (self.ends[1] == "]" and value == self.high))

    def __str__(self) -> str:
        return f"{self.ends[0]}{self.low}, {self.high}{self.ends[1]}"


Kind = Callable[[str, Any], Any]
"""(name, value) -> the value, or a ValueError that names it."""


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """``function`` with its arguments checked, and whole numbers such as 1e6 turned into int.

    >>> @checked
    ... def twice(n: int) -> int:
    ...     return 2 * n
    >>> twice(1e6)
    2000000
    >>> twice(0.5)
    Traceback (most recent call last):
    ValueError: n is a whole number, not 0.5
    """
    names = list(inspect.signature(function).parameters)
    kinds: dict[str, Kind] = {}

    @functools.wraps(function)
    def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
        if not kinds:  # on the first call: annotations may speak of what is defined later
            kinds.update({name: kind(hint) for name, hint in _hints(function)})
        given = [kinds.get(name, _any)(name, value) for name, value in zip(names, args, strict=False)]
        more = {name: kinds.get(name, _any)(name, value) for name, value in kwargs.items()}
        return function(*given, *args[len(given) :], **more)  # type: ignore[arg-type]

    return wrapper


def check_fields(record: Any) -> None:
    """The same for the fields of a frozen dataclass, to be called in its ``__post_init__``."""
    kinds = _field_kinds(record.__class__)
    for field in fields(record):
        value = getattr(record, field.name)
        found = kinds[field.name](field.name, value)
        if found is not value:
            object.__setattr__(record, field.name, found)


@functools.cache
def _field_kinds(record: Any) -> dict[str, Kind]:
    return {name: kind(hint) for name, hint in _hints(record)}


def _hints(of: Any) -> Iterable[tuple[str, Any]]:
    hints = get_type_hints(of, include_extras=True)
    # A seed is the same everywhere.
    return (
        hints | ({"seed": Annotated[int, Range(0, math.inf)]} if hints.get("seed") is int else {})
    ).items()


def kind(hint: Any) -> Kind:
    """What an annotation asks for; one that is not understood asks for nothing."""
    if hint in (int, float, bool, str):
        return {int: _whole, float: check_number, bool: _flag, str: _text}[hint]
    if hint == ArrayLike or get_origin(hint) is np.ndarray:
        return _whole_array if hint == NDArray[np.int64] else _array if hint == ArrayLike else _made_array
    if get_origin(hint) is Annotated:
        inner, extent = get_args(hint)[:2]
        return functools.partial(_inside, extent, kind(inner)) if isinstance(extent, Range) else kind(inner)
    if get_origin(hint) is Literal:
        return functools.partial(_one_of, get_args(hint))
    if get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
        rest = [kind(part) for part in get_args(hint) if part is not type(None)]
        return functools.partial(_optional, rest[0]) if len(rest) == 1 else _any
    if get_origin(hint) is tuple and get_args(hint) == (int, ...):
        return _shape
    if get_origin(hint) is Callable:
        return _function
    if isinstance(hint, type) and (hint is np.random.Generator or is_dataclass(hint)):
        return functools.partial(_instance, hint)
    return _any


def _any(name: str, value: Any) -> Any:
    return value


def _whole(name: str, value: Any) -> Any:
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float | np.floating) and math.isfinite(value) and value == int(value):
        return int(value)
    raise ValueError(f"{name} is a whole number, not {short(value)}")


def check_number(name: str, value: Any) -> Any:
    """``value`` if it is a number and not NaN."""
    try:
        real = isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)
        if real and not math.isnan(float(value)):
            return value
    except OverflowError:
        pass
    raise ValueError(f"{name} is a number, not {short(value)}")


def _flag(name: str, value: Any) -> Any:
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{name} is True or False, not {short(value)}")
    return value


def _text(name: str, value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError(f"{name} is text, not {short(value)}")
    return value


def _one_of(allowed: tuple[Any, ...], name: str, value: Any) -> Any:
    if not any(type(value) is type(one) and value == one for one in allowed):
        raise ValueError(f"{name} is one of {', '.join(map(repr, allowed))}, not {short(value)}")
    return value


def _array(name: str, value: Any) -> Any:
    numbers_of(name, value, copy=False)
    return value


def _made_array(name: str, value: Any) -> Any:
    """What is annotated as an array becomes one."""
    numbers_of(name, value, copy=False)
    return np.asarray(value) if isinstance(value, list | tuple) else value


def _whole_array(name: str, value: Any) -> Any:
    array = numbers_of(name, value, copy=False)
    if not (np.abs(array) < 2.0**63).all() or not (array == np.floor(array)).all():
        raise ValueError(f"{name} holds whole numbers of 64 bits, not {short(value)}")
    return np.asarray(value) if isinstance(value, list | tuple) else value


def _shape(name: str, value: Any) -> Any:
    sizes = [_whole(name, size) for size in value] if isinstance(value, tuple) else [-1]
    if not all(0 <= size < 2**31 for size in sizes):
        raise ValueError(f"{name} is a tuple of sizes such as (3, 2), not {short(value)}")
    return tuple(sizes)


def _inside(extent: Range, inner: Kind, name: str, value: Any) -> Any:
    found = inner(name, value)
    if found not in extent:
        raise ValueError(f"{name} lies in {extent}, not {short(value)}")
    return found


def _function(name: str, value: Any) -> Any:
    if not callable(value):
        raise ValueError(f"{name} is a function, not {short(value)}")
    return value


def _optional(inner: Kind, name: str, value: Any) -> Any:
    return None if value is None else inner(name, value)


def _instance(wanted: type, name: str, value: Any) -> Any:
    if not isinstance(value, wanted):
        raise ValueError(f"{name} is a {wanted.__name__}, not {short(value)}")
    return value


def numbers_of(name: str, value: Any, copy: bool = True) -> NDArray[np.float64]:
    """``value`` as an array of numbers, none of them NaN; without ``copy`` it may be ``value`` itself."""
    if type(value) is np.ndarray and value.dtype == np.float64:
        if np.isnan(value).any():
            raise ValueError(f"{name} holds numbers, without NaN among them")
        return value.copy() if copy else value
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" and array.size:
            raise ValueError(f"{array.dtype} is no number")
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} holds numbers, not {short(value)} ({error})") from None
    if np.isnan(array).any():
        raise ValueError(f"{name} holds numbers, without NaN among them")
    return array


def fits(inner: tuple[int, ...], outer: tuple[int, ...]) -> bool:
    """Whether an array of shape ``inner`` broadcasts to ``outer``.

    >>> fits((3, 1), (2, 3, 4)), fits((2,), (1,))
    (True, False)
    """
    pairs = zip(reversed(inner), reversed(outer), strict=False)
    return len(inner) <= len(outer) and all(i in (1, o) for i, o in pairs)


def check_broadcast(**arrays: Any) -> None:
    """Refuses arrays whose shapes do not fit each other, by their names."""
    shapes = {name: np.shape(array) for name, array in arrays.items()}
    try:
        np.broadcast_shapes(*shapes.values())
    except ValueError:
        found = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ValueError(f"shapes fit each other, not {found}") from None


def short(value: Any) -> str:
    """``value`` as a message shows it."""
    try:
        text = repr(value)
    except ValueError:  # a whole number with more digits than Python prints
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}…"
