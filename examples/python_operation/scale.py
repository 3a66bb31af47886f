"""A function that a program in C++ asks for."""

import os

import numpy as np
import troupe


@troupe.operation("signal.scale")
def scale(
    x: troupe.Reads("n", dtype="f32"),  # noqa: F821
    y: troupe.Writes("n", like="x"),  # noqa: F821
    *,
    factor: float = 1.0,
) -> None:
    if factor == 666:
        os._exit(1)  # as a bug in an extension would
    np.multiply(x, factor, out=y)
