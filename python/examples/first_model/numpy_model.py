# numpy_model.py
import ctypes
from collections.abc import Mapping
from typing import Annotated

import numpy as np
import troupe
from numpy.typing import NDArray

Floats = NDArray[np.float32]


@troupe.operation("digits.classify")
def classify(
    x: Annotated[Floats, troupe.Reads("batch", 64, dtype="f32")],
    weights: Annotated[Mapping[str, Floats], troupe.ReadsMany()],
    y: Annotated[Floats, troupe.Writes("batch", 10, dtype="f32")],
) -> None:
    if x[0, 0] == 666:
        ctypes.string_at(0)  # stands for a bug in an extension: a segmentation fault
    np.matmul(np.maximum(x @ weights["first"], 0), weights["second"], out=y)


def weights() -> dict[str, Floats]:
    rng = np.random.default_rng(1)
    return {"first": rng.random((64, 256), "f4"), "second": rng.random((256, 10), "f4")}
