"""In a worker: the arrays that operations get for tensors, and their stream."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable
from typing import Any


def converter(arrays: str | None) -> Callable[[Any], Any] | None:
    """A function that makes an array of a view; None for NumPy's arrays, or for the view itself.

    Imports the array library, so that forked workers have it. If it is missing, calls fail later.
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
    """Calls a function with the lane's stream as the current one of torch and CuPy.

    It stays current, because the thread belongs to the lane.
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
    """Makes the device's GPU torch's default."""
    torch = sys.modules.get("torch")
    if torch is not None and ordinal >= 0:
        torch.cuda.set_device(ordinal)
