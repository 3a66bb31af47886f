"""Matrix products beside NumPy: what it computes, and what a killed worker changes about it."""

import os
import signal

import numpy as np
import troupe

rng = np.random.default_rng(1)
a = rng.standard_normal((512, 256), dtype="f4")
b = rng.standard_normal((256, 128), dtype="f4")

# region: matmul
with troupe.System() as system:
    gpu = system.device(0)  # a GPU if there is one, else the CPU
    x, w = gpu.tensor(a), gpu.tensor(b).freeze()  # NumPy arrays; no worker can write w

    y = gpu.blas.gemm(x, w)  # a Future at once, which can be an operand of the next request
    z = gpu.elementwise.softmax(y)
    print("error beside NumPy:", np.abs(y.numpy() - a @ b).max())  # waits; or: await y
    print("rows of the softmax add up to 1:", np.allclose(z.numpy().sum(axis=1), 1))

    futures = [gpu.blas.gemm(x, w) for _ in range(100)]
    gpu.wait_until_ready()
    if worker := gpu.worker_pid:
        os.kill(worker, signal.SIGKILL)
    right = sum(np.allclose(f.numpy(), a @ b, atol=1e-3) for f in futures)
    print("right after the worker was killed:", right, "of", len(futures))
# endregion: matmul
