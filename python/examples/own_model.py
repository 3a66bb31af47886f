# own_model.py
import ctypes
from typing import Annotated, Any

import numpy as np
import troupe


@troupe.operation("own.roots")
def roots(
    x: Annotated[Any, troupe.Reads("n", 4, dtype="f32")],
    y: Annotated[Any, troupe.Writes("n", 4, dtype="f32")],
) -> None:
    if (x == 666).any():
        ctypes.string_at(0)  # stands for a bug in an extension: a segmentation fault
    if (x < 0).any():
        raise ValueError("a negative number")
    np.sqrt(x, out=y)


@troupe.serve.model("roots", operation="own.roots", batch=troupe.serve.Batch(items=32))
class Roots:
    def encode(self, request: dict[str, Any]) -> dict[str, Any]:  # one request, without "n"
        if len(request["numbers"]) != 4:
            raise ValueError("numbers must be four")
        return {"x": np.asarray(request["numbers"], "f4")}

    def decode(self, y: Any) -> dict[str, Any]:
        return {"numbers": y.tolist()}
