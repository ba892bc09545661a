"""Saves and restores a server: one JSON file, replaced atomically, floats exact, no pickle."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lpcb.files import write_atomic
from lpcb.lplr.aggregate import Oracle
from lpcb.lplr.pcr import Components
from lpcb.partition import Bins
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
        server.oracles = [
            Oracle(spec, tuple(Bins(**_unpack_rows(layer)) for layer in layers))
            for layers in state["oracles"]
        ]
        layers = tuple(Bins(**_unpack_rows(layer)) for layer in state["layers"])
        fit = None if state["components"] is None else Components(**_unpack_rows(state["components"]))
        where = state["epoch"], state["layer"], state["phase"]
        server.begin(View(spec, *where, layers, fit, tuple(server.oracles)))
        sums = {name: _unpack(table) for name, table in state["sums"].items()}
        if {name: table.shape for name, table in sums.items()} != server.view.shapes:
            raise ValueError("sums do not fit the batch")
        server.sums, server.received, server.ids = sums, int(state["received"]), set(state["ids"])
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"not a saved lpcb server of version {FORMAT['version']}: {error}") from None
    return server


def save(server: Server, path: str | Path) -> None:
    write_atomic(path, dumps(server))


def load(path: str | Path) -> Server:
    return loads(Path(path).read_text(encoding="utf-8"))


def _pack(array: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": str(array.dtype), "shape": list(array.shape), "data": array.ravel().tolist()}


def _unpack(plain: dict[str, Any]) -> NDArray[Any]:
    if plain["dtype"] not in ("float64", "int64", "bool"):
        raise ValueError(f"dtype {plain['dtype']!r}")
    return np.array(plain["data"], dtype=plain["dtype"]).reshape(plain["shape"])


def _pack_rows(rows: Bins | Components) -> dict[str, Any]:
    values = {field.name: getattr(rows, field.name) for field in fields(rows)}
    return {name: value if isinstance(value, int) else _pack(value) for name, value in values.items()}


def _unpack_rows(plain: dict[str, Any]) -> dict[str, Any]:
    return {name: value if isinstance(value, int) else _unpack(value) for name, value in plain.items()}
