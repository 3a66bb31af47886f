"""Where 64 people speak, by the weights of silero-vad; that workers are killed changes no bit.

pip install --no-deps silero-vad; python voice_service.py [SECONDS in real time]
"""

import asyncio
import importlib.util
import os
import pathlib
import signal
import sys
import time
from typing import Any

import numpy as np
import troupe
from voice_model import voices

STREAMS, CHUNK = 64, 0.032
seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.0
found = importlib.util.find_spec("silero_vad")
assert found is not None and found.origin is not None, __doc__
WEIGHTS = pathlib.Path(found.origin).parent / "data/silero_vad_16k.safetensors"

rng = np.random.default_rng(2026)
loudness = rng.uniform(0, 0.3, (round(seconds / CHUNK) or 40, STREAMS, 1))
speech = (rng.standard_normal((len(loudness), STREAMS, 512)) * loudness).astype("f4")


async def listen(gpu: troupe.Device, kills: bool) -> tuple[Any, Any]:
    answers: list[list[float]] = []
    times: list[float] = []
    async with voices(gpu, WEIGHTS, STREAMS) as all:
        begin = time.monotonic()
        for i, chunks in enumerate(speech):
            if seconds:
                await asyncio.sleep(begin + i * CHUNK - time.monotonic())
            if kills and i % (31 if seconds else 13) == 6 and gpu.worker_pid:
                os.kill(gpu.worker_pid, signal.SIGKILL)
            came = time.monotonic()
            answers.append(
                await asyncio.gather(
                    *(all(one, sequence=n, start=i == 0) for n, one in enumerate(chunks))
                )
            )
            times.append(time.monotonic() - came)
    return np.array(answers), np.array(times) * 1000


with troupe.System() as system:
    gpu = system.device(0, restarts=10_000)
    gpu.wait_until_ready()
    first, calm = asyncio.run(listen(gpu, kills=False))
    second, times = asyncio.run(listen(gpu, kills=True))
    print(f"{STREAMS} streams of {len(speech)} chunks, {gpu.health.restarts} workers killed")
    for name, all in ("without", calm), ("with kills", times):
        p50, p99 = np.percentile(all, [50, 99])
        print(f"{name}: {p50:.1f} ms for a chunk of all, p99 {p99:.1f}, most {all.max():.1f}")
    print(f"the same to the bit: {np.array_equal(first, second)}")
