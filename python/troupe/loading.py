"""Weights from files, straight into tensors: .npy and .safetensors, in chunks.

Files are read, not mapped: one that is cut meanwhile is an error, where a mapping ends the program.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable
from typing import Any

from . import safetensors
from ._core import Device, Tensor
from .arrays import _NAMES

# How much of a file is on its way at once: enough to keep a disk and a copy busy, and little enough
# to stay in the processor's cache between the two.
_CHUNK = 2 << 20
_CHUNKS = 4

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
    if not name.endswith((".npy", ".safetensors")):
        raise ValueError(f"load: {name} is neither .npy nor .safetensors")
    load_one = _load_npy if name.endswith(".npy") else _load_safetensors
    with open(name, "rb", buffering=0) as file:
        try:
            return load_one(self, file, freeze, progress)
        except Exception as why:
            # Every error names the file.
            if isinstance(why, OSError) and why.errno is not None:
                why.filename = name
            else:
                why.args = (f"load: {name}: {why}",)
            raise


class _Copier:
    """Copies stretches of a file to tensors, a few chunks at a time."""

    def __init__(self, device: Device, file: Any, total: int, progress: bool | Progress) -> None:
        self.device = device
        self.file = file
        self.total = total
        self.done = 0
        self.report = _bar if progress is True else progress or None
        self.room = [memoryview(bytearray(min(_CHUNK, total))) for _ in range(_CHUNKS)]
        self.in_flight: list[tuple[Any, int, memoryview]] = []

    def copy(self, at: int, to: Tensor, turned: Any = None) -> None:
        """Copies from the byte `at` on. turned: NumPy's type of elements in the other byte order."""
        flat = to.reshape(-1)
        width = to.nbytes // max(1, to.size)
        step = _CHUNK // max(1, width)
        for begin in range(0, to.size, step):
            end = min(begin + step, to.size)
            if not self.room:
                self._finish_one()
            room = self.room.pop()
            part = room[: (end - begin) * width]
            self._read(at + begin * width, part)
            if turned is not None:
                _turn(part, turned)
            copied = self.device._copy_in(part, to.dtype, flat[begin:end])
            self.in_flight.append((copied, len(part), room))

    def _read(self, at: int, to: memoryview) -> None:
        done = 0
        while done < len(to):
            count = os.preadv(self.file.fileno(), [to[done:]], at + done)
            if count == 0:
                raise ValueError(f"it ends at byte {at + done}: it was cut while it was read")
            done += count

    def _finish_one(self) -> None:
        future, size, room = self.in_flight.pop(0)
        future.result()
        self.room.append(room)
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


def _turn(part: memoryview, dtype: Any) -> None:
    """Turns the bytes of each element round; of a complex one, those of its parts."""
    import numpy as np

    np.frombuffer(part, dtype).byteswap(inplace=True)


def _load_npy(device: Device, file: Any, freeze: bool, progress: bool | Progress) -> Tensor:
    import numpy as np

    version = np.lib.format.read_magic(file)
    if version not in ((1, 0), (2, 0)):  # later ones name the fields of records
        raise ValueError(f"it is of version {version} of its format, which no array of numbers is")
    read = np.lib.format.read_array_header_1_0
    if version == (2, 0):
        read = np.lib.format.read_array_header_2_0
    shape, by_columns, dtype = read(file)
    begin = file.tell()
    native = dtype.newbyteorder("=")
    if dtype.hasobject:
        raise TypeError("it holds Python objects")
    if native.name not in _NAMES.values():
        raise TypeError(f"it has elements of NumPy's type {dtype}, which no device has")
    total = math.prod(shape) * dtype.itemsize
    left = os.fstat(file.fileno()).st_size - begin
    if any(extent < 0 for extent in shape) or total > left:
        raise ValueError(f"it is {native.name}{list(shape)}, {total} bytes, but has {left}")
    made = device.empty(shape, native.name, own=freeze)
    by_columns = by_columns and len(shape) > 1
    target = device.empty(shape[::-1], native.name) if by_columns else made
    copier = _Copier(device, file, total, progress)
    copier.copy(begin, target, None if dtype == native else native)
    copier.finish()
    if by_columns:
        device.copy(target.permute(*reversed(range(len(shape)))), made).result()
    return made.freeze() if freeze else made


def _load_safetensors(
    device: Device, file: Any, freeze: bool, progress: bool | Progress
) -> dict[str, Tensor]:
    size = os.fstat(file.fileno()).st_size
    length = file.read(8)
    count = int.from_bytes(length, "little")
    if len(length) < 8 or count > min(size - 8, safetensors.LONGEST_HEADER):
        raise ValueError(
            f"it is no safetensors file: its header has {count} bytes of {size}, and may have "
            f"{safetensors.LONGEST_HEADER}"
        )
    text = file.read(count)
    try:
        entries = safetensors.entries(text, size - 8 - count)
    except ValueError as why:
        raise ValueError(f"it is no safetensors file: {why}") from None
    copier = _Copier(device, file, size - 8 - count, progress)
    made = {}
    for one in entries:
        try:
            tensor = made[one.name] = device.empty(one.shape, one.dtype, own=freeze)
        except Exception as why:
            why.args = (f"{one.name!r}: {why}",)
            raise
        copier.copy(8 + count + one.first, tensor)
    copier.finish()
    return {name: one.freeze() for name, one in made.items()} if freeze else made
