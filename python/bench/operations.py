"""Operations of Python: what a call costs beside calling the function, and what faults cost.

    ./dev bench python, or python operations.py [SECONDS_PER_FIGURE [PART...]]

The parts are `calls`, `faults` and `growth`; without one, all.

The last line is JSON. With TROUPE_BENCH_JSON it goes to that file, too.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import growth
import numpy as np
import troupe

MODULE = """
import os, time
import numpy as np
import troupe

time.sleep(float(os.environ.get("BENCH_IMPORT", "0")))


@troupe.operation("bench.nothing")
def nothing(x: troupe.Reads("n", dtype="f32"), y: troupe.Writes("n", like="x")) -> None:
    pass


@troupe.operation("bench.scale")
def scale(
    x: troupe.Reads("n", dtype="f32"), y: troupe.Writes("n", like="x"), *, factor: float = 2.0
) -> None:
    np.multiply(x, factor, out=y)


@troupe.operation("bench.exit")
def end() -> None:
    os._exit(1)


@troupe.operation("bench.weighs")
def weighs(weights: troupe.ReadsMany, y: troupe.Writes(1, dtype="f32")) -> None:
    pass
"""


def percentiles(times: list[float], unit: float) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "p50": statistics.median(ordered) / unit,
        "p99": ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] / unit,
    }


def timed(call: Callable[[], Any], seconds: float) -> list[float]:
    times = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return times


def pipelined(call: Callable[[], Any], seconds: float, depth: int = 1000) -> float:
    """The median of rounds of as many requests in flight."""
    rates = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        begin = time.perf_counter()
        last = [call() for _ in range(depth)][-1]
        last.result()
        rates.append(depth / (time.perf_counter() - begin))
    return statistics.median(rates)


def faults(gpu: Any, x: Any, y: Any, count: int, standby: bool) -> list[float]:
    times = []
    for _ in range(count):
        while standby and not gpu.health.standby_ready:
            time.sleep(0.001)
        bad = gpu.bench.exit()
        begin = time.perf_counter()
        gpu.bench.scale(x=x, y=y).result()
        times.append(time.perf_counter() - begin)
        bad.exception()
        gpu.forgive_all()
    return times


def twice(gpu: Any, x: Any, y: Any, count: int) -> list[float]:
    """The time of a fault that comes at once after another."""
    times = []
    for _ in range(count):
        while not gpu.health.standby_ready:
            time.sleep(0.001)
        gpu.bench.exit().exception()
        gpu.bench.scale(x=x, y=y).result()
        times += faults(gpu, x, y, 1, False)
    return times


def measure_calls(gpu: Any, function: Callable[..., Any], seconds: float) -> dict[str, Any]:
    a = np.zeros(256, "f4")
    b = np.empty_like(a)
    x, y = gpu.tensor(a), gpu.empty(256)
    us = 1e-6
    figures: dict[str, Any] = {}
    figures["function_us"] = percentiles(timed(lambda: function(a, b), seconds), us)
    figures["fill_us"] = percentiles(
        timed(lambda: gpu.memory.fill(to=y, value=1).result(), seconds), us
    )
    nothing, scale = gpu.bench.nothing, gpu.bench.scale
    figures["nothing_us"] = percentiles(timed(lambda: nothing(x=x, y=y).result(), seconds), us)
    figures["scale_us"] = percentiles(timed(lambda: scale(x=x, y=y).result(), seconds), us)
    figures["nothing_per_s"] = pipelined(lambda: nothing(x=x, y=y), seconds)
    figures["scale_per_s"] = pipelined(lambda: scale(x=x, y=y), seconds)
    weights = [gpu.tensor(a, own=True).freeze() for _ in range(300)]
    one = gpu.empty(1)
    bound = gpu.bind("weights", weights)
    weighs = gpu.bench.weighs
    figures["300_tensors_us"] = percentiles(
        timed(lambda: weighs(weights=weights, y=one).result(), seconds), us
    )
    figures["300_bound_us"] = percentiles(
        timed(lambda: weighs(weights=bound, y=one).result(), seconds), us
    )
    return figures


def measure_faults(system: troupe.System, gpu: Any, file: pathlib.Path) -> dict[str, Any]:
    a = np.zeros(256, "f4")
    x, y = gpu.tensor(a), gpu.empty(256)
    figures = {"fault_ms": percentiles(faults(gpu, x, y, 100, True), 1e-3)}
    os.environ["BENCH_IMPORT"] = "3"
    slow: Any = system.device(1, backend="cpu", operations=[file], restarts=1_000_000)
    del os.environ["BENCH_IMPORT"]
    x, y = slow.tensor(a), slow.empty(256)
    slow.bench.scale(x=x, y=y).result()
    figures["second_fault_ms"] = percentiles(twice(slow, x, y, 30), 1e-3)
    slow.stop()
    return figures


def measure_growth(gpu: Any) -> dict[str, Any]:
    a = np.arange(256, dtype="f4")
    x, y = gpu.tensor(a), gpu.empty(256)

    def fault() -> bool:
        bad, next_one = gpu.bench.exit(), gpu.bench.scale(x=x, y=y)
        assert isinstance(bad.exception(timeout=60), troupe.DeviceFault)
        gpu.forgive_all()
        return bool((next_one.result(timeout=60).numpy() == 2 * a).all())

    return {
        "growth": growth.measure(
            gpu, lambda: gpu.bench.scale(x=x, y=y), fault, faults=200, calls=100_000
        )
    }


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    parts = sys.argv[2:] or ["calls", "faults", "growth"]
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder, troupe.System() as system:
        file = pathlib.Path(folder) / "bench_module.py"
        file.write_text(MODULE)
        sys.path.insert(0, folder)
        import bench_module

        gpu: Any = system.device(0, backend="cpu", operations=[file], restarts=1_000_000)
        gpu.bench.scale(x=gpu.zeros(256, "f32"), y=gpu.empty(256)).result()
        if "growth" in parts:  # first: the others' memory would hide a leak
            figures |= measure_growth(gpu)
        if "calls" in parts:
            figures |= measure_calls(gpu, bench_module.scale, seconds)
        if "faults" in parts:
            figures |= measure_faults(system, gpu, file)
    for name, value in figures.items():
        print(f"{name:20} {value}")
    text = json.dumps(figures)
    print(text)
    if "TROUPE_BENCH_JSON" in os.environ:
        pathlib.Path(os.environ["TROUPE_BENCH_JSON"]).write_text(text + "\n")


if __name__ == "__main__":
    main()
