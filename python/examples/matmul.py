# matmul.py
import os
import signal

import numpy as np
import troupe

a = np.random.default_rng(1).standard_normal((512, 256), dtype="f4")

with troupe.System() as system:
    gpu = system.device(0)  # the first GPU; without one, the CPU
    x = gpu.tensor(a)  # copied in; this program owns the memory
    y = gpu.elementwise.softmax(x=gpu.blas.gemm(x, x.T))  # a chain, sent without a wait
    print("rows add up to 1:", np.allclose(y.numpy().sum(axis=1), 1))  # numpy() waits

    products = [gpu.blas.gemm(x, x.T) for _ in range(100)]  # futures
    gpu.wait_until_ready()
    if worker := gpu.worker_pid:
        os.kill(worker, signal.SIGKILL)
    right = sum(np.allclose(one.numpy(), a @ a.T, atol=1e-3) for one in products)
    print("right after the worker was killed:", right, "of", len(products))
