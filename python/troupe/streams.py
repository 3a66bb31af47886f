"""What operations get for tensors, and the stream on which they enqueue, in a worker."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any


def converter(arrays: str | None) -> Callable[[Any], Any] | None:
    """Makes an array of a view; None where NumPy's arrays, or the view itself, are wanted."""
    if arrays == "torch":
        return _torch_array
    if arrays == "cupy":
        return _cupy_array
    return None


def _torch_array(view: Any) -> Any:
    import torch

    return torch.from_dlpack(view)


def _cupy_array(view: Any) -> Any:
    import cupy

    return cupy.asarray(view)


_torch_streams: dict[int, Any] = {}
_cupy_streams: dict[int, Any] = {}


def on_stream(function: Callable[..., Any], stream: int, /, **arguments: Any) -> Any:
    """Calls a function with the lane's stream as the current one of what it may use."""
    torch = sys.modules.get("torch")
    cupy = sys.modules.get("cupy")
    if torch is not None:
        current = _torch_streams.get(stream)
        if current is None:
            current = _torch_streams[stream] = torch.cuda.ExternalStream(stream)
        with torch.cuda.stream(current):
            return function(**arguments)
    if cupy is not None:
        current = _cupy_streams.get(stream)
        if current is None:
            current = _cupy_streams[stream] = cupy.cuda.ExternalStream(stream)
        with current:
            return function(**arguments)
    return function(**arguments)
