"""A service whose model is Python: 400 requests from asyncio, some of which crash or hang their worker.

The worker imports this file too, so the operations come first and `main` is guarded.
"""

import asyncio
import collections
import ctypes
import time

import numpy as np
import troupe


# region operation
@troupe.operation("model.classify")
def classify(
    x: troupe.Reads("batch", 64, dtype="f32"),  # type: ignore[valid-type]
    weights: troupe.ReadsMany,
    y: troupe.Writes("batch", 10, dtype="f32"),  # type: ignore[valid-type]
) -> None:
    """Two layers; what a bad input does to it is what bad inputs do to native code."""
    if x[0, 0] == 666:
        ctypes.string_at(0)  # a bug in an extension
    while x[0, 0] == 667:  # a loop that does not end
        pass
    if not np.isfinite(x).all():
        raise ValueError("the input has values that are not finite")
    hidden = np.maximum(x @ weights["first"], 0)
    np.matmul(hidden, weights["second"], out=y)
    # endregion


# region service
async def serve(gpu: troupe.Device, batch: np.ndarray) -> str:
    try:
        y = await gpu.model.classify(x=gpu.tensor(batch), weights="digits", run_limit=0.2)
        return "right" if y.shape == (len(batch), 10) else "wrong"
    except troupe.Failure as why:
        return why.message.split("\n")[0].split(":")[0]


async def main() -> None:
    rng = np.random.default_rng(1)
    with troupe.System() as system:
        gpu = system.device(0, backend="cpu", operations=[__file__])
        gpu.bind("digits", {"first": rng.random((64, 256), "f4"), "second": rng.random((256, 10), "f4")})
        batches = [rng.random((8, 64), "f4") for _ in range(400)]
        for i, value in enumerate((666, 667, np.nan)):
            batches[100 * i + 50][0, 0] = value
        begin = time.perf_counter()
        answers = await asyncio.gather(*(serve(gpu, batch) for batch in batches))
        print(dict(collections.Counter(answers)), f"in {time.perf_counter() - begin:.2f} s")
        print("generation", gpu.generation)
    # endregion


if __name__ == "__main__":
    asyncio.run(main())
