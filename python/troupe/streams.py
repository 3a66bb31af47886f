"""What operations get for tensors, and the stream on which they enqueue, in a worker."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from typing import Any


def converter(arrays: str | None) -> Callable[[Any], Any] | None:
    """Makes an array of a view; None where NumPy's arrays, or the view itself, are wanted.

    Imports what makes it: a worker that is forked has it. What is not there, calls will miss.
    """
    made = {"torch": _torch_array, "cupy": _cupy_array}.get(arrays or "")
    if arrays is not None and made is not None:
        with contextlib.suppress(ImportError):
            importlib.import_module(arrays)
    return made


def _torch_array(view: Any) -> Any:
    import torch

    # torch makes a tensor from a capsule, without a stream, in less than half the time.
    return torch.utils.dlpack.from_dlpack(view.__dlpack__())


def _cupy_array(view: Any) -> Any:
    import cupy

    return cupy.asarray(view)


_torch_streams: dict[int, Any] = {}
_cupy_streams: dict[int, Any] = {}


def on_stream(function: Callable[..., Any], stream: int, ordinal: int, /, **arguments: Any) -> Any:
    """Calls a function with the lane's stream as the current one of what it may use.

    It stays current: the thread is the lane's.
    """
    torch = sys.modules.get("torch")
    if torch is not None and (
        torch.cuda.current_stream(ordinal).cuda_stream != stream
        or torch.cuda.current_device() != ordinal
    ):
        if stream not in _torch_streams:
            _torch_streams[stream] = torch.cuda.ExternalStream(stream, device=ordinal)
        torch.cuda.set_device(ordinal)
        torch.cuda.set_stream(_torch_streams[stream])
    cupy = sys.modules.get("cupy")
    if cupy is not None and cupy.cuda.get_current_stream(ordinal).ptr != stream:
        if stream not in _cupy_streams:
            _cupy_streams[stream] = cupy.cuda.ExternalStream(stream, ordinal)
        cupy.cuda.Device(ordinal).use()
        _cupy_streams[stream].use()
    return function(**arguments)


def choose_gpu(ordinal: int) -> None:
    """Has torch use the device's GPU for what says nothing else."""
    torch = sys.modules.get("torch")
    if torch is not None and ordinal >= 0:
        torch.cuda.set_device(ordinal)
