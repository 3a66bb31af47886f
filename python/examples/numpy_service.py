"""A service whose model is Python: 400 requests, some of which crash or hang their worker.

Workers import this file, too: the operation comes first, and what makes devices is guarded.
"""

import asyncio
import collections
import ctypes
from collections.abc import Mapping
from typing import Annotated

import numpy as np
import troupe
from numpy.typing import NDArray

Floats = NDArray[np.float32]


# region: operation
@troupe.operation("model.classify")
def classify(
    x: Annotated[Floats, troupe.Reads("batch", 64, dtype="f32")],
    weights: Annotated[Mapping[str, Floats], troupe.ReadsMany()],
    y: Annotated[Floats, troupe.Writes("batch", 10, dtype="f32")],
) -> None:
    if x[0, 0] == 666:
        ctypes.string_at(0)  # a bug in an extension: a segmentation fault
    while x[0, 0] == 667:  # a loop that does not end
        pass
    if not np.isfinite(x).all():
        raise ValueError("x has values that are not finite")
    np.matmul(np.maximum(x @ weights["first"], 0), weights["second"], out=y)
    # endregion: operation


# region: service
async def serve(gpu: troupe.Device, batch: Floats) -> str:
    try:
        y = await gpu.model.classify(x=gpu.tensor(batch), weights="digits", run_limit=0.2)
        return "right" if np.isfinite(y.numpy()).all() else "wrong"
    except troupe.Failure as why:
        return why.message.split(":")[0]


async def main() -> None:
    rng = np.random.default_rng(1)
    batches = [rng.random((8, 64), "f4") for _ in range(400)]
    for i, bad in ((50, 666), (150, 667), (250, np.nan)):
        batches[i][0, 0] = bad
    with troupe.System() as system:
        gpu = system.device(0, backend="cpu", operations=[__file__])
        shapes = {"first": (64, 256), "second": (256, 10)}
        gpu.bind("digits", {name: rng.random(shape, "f4") for name, shape in shapes.items()})
        print(collections.Counter(await asyncio.gather(*(serve(gpu, b) for b in batches))))
        # endregion: service


if __name__ == "__main__":
    asyncio.run(main())
