"""Attention and its cache beside NumPy."""

import asyncio
import os
import signal
import time

import numpy as np
import pytest
import troupe


def attend(q, k, v, right=None, lengths=None, bias=None):
    """By the definition, in f64."""
    q, k, v = (one.astype("f8") for one in (q, k, v))
    heads = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, heads, axis=1), np.repeat(v, heads, axis=1)
    scores = np.einsum("bhid,bhjd->bhij", q, k) / np.sqrt(q.shape[-1])
    if bias is not None:
        scores = scores + bias.astype("f8")
    i, j = np.arange(q.shape[2])[:, None], np.arange(k.shape[2])[None, :]
    mask = np.ones(scores.shape, bool)
    if right is not None:
        mask &= j <= i + k.shape[2] - q.shape[2] + right
    if lengths is not None:
        mask &= j < np.asarray(lengths)[:, None, None, None]
    scores = np.where(mask, scores, -np.inf)
    most = scores.max(-1, keepdims=True)
    p = np.exp(scores - most)
    total = p.sum(-1, keepdims=True)
    return np.einsum("bhij,bhjd->bhid", p / total, v), most + np.log(total)


def drawn(rng, *shape, dtype="f2"):
    return rng.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_attention_matches_numpy(gpu, rng, dtype):
    shapes = ((2, 4, 9, 16), (2, 2, 12, 16), (2, 2, 12, 16))
    q, k, v = (drawn(rng, *shape, dtype=dtype) for shape in shapes)
    o = gpu.dnn.attention_forward(q=gpu.tensor(q), k=gpu.tensor(k), v=gpu.tensor(v)).result()
    np.testing.assert_allclose(o.numpy(), attend(q, k, v)[0], atol=5e-3)
    statistics = gpu.empty((2, 4, 9, 1), "f64" if dtype == "f8" else "f32")
    bias = drawn(rng, 1, 4, 9, 12, dtype=dtype)
    gpu.dnn.attention_forward(
        q=gpu.tensor(q), k=gpu.tensor(k), v=gpu.tensor(v), o=o, statistics=statistics,
        bias=gpu.tensor(bias), mask_lengths_kv=gpu.tensor(np.int32([12, 5])),
    ).result()  # fmt: skip
    expected, log_sums = attend(q, k, v, lengths=[12, 5], bias=bias)
    np.testing.assert_allclose(o.numpy(), expected, atol=5e-3)
    np.testing.assert_allclose(statistics.numpy(), log_sums, atol=5e-3)


def test_soft_cap_sinks_and_boolean_masks_match_numpy(gpu, rng):
    q, k, v = (drawn(rng, 2, 4, n, 16, dtype="f4") for n in (9, 12, 12))
    sinks = drawn(rng, 4, dtype="f4")
    allowed = rng.random((2, 1, 9, 12)) < 0.7
    o = gpu.dnn.attention_forward(
        q=gpu.tensor(q), k=gpu.tensor(k), v=gpu.tensor(v),
        mask_allowed=gpu.tensor(allowed), soft_cap=1.5, sinks=gpu.tensor(sinks),
    ).result()  # fmt: skip
    scores = 1.5 * np.tanh(np.einsum("bhid,bhjd->bhij", q, k) / 4 / 1.5)
    weights = np.where(allowed, np.exp(scores), 0)
    total = weights.sum(-1, keepdims=True) + np.exp(sinks)[:, None, None]
    np.testing.assert_allclose(
        o.numpy(), np.einsum("bhij,bhjd->bhid", weights / total, v), atol=1e-5
    )
    with pytest.raises(troupe.ShapeMismatch, match="mask.allowed must be"):
        x = gpu.tensor(q)
        gpu.dnn.attention_forward(q=x, k=x, v=x, mask_allowed=gpu.tensor(allowed[:, :, :4, :9]))


def test_tokens_first_is_a_view(gpu, rng):
    q = drawn(rng, 2, 9, 4, 16)  # [b, s, h, d]
    x = gpu.tensor(q).permute(0, 2, 1, 3)
    o = gpu.dnn.attention_forward(q=x, k=x, v=x, mask_right=0).result()
    assert o.permute(0, 2, 1, 3).strides == gpu.tensor(q).strides  # in q's order
    turned = q.transpose(0, 2, 1, 3)
    np.testing.assert_allclose(o.numpy(), attend(turned, turned, turned, right=0)[0], atol=5e-3)


def test_gradients_match_differences(gpu, rng):
    q, k, v, dout = (drawn(rng, 1, 2, 5, 8) for _ in range(4))
    x = [gpu.tensor(one) for one in (q, k, v)]
    statistics = gpu.empty((1, 2, 5, 1))
    o, _ = gpu.dnn.attention_forward(
        q=x[0], k=x[1], v=x[2], mask_right=0, mask_diagonal="bottom_right", statistics=statistics
    ).result()
    gradients = gpu.dnn.attention_backward(
        q=x[0], k=x[1], v=x[2], o=o, dout=gpu.tensor(dout), statistics=statistics,
        mask_right=0, mask_diagonal="bottom_right",
    ).result()  # fmt: skip
    exact = [one.astype("f8") for one in (q, k, v)]
    for which, gradient in enumerate(gradients):
        place = np.unravel_index(rng.integers(q.size), q.shape)
        sums = []
        for step in (1e-5, -1e-5):
            moved = [one.copy() for one in exact]
            moved[which][place] += step
            sums.append((attend(*moved, right=0)[0] * dout).sum())
        np.testing.assert_allclose(
            gradient.numpy()[place], (sums[0] - sums[1]) / 2e-5, atol=2e-2, rtol=2e-2
        )


@pytest.mark.parametrize("dtype", ["f2", "f4"])
def test_a_bias_that_masks_all_keys_has_no_gradients(gpu, rng, dtype):
    q, k, v, dout = (gpu.tensor(drawn(rng, 1, 2, 8, 16, dtype=dtype)) for _ in range(4))
    bias = np.zeros((1, 2, 8, 8), dtype)
    bias[:, :, 3] = -np.inf
    options = dict(q=q, k=k, v=v, bias=gpu.tensor(bias))
    o, statistics = gpu.empty(q.shape, q.dtype), gpu.empty((1, 2, 8, 1))
    gpu.dnn.attention_forward(**options, o=o, statistics=statistics).result()
    assert np.all(o.numpy()[:, :, 3] == 0)
    assert np.all(statistics.numpy()[:, :, 3] == -np.inf)
    results = [gpu.empty(one.shape, one.dtype) for one in (q, k, v, options["bias"])]
    gpu.dnn.attention_backward(
        **options, o=o, dout=dout, statistics=statistics,
        **dict(zip(("dq", "dk", "dv", "dbias"), results, strict=True)),
    ).result()  # fmt: skip
    assert all(np.isfinite(one.numpy()).all() for one in results)
    assert np.all(results[0].numpy()[:, :, 3] == 0)
    assert np.all(results[3].numpy()[:, :, 3] == 0)


def test_the_cache_outlives_workers(gpu, rng):
    cache = gpu.kv_cache(pages=8, heads=2, key_size=16, layers=1)
    sequence = cache.begin()
    k, v = drawn(rng, 1, 56, 2, 16), drawn(rng, 1, 56, 2, 16)
    for first, last in ((0, 40), (40, 41), (41, 56)):
        q = drawn(rng, 1, 4, last - first, 16)
        with cache.step([sequence], last - first) as step:
            step.append(0, gpu.tensor(k[:, first:last]), gpu.tensor(v[:, first:last]))
            if first == 40:
                os.kill(gpu.worker_pid, signal.SIGKILL)
            o = step.attend(0, gpu.tensor(q)).result()
        turned = [one[:, :last].transpose(0, 2, 1, 3) for one in (k, v)]
        np.testing.assert_allclose(o.numpy(), attend(q, *turned, right=0)[0], atol=5e-3)
    assert (cache.length(sequence), cache.free_pages) == (56, 4)
    other = cache.fork(sequence)
    assert cache.pages_of(other)[:3] == cache.pages_of(sequence)[:3]
    with pytest.raises(ZeroDivisionError), cache.step([other], 9):
        raise ZeroDivisionError
    assert (cache.length(other), cache.free_pages) == (56, 3)
    with pytest.raises(troupe.OutOfMemory, match="needs 4 pages; of 8 pages 3 are free"):
        cache.step([other], 60)
    cache.end(sequence)
    cache.end(other)
    assert cache.free_pages == 8
    with pytest.raises(troupe.InvalidArgument, match="there is no sequence"):
        cache.length(sequence)
    with pytest.raises(IndexError):
        cache.keys(1)


def test_the_cache_commits_without_a_thread_that_waits(gpu, rng):
    cache = gpu.kv_cache(pages=8, heads=2, key_size=16, layers=1)
    sequences = [cache.begin(), cache.begin()]
    k, v = (gpu.tensor(drawn(rng, 1, 5, 2, 16)) for _ in "kv")
    commits = []
    for one in sequences:
        step = cache.step([one], 5)
        step.append(0, k, v)
        if not commits:
            os.kill(gpu.worker_pid, signal.SIGKILL)
        commits.append(step.commit_async())
        assert step.over

    async def main():
        await commits[0]

    asyncio.run(main())
    assert cache.length(sequences[0]) == 5
    commits.clear()  # the other one is not waited for, and it has the tokens all the same
    until = time.monotonic() + 10
    while cache.length(sequences[1]) != 5 and time.monotonic() < until:
        time.sleep(0.001)
    assert (cache.length(sequences[1]), cache.free_pages) == (5, 6)
