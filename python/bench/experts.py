"""`troupe.serving.Experts` beside dense products of equal work, in turn in the same run.

    python experts.py [SECONDS_PER_FIGURE]

The gate spreads the rows evenly. The anchor is one network of the same sizes, as one request, for as
many rows as all experts have together. The last line is JSON; see serve.py.
"""

from __future__ import annotations

import asyncio
import statistics
import sys
import time
from typing import Any

import numpy as np
import troupe
from ending import report
from troupe import dnn
from troupe.serving import Experts

WIDTH, INNER, COUNT, TOP_K, RUNS = 384, 1536, 8, 2, 5


async def _rates(gpu: troupe.Device, rows: int, seconds: float) -> dict[str, Any]:
    rng = np.random.default_rng(1)

    def tensor(*shape: int) -> Any:
        return gpu.tensor(rng.standard_normal(shape, np.float32) / shape[0] ** 0.5, own=True)

    weights = [(tensor(WIDTH, INNER), tensor(INNER, WIDTH)) for _ in range(COUNT)]
    experts = Experts(
        gpu, weights, gate=tensor(WIDTH, COUNT), top_k=TOP_K, capacity=None, activation=dnn.gelu
    )
    x, all_rows = tensor(rows, WIDTH), tensor(rows * TOP_K, WIDTH)
    dense = dnn.computation(lambda x, w, v: dnn.gelu(x @ w) @ v)

    async def mixed() -> None:
        await experts(x)

    async def plain() -> None:
        await gpu.compute(dense, all_rows, *weights[0])

    rates: dict[str, list[float]] = {"experts": [], "dense": []}
    for _ in range(RUNS):
        for name, run in (("experts", mixed), ("dense", plain)):
            begin, done = time.perf_counter(), 0
            while time.perf_counter() - begin < seconds / RUNS or done == 0:
                await run()
                done += 1
            rates[name].append(done * rows / (time.perf_counter() - begin))
    ratios = [a / b for a, b in zip(rates["experts"], rates["dense"], strict=True)]
    return {
        "experts, rows a second": statistics.median(rates["experts"]),
        "dense, rows a second": statistics.median(rates["dense"]),
        "ratio": statistics.median(ratios),
        "ratios": [min(ratios), max(ratios)],
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    found = {}
    with troupe.System() as system:
        gpu = system.device(0)
        for rows in (64, 512, 4096):
            found[f"{rows} rows"] = asyncio.run(_rates(gpu, rows, seconds))
            print(f"experts: {rows} rows: {found[f'{rows} rows']}", flush=True)
    report(found)


if __name__ == "__main__":
    main()
