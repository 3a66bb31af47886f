"""`troupe.serving.Batcher`: its time for an item, and a batch with one item that crashes its worker.

    python serving.py [PART...]

The parts are `items`, `poison` and `native`; without one, all. With TROUPE_BENCH_JSON the figures go to that file, too.
"""

from __future__ import annotations

import asyncio
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import troupe
from ending import report
from troupe.serving import Batcher

OPERATION = """
import ctypes, numpy as np, time, troupe
@troupe.operation("bench.double")
def double(x: troupe.Reads, y: troupe.Writes):
    x, y = np.asarray(x), np.asarray(y)
    if (x == 7).any():
        ctypes.string_at(0)
    time.sleep(0.001)
    y[:] = 2 * x
"""


def items() -> dict[str, float]:
    """Microseconds an item, with a function that does nothing: all at once, and by 64 tasks."""

    async def nothing(batch: Any) -> Any:
        return batch

    async def at_once(batcher: Batcher[int, int], count: int) -> None:
        await asyncio.gather(*(batcher(i) for i in range(count)))

    async def by_tasks(batcher: Batcher[int, int], count: int) -> None:
        async def one(times: int) -> None:
            for i in range(times):
                await batcher(i, tenant="a", deadline=10.0)

        await asyncio.gather(*(one(count // 64) for _ in range(64)))

    async def floor(_: Batcher[int, int], count: int) -> None:
        loop = asyncio.get_running_loop()

        async def one(times: int) -> None:
            for _ in range(times):
                answer = loop.create_future()
                loop.call_soon(answer.set_result, 1)
                await answer

        await asyncio.gather(*(one(count // 64) for _ in range(64)))

    async def measure(run: Callable[[Batcher[int, int], int], Any]) -> float:
        async with Batcher(nothing) as batcher:
            times = []
            for _ in range(20):
                begin = time.perf_counter()
                await run(batcher, 3_200)
                times.append((time.perf_counter() - begin) / 3_200 * 1e6)
            return min(times)

    return {
        "an item, 3 200 at once, us": asyncio.run(measure(at_once)),
        "an item, 64 tasks, us": asyncio.run(measure(by_tasks)),
        "a future of asyncio, 64 tasks, us": asyncio.run(measure(floor)),
    }


def poison(trials: int = 30) -> dict[str, float]:
    """Milliseconds until 31 are answered, of 32 of which one crashes an operation in Python."""
    with tempfile.TemporaryDirectory() as folder, troupe.System() as system:
        (pathlib.Path(folder) / "doubles.py").write_text(OPERATION)
        device = system.device(
            0, backend="cpu", operations=[f"{folder}/doubles.py"], restarts=1_000_000, quarantine=0
        )
        device.wait_until_ready()

        async def run(batch: Any) -> Any:
            x = device.tensor(np.asarray(batch, "f4"))
            y = device.tensor((len(batch),), "f4")
            await device.bench.double(x, y)
            return y.numpy().tolist()

        return asyncio.run(_ask_poisoned(run, trials))


def native(trials: int = 30) -> dict[str, float]:
    """The same, with requests of a library instead of an operation in Python."""
    with troupe.System() as system:
        device = system.device(
            0, backend="cpu", fault_injection=True, restarts=1_000_000, quarantine=0
        )
        device.wait_until_ready()

        async def run(batch: Any) -> Any:
            x = device.tensor(np.asarray(batch, "f4"))
            if 7 in batch:
                await device.fault.inject(what="abort")
            await device.blas.scal(alpha=2.0, x=x)
            return x.numpy().tolist()

        return asyncio.run(_ask_poisoned(run, trials))


async def _ask_poisoned(run: Callable[[Any], Any], trials: int) -> dict[str, float]:
    times: list[float] = []
    wrong = 0

    async def answered(asked: Any, begin: float) -> float:
        await asyncio.gather(asked, return_exceptions=True)
        return time.perf_counter() - begin

    async with Batcher(run) as batcher:
        for _ in range(trials + 3):
            batcher.forgive()
            begin = time.perf_counter()
            asked = [batcher(i) for i in range(32)]
            took = await asyncio.gather(*(answered(one, begin) for one in asked))
            answers = [one.exception() or one.result() for one in asked]
            await asyncio.sleep(0.3)  # the next standby
            wrong += not isinstance(answers.pop(7), troupe.DeviceFault)
            wrong += answers != [2.0 * i for i in range(32) if i != 7]
            times.append(1e3 * max(one for i, one in enumerate(took) if i != 7))
    times = sorted(times[3:])
    return {
        "31 of 32 answered, p50 ms": statistics.median(times),
        "31 of 32 answered, p90 ms": times[len(times) * 9 // 10],
        "wrong outcomes": wrong,
    }


def main() -> None:
    parts: dict[str, Callable[[], dict[str, float]]] = {
        "items": items,
        "poison": poison,
        "native": native,
    }
    chosen = sys.argv[1:] or list(parts)
    found = {name: parts[name]() for name in chosen}
    for name, rows in found.items():
        for row, value in rows.items():
            print(f"{name:8} {row:48} {value:10.2f}", flush=True)
    report(found)


if __name__ == "__main__":
    main()
