"""Two devices train one network, each with half of the batch; a worker is killed in a step."""

import os
import signal
from typing import Any

import numpy as np
import numpy.typing as npt
import troupe
from troupe import parallel

BATCH, WIDTHS, STEPS, RATE = 128, (64, 128, 10), 30, 0.2
rng = np.random.default_rng(1)
inputs = rng.uniform(-1, 1, (BATCH, WIDTHS[0])).astype("f4")
labels = inputs[:, : WIDTHS[-1]].argmax(axis=1).astype("i4")
drawn = [
    (rng.standard_normal(shape) * np.sqrt(2 / shape[0])).astype("f4")
    for shape in zip(WIDTHS, WIDTHS[1:], strict=False)
]


def train(world: troupe.World, *, kill: bool = False) -> npt.NDArray[np.float32]:
    """The loss of each example in each step."""
    gpus = world.devices
    # region: step
    first = [gpus[0].tensor(w) for w in drawn]
    weights: list[list[Any]] = parallel.replicate(world, first).result()  # [rank][parameter]
    buckets = parallel.GradientBuckets(world, first, bytes=16 << 10)
    x = [gpu.tensor(part) for gpu, part in zip(gpus, np.split(inputs, len(gpus)), strict=True)]
    t = [gpu.tensor(part) for gpu, part in zip(gpus, np.split(labels, len(gpus)), strict=True)]
    each = [gpu.full(BATCH // len(gpus), len(gpus) / BATCH) for gpu in gpus]
    losses: list[troupe.Future[Any]] = []
    for step in range(STEPS):
        dz: list[Any] = []
        h: list[Any] = []
        for r, gpu in enumerate(gpus):
            w0, w1 = weights[r]
            h.append(gpu.elementwise.activation(gpu.blas.gemm(x[r], w0)))
            z = gpu.blas.gemm(h[r], w1)
            losses.append(gpu.elementwise.cross_entropy(z, t[r]))
            dz.append(gpu.elementwise.cross_entropy_backward(z, t[r], each[r]))
            gpu.blas.gemm(h[r].transpose(), dz[r], buckets.gradient(r, 1), deterministic=True)
            buckets.sent(r, 1)  # the last rank sends the average, beside what follows
        if kill and step == STEPS // 2 and gpus[-1].worker_pid:
            os.kill(gpus[-1].worker_pid, signal.SIGKILL)
        for r, gpu in enumerate(gpus):
            dh = gpu.blas.gemm(dz[r], weights[r][1].transpose())
            dy = gpu.elementwise.activation_backward(x=h[r], dy=dh)
            gpu.blas.gemm(x[r].transpose(), dy, buckets.gradient(r, 0), deterministic=True)
            buckets.sent(r, 0)
        for r, gpu in enumerate(gpus):
            # New weights beside the old ones: a lost step can be done again.
            weights[r] = [
                gpu.map(lambda p, g: p - RATE * g, weights[r][i], buckets.average(r, i))
                for i in range(2)
            ]
    # endregion: step
    return np.stack([one.numpy() for one in losses]).reshape(STEPS, BATCH)


with troupe.System() as system:
    both = system.world([system.device(i, backend="cpu") for i in range(2)])
    on_two, disturbed = train(both), train(both, kill=True)
    on_one = train(system.world(both.devices[:1]))
    print("losses:", on_two.mean(axis=1)[::10].round(3), "to", on_two[-1].mean().round(3))
    print("with a killed worker the same to the bit:", np.array_equal(on_two, disturbed))
    print("as one device has them:", np.allclose(on_two, on_one, atol=1e-3))
