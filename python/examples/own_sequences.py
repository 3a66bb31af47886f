# own_sequences.py
from typing import Annotated, Any

import troupe


@troupe.operation("own.smooth")
def smooth(
    x: Annotated[Any, troupe.Reads("n", 4, dtype="f32")],
    mean: Annotated[Any, troupe.Reads("n", 4, dtype="f32")],
    y: Annotated[Any, troupe.Writes("n", 4, dtype="f32")],
    next_mean: Annotated[Any, troupe.Writes("n", 4, dtype="f32")],
) -> None:
    next_mean[:] = 0.5 * mean + 0.5 * x
    y[:] = x - next_mean


@troupe.serve.model(
    "smooth",
    operation="own.smooth",
    sequences=troupe.serve.Sequences({"mean": "next_mean"}, idle=60.0),
)
class Smooth:
    pass
