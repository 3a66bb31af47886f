"""`troupe.serving.Experts`: rows through the experts that a gate chooses."""

import asyncio
import functools
import os
import signal

import numpy as np
import pytest
import troupe
from troupe import dnn
from troupe.serving import Experts


def in_loop(test):
    @functools.wraps(test)
    def run(**fixtures):
        asyncio.run(asyncio.wait_for(test(**fixtures), 60))

    return run


WIDTH, INNER, COUNT = 6, 10, 5


def silu(x):
    return x / (1 + np.exp(-x))


@pytest.fixture(scope="module")
def weights():
    rng = np.random.default_rng(7)
    pairs = [
        (rng.standard_normal((WIDTH, INNER)), rng.standard_normal((INNER, WIDTH)))
        for _ in range(COUNT)
    ]
    return pairs, rng.standard_normal((WIDTH, COUNT))


def loop(x, weights, top_k, room):
    """The same in f64, row by row."""
    pairs, gate = weights
    y, taken, dropped = np.zeros_like(x), [0] * COUNT, []
    for row, one in enumerate(x):
        logits = one @ gate
        if np.isnan(logits).any():
            y[row] = np.nan
            continue
        chosen = sorted(range(COUNT), key=lambda e: -logits[e])[:top_k]
        shares = np.exp(logits[chosen] - logits[chosen].max())
        for expert, share in zip(chosen, shares / shares.sum(), strict=True):
            if taken[expert] == room:
                dropped.append((row, expert))
                continue
            taken[expert] += 1
            w_in, w_out = pairs[expert]
            y[row] += share * (silu(one @ w_in) @ w_out)
    return y, dropped, taken


def on(gpu, weights, others=None, **options):
    pairs, gate = weights
    there = others or [gpu] * COUNT
    made = [
        tuple(one.tensor(w.astype("f4"), own=True) for w in pair)
        for one, pair in zip(there, pairs, strict=True)
    ]
    gate = gpu.tensor(gate.astype("f4"), own=True)
    return Experts(gpu, made, gate=gate, activation=dnn.silu, on=others, **options)


@in_loop
@pytest.mark.parametrize("top_k", [1, 2, COUNT])
@pytest.mark.parametrize("capacity, room", [(None, 99), (1.0, None), (0.4, None)])
async def test_they_agree_with_a_loop(gpu, weights, top_k, capacity, room):
    x = np.random.default_rng(3).standard_normal((40, WIDTH)).astype("f4")
    if room is None:
        room = int(np.ceil(capacity * 40 * top_k / COUNT))
    mixed = await on(gpu, weights, top_k=top_k, capacity=capacity)(gpu.tensor(x))
    y, dropped, taken = loop(x.astype("f8"), weights, top_k, room)
    assert list(mixed.dropped) == dropped and list(mixed.load) == taken
    np.testing.assert_allclose(mixed.y.numpy(), y, rtol=1e-4, atol=1e-4)


@in_loop
async def test_the_token_with_a_nan_gate_is_named_and_fails_alone(gpu, weights):
    x = np.random.default_rng(4).standard_normal((9, WIDTH)).astype("f4")
    x[4, 2] = np.nan
    mixed = await on(gpu, weights)(gpu.tensor(x))
    y, dropped, _ = loop(x.astype("f8"), weights, 2, int(np.ceil(1.25 * 9 * 2 / COUNT)))
    assert mixed.failed == [4] and list(mixed.dropped) == dropped
    found = mixed.y.numpy()
    assert np.isnan(found[4]).all()
    np.testing.assert_allclose(found, y, rtol=1e-4, atol=1e-4)


@in_loop
async def test_other_devices_go_on_where_a_worker_is_lost(weights):
    with troupe.System() as system:
        gpu, other = (system.device(i, backend="cpu") for i in range(2))
        other.wait_until_ready()
        experts = on(gpu, weights, [gpu, other, gpu, other, other], capacity=None)
        x = np.random.default_rng(5).standard_normal((30, WIDTH)).astype("f4")
        right, _, _ = loop(x.astype("f8"), weights, 2, 99)
        for _ in range(3):
            os.kill(other.worker_pid, signal.SIGKILL)
            mixed = await experts(gpu.tensor(x))
            np.testing.assert_allclose(mixed.y.numpy(), right, rtol=1e-4, atol=1e-4)


@in_loop
async def test_what_does_not_fit_is_refused(gpu, weights):
    pairs, gate = weights
    refusing = on(gpu, weights, capacity=0.2, overflow="refuse")
    with pytest.raises(troupe.CapacityExceeded, match="expert . has no room for row"):
        await refusing(gpu.ones((20, WIDTH)))
    with pytest.raises(troupe.ShapeMismatch, match=r"x must be \[rows, 6\]; it is \[3, 5\]"):
        await refusing(gpu.ones((3, 5)))
    for unequal in (
        [*pairs[:-1], (pairs[0][0][:, :-1], pairs[0][1][:-1])],
        [*pairs[:-1], (pairs[0][0][:-1], pairs[0][1])],
    ):
        with pytest.raises(troupe.ShapeMismatch, match="the weights of expert 4 are"):
            on(gpu, (unequal, gate))
    with pytest.raises(troupe.ShapeMismatch, match="gate is for 4 experts"):
        on(gpu, (pairs, gate[:, :-1]))
    for wrong in ({"top_k": 0}, {"top_k": 6}, {"capacity": 0.0}, {"overflow": "wait"}):
        with pytest.raises(ValueError, match="Experts"):
            on(gpu, weights, **wrong)
