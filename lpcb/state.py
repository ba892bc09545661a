"""Saves and restores a server: one JSON file, replaced atomically, floats exact, no pickle."""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpcb.boundary import short
from lpcb.files import write_atomic
from lpcb.lplr.aggregate import Oracle
from lpcb.lplr.pcr import Components
from lpcb.partition import Bins, layer_keys
from lpcb.protocol import Server, View
from lpcb.spec import Spec

FORMAT = {"format": "lpcb-server", "version": 1}
SPEC_FIELDS = tuple(field.name for field in fields(Spec) if field.name != "repairs")


def dumps(server: Server) -> str:
    """The whole state of ``server``. Equal states give equal text."""
    spec, view = server.spec, server.view
    state = FORMAT | {
        "spec": {name: getattr(spec, name) for name in SPEC_FIELDS} | {"repairs": sorted(spec.repairs)},
        "epoch": view.epoch,
        "layer": view.layer,
        "phase": view.phase,
        "received": server.received,
        "ids": sorted(server.ids),
        "sums": {name: _pack(table) for name, table in server.sums.items()},
        "layers": [_pack_rows(layer) for layer in view.layers],
        "components": None if view.components is None else _pack_rows(view.components),
        "oracles": [[_pack_rows(layer) for layer in oracle.layers] for oracle in server.oracles],
    }
    return json.dumps(state, allow_nan=False)


def loads(text: str) -> Server:
    """The server that :func:`dumps` saw. Anything else is a ValueError."""
    try:
        state = json.loads(text)
        if {key: state[key] for key in FORMAT} != FORMAT:
            raise ValueError(f"format {state['format']!r} version {state['version']!r}")
        spec = Spec(**(state["spec"] | {"repairs": frozenset(state["spec"]["repairs"])}))
        server = Server(spec)
        trees = [tuple(Bins(**_unpack_rows(layer)) for layer in layers) for layers in state["oracles"]]
        server.oracles = [Oracle(spec, layers) for layers in trees]
        layers = tuple(Bins(**_unpack_rows(layer)) for layer in state["layers"])
        fit = None if state["components"] is None else Components(**_unpack_rows(state["components"]))
        where = state["epoch"], state["layer"], state["phase"]
        view = View(spec, *where, layers, fit, tuple(server.oracles))
        _check(view, [*trees, layers])
        server.begin(view)
        sums = {name: _unpack(table) for name, table in state["sums"].items()}
        if {name: table.shape for name, table in sums.items()} != view.shapes:
            raise ValueError("sums do not fit the batch")
        server.sums, server.received, server.ids = sums, state["received"], set(state["ids"])
        if not all(type(i) is int and i >= 0 for i in [server.received, *server.ids]):
            raise ValueError("received and ids are whole numbers")
        if not server.received <= min(server.batch, len(server.ids)):
            raise ValueError(f"{server.received} reports of {server.batch}, {len(server.ids)} ids")
    except (KeyError, TypeError, AttributeError, OverflowError, ValueError) as error:
        raise ValueError(f"not a saved lpcb server of version {FORMAT['version']}: {error}") from None
    return server


def _check(view: View, trees: list[tuple[Bins, ...]]) -> None:
    """Everything about a view that a server could not have reached."""
    spec = view.spec
    if [len(tree) for tree in trees] != [spec.d] * (view.epoch - 1) + [view.layer - 1]:
        raise ValueError(f"epoch {view.epoch!r} and layer {view.layer!r} do not fit the layers saved")
    if view.phase not in ("update", "interval") or (view.components is None) != (view.phase == "update"):
        raise ValueError(f"phase {view.phase!r} does not fit what is saved")
    for tree in trees:
        for h, layer in enumerate(tree, start=1):
            if not np.array_equal(layer.keys, layer_keys(spec, h, spec.actions)):
                raise ValueError("bins do not fit the specification")
            _check_rows(layer, len(layer.keys), spec.d)
    if view.components is not None:
        _check_rows(view.components, len(view.keys), spec.d)
    view.check()


def _check_rows(rows: Bins | Components, cells: int, d: int) -> None:
    shapes = {"u": (cells, d), "theta": (cells, d), "rest": (cells, d, d)}
    for field in fields(rows):
        value = getattr(rows, field.name)
        if field.name != "n" and value.shape != shapes.get(field.name, (cells,)):
            raise ValueError(f"{field.name} has shape {value.shape}")


def save(server: Server, path: str | Path) -> None:
    write_atomic(path, dumps(server))


def load(path: str | Path) -> Server:
    """The server that :func:`save` saw. A file that holds anything else is a ValueError that names it."""
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path is the name of a file, not {short(path)}")
    try:
        return loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:  # also what is not UTF-8, and a name that no file can have
        raise ValueError(f"path {str(path)!r}: {error}") from None


def _pack(array: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": str(array.dtype), "shape": list(array.shape), "data": array.ravel().tolist()}


def _unpack(plain: dict[str, Any]) -> NDArray[Any]:
    if plain["dtype"] not in ("float64", "int64", "bool"):
        raise ValueError(f"dtype {plain['dtype']!r}")
    array = np.array(plain["data"], dtype=plain["dtype"]).reshape(plain["shape"])
    if not np.isfinite(array).all():
        raise ValueError("NaN or infinity")
    return array


def _pack_rows(rows: Bins | Components) -> dict[str, Any]:
    values = {field.name: getattr(rows, field.name) for field in fields(rows)}
    return {name: value if isinstance(value, int) else _pack(value) for name, value in values.items()}


def _unpack_rows(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, int) else _unpack(value) for name, value in plain.items()}
