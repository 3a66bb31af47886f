"""Kernels of CuPy and of Triton's language as operations; one with a bug costs its request.

Needs a GPU, CuPy, PyTorch and Triton. Workers import this file, too.
"""

# pyright: basic, reportMissingImports=false
from typing import Annotated, Any

import cupy
import numpy as np
import triton
import triton.language as tl
import troupe

Reads, Writes = troupe.Reads("m", "n", dtype="f32"), troupe.Writes("m", "n", dtype="f32")
scaling = cupy.ElementwiseKernel("float32 x, float32 by", "float32 y", "y = by * x", "scaling")


@troupe.operation("own.scale", arrays="cupy")
def scale(x: Annotated[Any, Reads], y: Annotated[Any, Writes], *, by: float) -> None:
    scaling(x, np.float32(by), y)


@triton.jit  # type: ignore[untyped-decorator, unused-ignore]
def softmax_of_row(x, y, columns, shift, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
    column = tl.arange(0, BLOCK)
    place = tl.program_id(0) * columns + column
    row = tl.load(x + place, mask=column < columns, other=-float("inf"))
    grown = tl.exp(row - tl.max(row, axis=0))
    tl.store(y + place + shift, grown / tl.sum(grown, axis=0), mask=column < columns)


@troupe.operation("own.softmax", arrays="torch")
def softmax(x: Annotated[Any, Reads], y: Annotated[Any, Writes], *, shift: int = 0) -> None:
    rows, columns = x.shape
    kernel: Any = softmax_of_row
    kernel[(rows,)](x, y, columns, shift, BLOCK=triton.next_power_of_2(columns))


def main() -> None:
    a = np.random.default_rng(1).random((64, 1000), np.float32)
    expected = np.exp(a) / np.exp(a).sum(1, keepdims=True)
    with troupe.System() as system:
        gpu: Any = system.device(0, backend="cuda", operations=[__file__])
        x = gpu.tensor(a)
        for worker in ("the first worker", "the next one"):
            right = np.array_equal(gpu.own.scale(x, by=2.0).numpy(), 2 * a)
            soft = gpu.own.softmax(x).numpy()
            print(f"{worker}: right: {right and np.allclose(soft, expected, atol=1e-6)}")
            print(gpu.own.softmax(x=x, shift=1 << 40).exception())  # far outside of its tensor


if __name__ == "__main__":
    main()
