"""Attention with a paged cache generates tokens; that the worker is killed meanwhile changes none."""

import os
import signal
from typing import Any

import numpy as np
import troupe

VOCABULARY, LAYERS, HEADS, SIZE = 96, 3, 4, 32
WIDTH = HEADS * SIZE
rng = np.random.default_rng(2026)


def weights(gpu: troupe.Device, rows: int, columns: int) -> troupe.Tensor:
    return gpu.tensor((rng.standard_normal((rows, columns)) * 2 / rows**0.5).astype("f2"))


def next_token(gpu: troupe.Device, model: Any, cache: troupe.KvCache, tokens: list[int]) -> int:
    """Appends tokens to sequence 0; if that fails, the sequence is what it was."""
    embedding, layers, output = model
    n = len(tokens)
    ids = gpu.tensor(np.array(tokens, "i4"))
    x = gpu.elementwise.gather_rows(embedding, ids)
    with cache.step([0], n) as step:  # commits, unless something raises
        for layer, (w_qkv, w_o) in enumerate(layers):
            qkv = gpu.blas.gemm(gpu.elementwise.rms_norm(x), w_qkv)
            q, k, v = (qkv.reshape(1, n, 3 * HEADS, SIZE)[:, :, i : i + HEADS]
                       for i in range(0, 3 * HEADS, HEADS))  # fmt: skip
            step.append(layer, k, v)
            o = gpu.empty((n, WIDTH), "f16")
            by_head = o.reshape(1, n, HEADS, SIZE).permute(0, 2, 1, 3)
            step.attend(layer, q.permute(0, 2, 1, 3), o=by_head)
            x = gpu.elementwise.residual_add(x, gpu.blas.gemm(o, w_o))
        return int(gpu.blas.gemm(x[n - 1 :], output).numpy().argmax())


def generate(gpu: troupe.Device, model: Any, kills: bool) -> list[int]:
    cache = gpu.kv_cache(pages=16, heads=HEADS, key_size=SIZE, layers=LAYERS)
    assert cache.begin() == 0
    tokens = fresh = [3, 1, 4, 1, 5, 9, 2, 6]
    while len(tokens) < 40:
        if kills and len(tokens) % 10 == 9 and gpu.worker_pid:
            os.kill(gpu.worker_pid, signal.SIGKILL)
        fresh = [next_token(gpu, model, cache, fresh)]
        tokens = tokens + fresh
    return tokens


with troupe.System() as system:
    gpu = system.device(0)
    layers = [(weights(gpu, WIDTH, 3 * WIDTH), weights(gpu, WIDTH, WIDTH)) for _ in range(LAYERS)]
    model = weights(gpu, VOCABULARY, WIDTH), layers, weights(gpu, WIDTH, VOCABULARY)
    undisturbed = generate(gpu, model, kills=False)
    disturbed = generate(gpu, model, kills=True)
    print(*disturbed)
    print(f"worker {gpu.generation}; as if none had been lost: {disturbed == undisturbed}")
