"""Figure 2: every vector has one bin per layer, and its remainder is what the figure says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lpcb.lplr.aggregate import Oracle
from lpcb.partition import edges, enter, key_level, layer_keys, level
from lpcb.spec import Spec
from tests.runs import served, small_problem, small_spec


@pytest.fixture(scope="module", params=[1, 2, 3])
def oracle(request: pytest.FixtureRequest) -> Oracle:
    d = request.param
    spec = small_spec(d=d)
    server, _ = served(spec, small_problem(d), seed=d)
    assert any(layer.active.any() for layer in server.oracles[0].layers[-1:]), (
        "the last layer should be alive"
    )
    return server.oracles[0]


def ball(d: int, n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((n, d))
    return v / np.linalg.norm(v, axis=1, keepdims=True) * np.exp(-8 * rng.random((n, 1)))


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1))
def test_routing_is_figure_2(oracle: Oracle, seed: int) -> None:
    spec = oracle.spec
    phi = ball(spec.d, 40, seed)
    action = np.random.default_rng(seed).integers(spec.actions, size=40)
    path = oracle.route(phi, action)
    edge = np.append(edges(spec), 0.0)
    used = np.zeros((40, 0, spec.d))
    total = np.zeros(40)
    for at, layer in zip(path, oracle.layers, strict=False):
        norm = np.linalg.norm(at.rest, axis=1)
        assert (norm <= edge[at.k]).all()
        assert (norm[at.k < spec.M] > edge[at.k + 1][at.k < spec.M]).all()
        assert (key_level(spec, at.keys) == at.k).all()
        assert np.isin(at.keys, layer_keys(spec, at.h, spec.actions)).all()
        # phi_h = (I - U U') phi with orthonormal U
        projected = phi - np.einsum("nhi,nhj,nj->ni", used, used, phi)
        assert np.allclose(at.rest, projected, atol=1e-12)
        assert np.allclose(at.total, total)
        rows = layer.rows(at.keys)
        used = np.concatenate([used, layer.u[rows][:, None]], axis=1)
        gram = np.einsum("nhi,nki->nhk", used, used)
        alive = np.einsum("nhh->nh", gram) > 0.5
        assert np.allclose(gram, np.eye(gram.shape[1]) * alive[:, :, None], atol=1e-12)
        total = total + np.einsum("ni,ni->n", phi, layer.theta[rows])


@given(st.integers(0, 40), st.integers(10**4, 10**18))
def test_bin_edges_belong_to_the_inner_bin(k: int, horizon: int) -> None:
    spec = Spec(d=1, actions=1, horizon=horizon)
    k = min(k, spec.M)
    edge = edges(spec)[k]
    above = np.nextafter(edge, 2.0)
    assert level(spec, np.array([edge]))[0] == k
    assert level(spec, np.array([above]))[0] == max(k - 1, 0)
    assert level(spec, np.array([0.0]))[0] == spec.M


def test_actions_have_separate_trees() -> None:
    spec = small_spec(actions=3)
    keys = enter(spec, np.tile([[0.6, 0.0]], (3, 1)), np.arange(3)).keys
    assert len(set(keys.tolist())) == 3
    assert len(layer_keys(spec, 2, 3)) == 3 * (spec.M + 1) ** 2


def test_unfitted_bins_are_an_error_not_a_wrong_row(oracle: Oracle) -> None:
    with pytest.raises(KeyError):
        oracle.layers[0].rows(np.array([10**9]))
