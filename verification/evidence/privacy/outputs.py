"""Drawing from a randomizer, and turning whatever it returns into numbers and categories.

Any function of an output may define an event, so nothing here can make an audit unsound: an encoding only
decides what can be seen. Numbers keep their value, text its letters, anything else its ``repr``; every
outcome also has a 64-bit key of its own (NaN included), so that repeated outcomes are recognised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Keys = NDArray[np.uint64]

LETTERS = 64
"""Letters of a text, or entries of a ragged outcome, that are seen as numbers; the key sees all of it."""
CHUNK_ENTRIES = 4_000_000


@dataclass(frozen=True, eq=False)
class Outputs:
    """A sample: ``numbers`` (n, m), a ``key`` per row, and the ``raw`` array for log-densities.

    ``kind`` is the shape and type of one outcome; two inputs whose kinds differ are told apart by it alone.
    """

    numbers: Array
    keys: Keys
    raw: Any
    kind: str
    shape: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def __getitem__(self, rows: slice) -> Outputs:
        return Outputs(self.numbers[rows], self.keys[rows], _rows(self.raw, rows), self.kind, self.shape)


def join(parts: Sequence[Outputs]) -> Outputs:
    """Several samples of one kind as one."""
    if len(parts) == 1:
        return parts[0]
    numbers = np.concatenate([part.numbers for part in parts])
    keys = np.concatenate([part.keys for part in parts])
    return Outputs(numbers, keys, _join_raw([part.raw for part in parts]), parts[0].kind, parts[0].shape)


def encode(raw: Any, size: int) -> Outputs:
    """What a randomizer returned for ``size`` samples."""
    if isinstance(raw, Mapping):
        raw = {str(name): np.asarray(part) for name, part in raw.items()}
        return _table([encode(part, size) for part in raw.values()], raw, "+".join(raw))
    if isinstance(raw, tuple):
        raw = tuple(np.asarray(part) for part in raw)
        return _table([encode(part, size) for part in raw], raw, "tuple")
    array = _as_array(raw, size)
    if array.dtype.names:
        fields = [encode(array[name], size) for name in array.dtype.names]
        return _table(fields, array, "+".join(array.dtype.names))
    if array.dtype.kind in "OSUV":
        return _texts(array)
    numbers = np.ascontiguousarray(array.reshape(size, -1))
    if np.iscomplexobj(numbers):
        numbers = np.concatenate([numbers.real, numbers.imag], axis=1)
    if numbers.dtype.kind in "mM":
        numbers = numbers.astype(np.int64)
    keys = _keys(numbers)
    kind = f"numbers of shape {array.shape[1:]}"
    return Outputs(numbers.astype(np.float64), keys, array, kind, array.shape[1:])


@dataclass
class Source:
    """Draws from a randomizer at one input, in chunks, and counts what was drawn."""

    draw: Callable[[Any, np.random.Generator, int], Any]
    value: Any
    rng: np.random.Generator
    drawn: int = 0
    kind: str | None = None
    width: int = CHUNK_ENTRIES // 100

    def sample(self, n: int) -> Outputs:
        """``n`` outputs at once."""
        return join(list(self.each(n)))

    def each(self, n: int) -> Iterator[Outputs]:
        """``n`` outputs, as many at a time as fit into memory."""
        left = n
        while left > 0:
            size = min(left, max(1, CHUNK_ENTRIES // self.width))
            yield self._call(size)
            left -= size

    def _call(self, size: int) -> Outputs:
        try:
            raw = self.draw(self.value, self.rng, size)
        except Exception as error:
            raise ValueError(
                f"the randomizer failed on input {_brief(self.value)} with size {size}: "
                f"{type(error).__name__}: {error}"
            ) from error
        try:
            found = encode(raw, size)
        except ValueError as error:
            raise ValueError(f"the randomizer's output for input {_brief(self.value)}: {error}") from None
        if self.kind is not None and found.kind != self.kind:
            raise ValueError(
                f"the randomizer's output for input {_brief(self.value)}: {self.kind} in one call and "
                f"{found.kind} in another; all samples of one input have one shape "
                f"(return an object array for outcomes of varying size)"
            )
        self.kind, self.width = found.kind, max(1, found.numbers.shape[1])
        self.drawn += size
        return found


def _as_array(raw: Any, size: int) -> NDArray[Any]:
    if isinstance(raw, list) and raw and not isinstance(raw[0], str | int | float | complex | np.generic):
        array = np.empty(len(raw), dtype=object)  # a list of outcomes, perhaps of different sizes
        array[:] = raw
    else:
        array = np.asarray(raw)
    if array.ndim == 0:
        raise ValueError(f"an array with {size} samples along its first axis is needed, not {_brief(raw)}")
    if len(array) != size:
        raise ValueError(f"the first axis is the sample: {size} were asked for, the shape is {array.shape}")
    return array


def _texts(array: NDArray[Any]) -> Outputs:
    """Objects and text: leading numbers or letters as columns, the whole as key; each outcome once."""
    places: dict[Any, int] = {}
    rows: list[list[Any] | str] = []
    at = np.empty(len(array), dtype=np.int64)
    for i, item in enumerate(array.tolist()):
        flat = _flat(item)
        place = places.setdefault(repr(flat), len(rows))
        if place == len(rows):
            rows.append(flat)
        at[i] = place
    numbers = np.full((len(rows), LETTERS + 1), np.nan)
    for i, row in enumerate(rows):
        entries = [_number(x) if isinstance(row, list) else float(ord(x)) for x in row[:LETTERS]]
        numbers[i, : 1 + len(entries)] = [float(len(row)), *entries]
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in places]
    keys = np.frombuffer(b"".join(digests), dtype=np.uint64)
    return Outputs(numbers[at], keys[at], array, "objects" if array.dtype.kind == "O" else "text", ())


def _flat(row: Any) -> list[Any] | str:
    """A text as itself, anything nested as one list of its leaves, a single object as a list of one."""
    if isinstance(row, str | bytes):
        return row if isinstance(row, str) else repr(row)
    if isinstance(row, np.ndarray | np.generic):
        row = row.tolist()
    if isinstance(row, list | tuple):
        leaves: list[Any] = []
        for part in row:
            flat = _flat(part)
            leaves.extend(flat if isinstance(flat, list) else [flat])
        return leaves
    return [row if row is None or isinstance(row, int | float) else repr(row)]


def _number(x: Any) -> float:
    if isinstance(x, str):
        return float(int.from_bytes(hashlib.blake2b(x.encode(), digest_size=4).digest(), "big"))
    try:
        return float(x)
    except (TypeError, ValueError, OverflowError):
        return float("nan")


def _table(parts: Sequence[Outputs], raw: Any, name: str) -> Outputs:
    if not parts:
        raise ValueError("an array is needed, not an empty collection")
    mixed = np.stack([part.keys for part in parts], axis=1)
    kind = f"{name}({', '.join(part.kind for part in parts)})"
    return Outputs(np.concatenate([part.numbers for part in parts], axis=1), _mix(mixed), raw, kind, ())


def _keys(numbers: NDArray[Any]) -> Keys:
    """A hash of each row's bits. All NaNs are one outcome; 1 and 1.0 are, too, but not 2^60 and 2^60 + 1."""
    wide = numbers.astype(np.float64)
    wide[np.isnan(wide)] = np.nan
    bits = wide.view(np.uint64)
    if numbers.dtype.kind in "iu" and numbers.dtype.itemsize == 8:
        bits = np.where(np.abs(wide) < 2.0**53, bits, numbers.astype(np.uint64))
    return _mix(bits)


def _mix(columns: NDArray[np.uint64]) -> Keys:
    """splitmix64 down the columns: a collision would only merge two outcomes into one category."""
    key = np.full(len(columns), 0x9E3779B97F4A7C15, dtype=np.uint64)
    for column in columns.T:
        key = (key ^ column) * np.uint64(0xBF58476D1CE4E5B9)
        key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        key ^= key >> np.uint64(31)
    return key


def _rows(raw: Any, rows: slice) -> Any:
    if isinstance(raw, dict):
        return {name: part[rows] for name, part in raw.items()}
    return tuple(part[rows] for part in raw) if isinstance(raw, tuple) else raw[rows]


def _join_raw(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], dict):
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if isinstance(parts[0], tuple):
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))
    return np.concatenate(parts)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}…"
