"""10 000 requests in flight from asyncio, without a thread for any of them."""

import asyncio
import time

import troupe


async def square_sum(gpu: troupe.Device, n: int) -> float:
    x = gpu.full(16, n)
    total: float = await gpu.blas.dot(x, x)
    return total


async def main() -> None:
    with troupe.System() as system:
        gpu = system.device(0)
        gpu.wait_until_ready()
        begin = time.perf_counter()
        async with asyncio.timeout(60):
            results = await asyncio.gather(*(square_sum(gpu, n % 100) for n in range(10_000)))
        seconds = time.perf_counter() - begin
        right = sum(r == 16 * (n % 100) ** 2 for n, r in enumerate(results))
        print(
            f"{right} of {len(results)} right, {2 * len(results) / seconds:.0f} requests a second"
        )


asyncio.run(main())
