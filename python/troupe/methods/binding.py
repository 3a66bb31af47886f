"""Sets of frozen tensors that calls name: weights, which are sent once and not with each call."""

from __future__ import annotations

import secrets
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._core import Device, Future, Tensor, _dtype_number
from ..arrays import tensor as _tensor

_MAGIC = 0x7472_6F75_7065_0001
_MAX_RANK = 8


class BoundSet:
    """Frozen tensors that operations get as a mapping or a tuple of arrays, which a worker keeps.

    It goes with the last reference to it. `tensors` are the tensors by name, or by number.
    """

    def __init__(self, device: Device, name: str, tensors: dict[str, Tensor], named: bool) -> None:
        self.name = name
        self.tensors = tensors
        data = bytearray(struct.pack("=QQQQ", _MAGIC, secrets.randbits(64), len(tensors), named))
        for key, one in tensors.items():
            data += _entry(key.encode(), one)
        # Memory that every worker has, at the same place.
        self._table = device.host_empty(len(data), "u8")
        self._table.in_place()[:] = np.frombuffer(data, np.uint8)
        device._bind(self._table, name, list(tensors.items()))

    def __len__(self) -> int:
        return len(self.tensors)

    def __repr__(self) -> str:
        size = sum(one.nbytes for one in self.tensors.values())
        return f"<troupe.BoundSet {self.name}: {len(self)} tensors, {size} bytes>"


def _entry(name: bytes, one: Tensor) -> bytes:
    def eight(numbers: Sequence[int]) -> list[int]:
        return [*numbers, *([0] * (_MAX_RANK - len(numbers)))]

    return struct.pack(
        f"=QII{2 * _MAX_RANK}qQ",
        one._address,
        _dtype_number(one.dtype),
        one.ndim,
        *eight(one.shape),
        *eight(one.strides),
        len(name),
    ) + name.ljust((len(name) + 7) // 8 * 8, b"\0")


def bind(self: Device, name: str, tensors: Mapping[str, Any] | Sequence[Any]) -> BoundSet:
    """Freezes tensors, or copies arrays to the device and freezes them, as one named set.

    A call gives the set, or its name, where its operation takes `troupe.ReadsMany`. The arrays that
    the function gets are made once in each worker. Another set of the same name takes its place for
    calls that come later; the tensors are freed once nothing refers to the set and no call uses it.
    While one of its tensors is thawed, calls with the set raise `InvalidArgument`.
    """
    named = isinstance(tensors, Mapping)
    items: Mapping[str, Any] = (
        tensors if isinstance(tensors, Mapping) else {str(i): one for i, one in enumerate(tensors)}
    )
    for key in items:
        if not isinstance(key, str):
            raise TypeError(f"bind: the names of tensors are str; {key!r} is {type(key).__name__}")
    frozen = {}
    for key, value in items.items():
        if isinstance(value, Future):
            value = value.result()
        one = value if isinstance(value, Tensor) else _tensor(self, value, own=True)
        frozen[key] = one.freeze()
    made = BoundSet(self, name, frozen, named)
    _sets.setdefault(self._key, {})[name] = made
    return made


# By device, until its system is closed: callers that name a set need not hold it.
_sets: dict[tuple[int, int], dict[str, BoundSet]] = {}


def named(device: Device, name: str) -> BoundSet:
    """The set bound to a name."""
    sets = _sets.get(device._key, {})
    if name not in sets:
        known = ", ".join(map(repr, sets)) or "none"
        raise ValueError(f"no set is bound as {name!r} on this device; there are {known}")
    return sets[name]


def unbind(self: Device, name: str) -> None:
    """Lets go of a bound set: it goes once nothing refers to it and no request uses it."""
    named(self, name)
    del _sets[self._key][name]


def forget_system(key: int) -> None:
    """Lets go of the sets of a system that is closed."""
    for one in [one for one in _sets if one[0] == key]:
        del _sets[one]
