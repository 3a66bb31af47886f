"""What operations get for tensors, and the stream on which they enqueue, in a worker."""

from __future__ import annotations

import contextlib
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


def on_stream(function: Callable[..., Any], stream: int, ordinal: int, /, **arguments: Any) -> Any:
    """Calls a function with the lane's stream as the current one of what it may use."""
    torch = sys.modules.get("torch")
    cupy = sys.modules.get("cupy")
    with contextlib.ExitStack() as current:
        if torch is not None:
            if stream not in _torch_streams:
                _torch_streams[stream] = torch.cuda.ExternalStream(stream, device=ordinal)
            current.enter_context(torch.cuda.stream(_torch_streams[stream]))
        if cupy is not None:
            if stream not in _cupy_streams:
                _cupy_streams[stream] = cupy.cuda.ExternalStream(stream, ordinal)
            current.enter_context(cupy.cuda.Device(ordinal))
            current.enter_context(_cupy_streams[stream])
        return function(**arguments)


def choose_gpu(ordinal: int) -> None:
    """Has torch use the device's GPU for what says nothing else."""
    torch = sys.modules.get("torch")
    if torch is not None and ordinal >= 0:
        torch.cuda.set_device(ordinal)
