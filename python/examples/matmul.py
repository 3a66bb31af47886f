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

    y = gpu.blas.gemm(a=x, b=w).result()  # or: await gpu.blas.gemm(a=x, b=w)
    print("error beside NumPy:", np.abs(y.numpy() - a @ b).max())

    futures = [gpu.blas.gemm(a=x, b=w) for _ in range(100)]
    gpu.wait_until_ready()
    os.kill(gpu.worker_pid or 0, signal.SIGKILL)
    right = sum(np.allclose(f.result().numpy(), a @ b, atol=1e-3) for f in futures)
    print("right after the worker was killed:", right, "of", len(futures))
# endregion: matmul
