"""Random numbers are what they are, whichever worker draws them, and however often one is killed."""

import os
import signal

import numpy as np
import troupe

count, parts, seed = 1_000_000, 10, 42

with troupe.System() as system:
    gpu = system.device(0)
    whole = gpu.empty(count)
    gpu.rng.normal(to=whole, from_seed=seed).result()

    pieces = gpu.empty(count)
    step = count // parts
    for i in range(parts):
        gpu.rng.normal(to=pieces[i * step : (i + 1) * step], from_seed=seed, from_offset=i * step)
        if i % 3 == 1 and gpu.worker_pid:
            os.kill(gpu.worker_pid, signal.SIGKILL)
    same = np.array_equal(whole.numpy(), pieces.numpy())
    print(f"{gpu.generation} workers drew {count} numbers; the same as one would have: {same}")
