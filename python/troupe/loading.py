"""Weights from files, straight into tensors: .npy and safetensors, memory-mapped, in chunks."""

from __future__ import annotations

import json
import mmap
import os
import sys
from collections.abc import Callable
from typing import Any

from ._core import Device, Tensor

# How much of a file is on its way at once: enough to keep a disk and a copy busy.
_CHUNK = 64 << 20

_SAFETENSORS = {
    "F64": "f64", "F32": "f32", "F16": "f16", "BF16": "bf16", "F8_E4M3": "e4m3", "F8_E5M2": "e5m2",
    "C64": "c64", "I64": "i64", "I32": "i32", "I16": "i16", "I8": "i8", "U64": "u64", "U32": "u32",
    "U16": "u16", "U8": "u8", "BOOL": "bool",
}  # fmt: skip

Progress = Callable[[int, int], None]


def load(
    self: Device,
    path: str | os.PathLike[str],
    *,
    freeze: bool = True,
    progress: bool | Progress = False,
) -> Any:
    """Loads a file into new tensors: one from .npy, a dict by name from .safetensors.

    They are frozen, as weights are, unless freeze is False. progress shows a bar, or is called with
    the bytes that are done and the bytes in all.
    """
    name = os.fspath(path)
    if name.endswith(".npy"):
        return _load_npy(self, name, freeze, progress)
    if name.endswith(".safetensors"):
        return _load_safetensors(self, name, freeze, progress)
    raise ValueError(f"load: {name} is neither .npy nor .safetensors")


class _Copier:
    """Copies stretches of a file to tensors, a few chunks at a time."""

    def __init__(self, device: Device, total: int, progress: bool | Progress) -> None:
        self.device = device
        self.total = total
        self.done = 0
        self.report = _bar if progress is True else progress or None
        self.in_flight: list[tuple[Any, int]] = []

    def copy(self, data: memoryview, dtype: str, to: Tensor) -> None:
        flat = to.reshape(-1)
        step = max(1, _CHUNK // max(1, to.nbytes // max(1, to.size)))
        width = to.nbytes // max(1, to.size)
        for begin in range(0, to.size, step):
            end = min(begin + step, to.size)
            part = data[begin * width : end * width]
            self.in_flight.append((self.device._copy_in(part, dtype, flat[begin:end]), len(part)))
            while len(self.in_flight) > 2:
                self._finish_one()

    def _finish_one(self) -> None:
        future, size = self.in_flight.pop(0)
        future.result()
        self.done += size
        if self.report:
            self.report(self.done, self.total)

    def finish(self) -> None:
        while self.in_flight:
            self._finish_one()


def _bar(done: int, total: int) -> None:
    width = 30
    filled = width * done // max(1, total)
    end = "\n" if done >= total else ""
    print(f"\r[{'#' * filled}{'.' * (width - filled)}] {done / 1e6:.0f} of {total / 1e6:.0f} MB",
          end=end, file=sys.stderr, flush=True)  # fmt: skip


def _load_npy(device: Device, path: str, freeze: bool, progress: bool | Progress) -> Tensor:
    import numpy as np

    array = np.load(path, mmap_mode="r", allow_pickle=False)
    if array.dtype == object:
        raise TypeError(f"load: {path} holds Python objects")
    if not array.flags.c_contiguous:
        array = np.ascontiguousarray(array)
    made = device.empty(array.shape, array.dtype.name, own=freeze)
    copier = _Copier(device, array.nbytes, progress)
    copier.copy(memoryview(array.reshape(-1).view(np.uint8)), made.dtype, made)
    copier.finish()
    return made.freeze() if freeze else made


def _load_safetensors(
    device: Device, path: str, freeze: bool, progress: bool | Progress
) -> dict[str, Tensor]:
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        header, begin = _safetensors_header(path, file.read(8), file, size)
        data = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[begin:]
    plan = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        plan.append((name, *_checked(path, name, entry, len(data))))
    copier = _Copier(device, sum(last - first for _, _, _, first, last in plan), progress)
    made = {}
    for name, dtype, shape, first, last in plan:
        tensor = device.empty(shape, dtype, own=freeze)
        if tensor.nbytes != last - first:
            raise ValueError(
                f"load: {path}: {name} is {dtype}{list(shape)}, {tensor.nbytes} bytes, but has "
                f"{last - first}"
            )
        copier.copy(data[first:last], dtype, tensor)
        made[name] = tensor
    copier.finish()
    return {name: one.freeze() for name, one in made.items()} if freeze else made


def _safetensors_header(
    path: str, length: bytes, file: Any, size: int
) -> tuple[dict[str, Any], int]:
    count = int.from_bytes(length, "little")
    if len(length) < 8 or count > size - 8:
        raise ValueError(
            f"load: {path} is no safetensors file: its header has {count} bytes of {size}"
        )
    try:
        header = json.loads(file.read(count))
    except ValueError as why:
        raise ValueError(
            f"load: {path} is no safetensors file: its header is no JSON ({why})"
        ) from None
    if not isinstance(header, dict):
        raise ValueError(f"load: {path} is no safetensors file: its header is no object")
    return header, 8 + count


def _checked(path: str, name: str, entry: Any, size: int) -> tuple[str, tuple[int, ...], int, int]:
    try:
        dtype, shape = entry["dtype"], tuple(int(n) for n in entry["shape"])
        first, last = (int(n) for n in entry["data_offsets"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"load: {path}: {name} is described wrongly: {entry!r}") from None
    if dtype not in _SAFETENSORS:
        raise TypeError(f"load: {path}: {name} has elements of type {dtype}, which no device has")
    if not 0 <= first <= last <= size:
        raise ValueError(f"load: {path}: {name} lies at {first} … {last} of {size} bytes")
    return _SAFETENSORS[dtype], shape, first, last
