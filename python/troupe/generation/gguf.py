"""Files of GGUF: what they say of a model, and its tensors as arrays.

Every number of a file is checked against the file before it is used: a wrong one raises ValueError
and nothing else. Source of the format and of the blocks: ggml's docs/gguf.md and ggml-common.h.
"""

from __future__ import annotations

import math
import mmap
import pathlib
import struct
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

_MOST_FIELDS = 1 << 16
_MOST_TENSORS = 1 << 16
_MOST_HEADER = 100 << 20  # bytes
_MOST_AXES = 4
_MOST_ELEMENTS = 1 << 40
_DEEPEST = 4  # arrays of arrays

_SCALARS = {
    0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q",
    12: "<d",
}  # fmt: skip
_STRING, _ARRAY = 8, 9


class TensorOf(NamedTuple):
    """A tensor of a file; its extents have the slowest first, as in NumPy."""

    shape: tuple[int, ...]
    kind: int
    first: int
    bytes: int


class _Reader:
    """The bytes of a header, in order."""

    def __init__(self, data: Any) -> None:
        self.data, self.at, self.end = data, 0, min(len(data), _MOST_HEADER)

    def take(self, count: int) -> Any:
        if count > self.end - self.at:
            raise ValueError(f"its header ends at byte {self.end}, within a value")
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, form: str) -> Any:
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self) -> str:
        size = self.number("<Q")
        try:
            return bytes(self.take(size)).decode()
        except UnicodeDecodeError:
            raise ValueError(f"a text before byte {self.at} is no UTF-8") from None

    def value(self, kind: int, depth: int = 0) -> Any:
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text()
        if kind != _ARRAY or depth == _DEEPEST:
            raise ValueError(f"a value before byte {self.at} has the type {kind}")
        inner, count = self.number("<I"), self.number("<Q")
        if inner in _SCALARS:
            form = np.dtype(_SCALARS[inner])
            return np.frombuffer(self.take(count * form.itemsize), form).tolist()
        if count > self.end - self.at:  # each has a byte at least
            raise ValueError(f"an array before byte {self.at} has {count} elements")
        return [self.value(inner, depth + 1) for _ in range(count)]


def _halves(block: Any, first: int) -> Any:
    """A column of f16 as f32."""
    return block[:, first : first + 2].copy().view("<f2").astype("f4")


def _nibbles(block: Any, first: int, count: int) -> Any:
    """The low halves of bytes, and behind them the high ones."""
    packed = block[:, first : first + count]
    return np.concatenate((packed & 15, packed >> 4), 1)


def _fifth_bits(block: Any, first: int) -> Any:
    bits = block[:, first : first + 4].copy().view("<u4")
    return ((bits >> np.arange(32, dtype="u4")) & 1).astype("u1") << 4


def _q4_0(b: Any) -> Any:
    return _halves(b, 0) * (_nibbles(b, 2, 16).astype("f4") - 8)


def _q4_1(b: Any) -> Any:
    return _halves(b, 0) * _nibbles(b, 4, 16) + _halves(b, 2)


def _q5_0(b: Any) -> Any:
    return _halves(b, 0) * ((_nibbles(b, 6, 16) | _fifth_bits(b, 2)).astype("f4") - 16)


def _q5_1(b: Any) -> Any:
    return _halves(b, 0) * (_nibbles(b, 8, 16) | _fifth_bits(b, 4)) + _halves(b, 2)


def _q8_0(b: Any) -> Any:
    return _halves(b, 0) * b[:, 2:34].view("i1")


def _scales_of_4k(b: Any) -> tuple[Any, Any]:
    """Six bits each of eight scales and eight minima, in twelve bytes from the fifth on."""
    s = b[:, 4:16]
    low, middle, high = s[:, :4], s[:, 4:8], s[:, 8:]
    scales = np.concatenate((low & 63, (high & 15) | ((low >> 6) << 4)), 1)
    minima = np.concatenate((middle & 63, (high >> 4) | ((middle >> 6) << 4)), 1)
    return _halves(b, 0) * scales, _halves(b, 2) * minima


def _q4_k(b: Any) -> Any:
    scales, minima = _scales_of_4k(b)
    q = b[:, 16:].reshape(-1, 4, 1, 32)
    q = np.concatenate((q & 15, q >> 4), 2).reshape(-1, 8, 32)
    return scales[:, :, None] * q - minima[:, :, None]


def _q6_k(b: Any) -> Any:
    low = b[:, :128].reshape(-1, 2, 1, 64)
    low = np.concatenate((low & 15, low >> 4), 2).reshape(-1, 8, 32)
    high = b[:, 128:192].reshape(-1, 2, 1, 32)
    high = (high >> np.array([0, 2, 4, 6], "u1").reshape(1, 1, 4, 1) & 3).reshape(-1, 8, 32)
    q = ((low | high << 4).astype("i2") - 32).reshape(-1, 16, 16)
    scales = _halves(b, 208) * b[:, 192:208].view("i1")
    return scales[:, :, None] * q


class _Kind(NamedTuple):
    name: str
    elements: int
    bytes: int
    to_f32: Callable[[Any], Any] | None = None


_KINDS = {
    0: _Kind("F32", 1, 4),
    1: _Kind("F16", 1, 2),
    2: _Kind("Q4_0", 32, 18, _q4_0),
    3: _Kind("Q4_1", 32, 20, _q4_1),
    6: _Kind("Q5_0", 32, 22, _q5_0),
    7: _Kind("Q5_1", 32, 24, _q5_1),
    8: _Kind("Q8_0", 32, 34, _q8_0),
    12: _Kind("Q4_K", 256, 144, _q4_k),
    14: _Kind("Q6_K", 256, 210, _q6_k),
    30: _Kind("BF16", 1, 2),
}


class File:
    """`fields` are those of the header; `array(name)` is a tensor in f32."""

    def __init__(self, path: pathlib.Path) -> None:
        with open(path, "rb") as file:
            try:
                self.data: Any = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
            except (ValueError, OSError) as why:  # an empty file
                raise ValueError(f"{path.name}: {why}") from None
        try:
            self._read()
        except ValueError as why:
            raise ValueError(f"{path.name}: {why}") from None

    def _read(self) -> None:
        r = _Reader(self.data)
        if bytes(r.take(4)) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        version = r.number("<I")
        if version not in (2, 3):
            raise ValueError(f"its version is {version}; 2 and 3 are known")
        tensors, fields = r.number("<Q"), r.number("<Q")
        if tensors > _MOST_TENSORS or fields > _MOST_FIELDS:
            raise ValueError(f"it would have {tensors} tensors and {fields} fields")
        self.fields: dict[str, Any] = {}
        for _ in range(fields):
            name = r.text()
            self.fields[name] = r.value(r.number("<I"))
        said = [self._said(r) for _ in range(tensors)]
        alignment = self.fields.get("general.alignment", 32)
        if type(alignment) is not int or not 1 <= alignment <= 1 << 16:
            raise ValueError(f"general.alignment is {alignment!r}")
        begin = -(-r.at // alignment) * alignment
        self.tensors: dict[str, TensorOf] = {}
        for name, shape, kind, offset in said:
            self._add(name, shape, kind, begin + offset)

    def _said(self, r: _Reader) -> tuple[str, tuple[int, ...], int, int]:
        name, axes = r.text(), r.number("<I")
        if not 1 <= axes <= _MOST_AXES:
            raise ValueError(f"{name}: it has {axes} dimensions")
        shape = tuple(r.number("<Q") for _ in range(axes))[::-1]
        return name, shape, r.number("<I"), r.number("<Q")

    def _add(self, name: str, shape: tuple[int, ...], kind: int, first: int) -> None:
        of = _KINDS.get(kind)
        if of is None:
            known = ", ".join(one.name for one in _KINDS.values())
            raise ValueError(f"{name}: its type is {kind}; known are {known}")
        count = math.prod(shape)
        if count < 1 or count > _MOST_ELEMENTS or shape[-1] % of.elements:
            raise ValueError(f"{name}: {of.name} has no shape {list(shape)}")
        size = count // of.elements * of.bytes
        if first + size > len(self.data):
            raise ValueError(f"{name}: it ends at byte {first + size} of {len(self.data)}")
        if name in self.tensors:
            raise ValueError(f"{name} is there twice")
        self.tensors[name] = TensorOf(shape, kind, first, size)

    def array(self, name: str) -> Any:
        """In f32. Raises KeyError if it is not there."""
        one = self.tensors[name]
        of = _KINDS[one.kind]
        data = np.frombuffer(self.data, np.uint8, one.bytes, one.first)
        if of.name == "F32":
            made = data.view("<f4") if one.first % 4 == 0 else data.copy().view("<f4")
        elif of.name == "F16":
            made = data.copy().view("<f2").astype("f4")
        elif of.name == "BF16":
            made = (data.copy().view("<u2").astype("u4") << 16).view("f4")
        else:
            assert of.to_f32 is not None
            made = of.to_f32(data.reshape(-1, of.bytes))
        return made.reshape(one.shape)
