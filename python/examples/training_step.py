"""A training step as one request; that the worker is killed meanwhile changes no bit of the weights.

Each step reads one set of weights and writes another, so a step that is lost is run again.
"""

import os
import signal
import time
from itertools import pairwise
from typing import Any

import numpy as np
import troupe

STEPS, BATCH, SIZES = 60, 64, (20, 48, 5)
rng = np.random.default_rng(2026)
inputs = rng.standard_normal((STEPS, BATCH, SIZES[0])).astype("f4")
hidden = rng.standard_normal((SIZES[0], SIZES[2]))
labels = (inputs @ hidden).argmax(2).astype("i4")
start = [rng.standard_normal(one).astype("f4") / one[0] ** 0.5 for one in pairwise(SIZES)]

descent = troupe.elementwise.function(lambda w, g: w - 0.5 * g)


def train_step(gpu: Any, x: Any, targets: Any, weights: Any, new: Any) -> None:
    """Cross entropy of two layers, and a step along its gradients."""
    ew, (w1, w2) = gpu.elementwise, weights
    inner = gpu.blas.gemm(x, w1)
    active = ew.activation(inner, kind="relu")
    logits = gpu.blas.gemm(active, w2)
    ew.cross_entropy(logits, targets, losses)
    d_logits = ew.cross_entropy_backward(logits, targets, d_losses)
    d_active = gpu.blas.gemm(d_logits, w2.T)
    d_inner = ew.activation_backward(inner, d_active, kind="relu")
    gradients = gpu.blas.gemm(x.T, d_inner), gpu.blas.gemm(active.T, d_logits)
    for weight, gradient, out in zip(weights, gradients, new, strict=True):
        gpu.map(descent, weight, gradient, out=out)


with troupe.System() as system:
    gpu = system.device(0)
    losses, d_losses = gpu.zeros((BATCH,)), gpu.full((BATCH,), 1 / BATCH)
    examples: list[Any] = [
        (gpu.tensor(x), gpu.tensor(t)) for x, t in zip(inputs, labels, strict=True)
    ]

    def fresh() -> tuple[list[Any], list[Any]]:
        return [gpu.tensor(w) for w in start], [gpu.empty(w.shape) for w in start]

    old, new = fresh()
    for x, targets in examples:
        train_step(gpu, x, targets, old, new)
        old, new = new, old
    expected = [w.numpy() for w in old]
    print("mean loss", losses.numpy().mean())

    old, new = fresh()
    x, targets = examples[0]
    with gpu.record("training step") as step:
        train_step(gpu, x, targets, old, new)
    step.parameter("x", x)
    step.parameter("targets", targets)
    for i in range(2):
        step.parameter(f"w{i}", old[i])
        step.parameter(f"new{i}", new[i])
    for i, (x, targets) in enumerate(examples):
        run = gpu.run(step, x=x, targets=targets, w0=old[0], w1=old[1], new0=new[0], new1=new[1])
        if i % 15 == 7 and gpu.worker_pid:
            time.sleep(i * 2e-6)
            os.kill(gpu.worker_pid, signal.SIGKILL)
        run.result()
        old, new = new, old
    same = all(np.array_equal(a, w.numpy()) for a, w in zip(expected, old, strict=True))
    print(f"{len(step)} requests a step; worker {gpu.generation}; as if none had been lost: {same}")
