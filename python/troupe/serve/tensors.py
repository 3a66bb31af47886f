"""Tensors of the KServe protocol, as JSON and as bytes."""

from __future__ import annotations

import math
import struct
from typing import Any

import numpy as np

from .errors import Problem

TYPES = {
    "BOOL": np.dtype("?"), "UINT8": np.dtype("u1"), "UINT16": np.dtype("u2"),
    "UINT32": np.dtype("u4"), "UINT64": np.dtype("u8"), "INT8": np.dtype("i1"),
    "INT16": np.dtype("i2"), "INT32": np.dtype("i4"), "INT64": np.dtype("i8"),
    "FP16": np.dtype("f2"), "FP32": np.dtype("f4"), "FP64": np.dtype("f8"),
}  # fmt: skip
NAMES = {dtype: name for name, dtype in TYPES.items()}

_MOST_AXES = 8
_LARGEST = 1 << 40


def from_entry(entry: dict[str, Any], data: memoryview) -> tuple[Any, memoryview]:
    """The array that an input describes, and the bytes that are left. Those of BYTES are objects."""
    name, datatype = entry["name"], entry["datatype"]
    shape, count = _shape(name, entry.get("shape"))
    parameters = entry.get("parameters", {})
    if not isinstance(parameters, dict):
        raise Problem(400, "it must be an object", param=f"{name}.parameters")
    size = parameters.get("binary_data_size")
    if size is None:
        return _from_json(name, datatype, shape, count, entry.get("data")), data
    if "data" in entry:
        raise Problem(400, "it has both data and binary_data_size", param=name)
    if type(size) is not int or not 0 <= size <= len(data):
        text = f"binary_data_size must be a number up to the {len(data)} bytes that follow"
        raise Problem(400, text, param=name)
    mine, rest = data[:size], data[size:]
    if datatype == "BYTES":
        return _texts(name, mine, count).reshape(shape), rest
    needed = count * TYPES[datatype].itemsize
    if size != needed:
        raise Problem(400, f"its shape and type need {needed} bytes; it has {size}", param=name)
    return np.frombuffer(mine, TYPES[datatype]).reshape(shape), rest


def _shape(name: str, shape: Any) -> tuple[list[int], int]:
    if not isinstance(shape, list) or not 1 <= len(shape) <= _MOST_AXES:
        raise Problem(400, f"it must be a list of 1 to {_MOST_AXES} extents", param=f"{name}.shape")
    if any(type(one) is not int or not 0 <= one <= _LARGEST for one in shape):
        raise Problem(400, f"extents are integers from 0 to {_LARGEST}", param=f"{name}.shape")
    count = math.prod(shape)
    if count > _LARGEST:
        raise Problem(400, f"it has {count} elements", param=f"{name}.shape")
    return shape, count


def _from_json(name: str, datatype: str, shape: list[int], count: int, data: Any) -> Any:
    if not isinstance(data, list):
        raise Problem(400, "it needs data, a list, or binary_data_size", param=f"{name}.data")
    flat = data
    while flat and isinstance(flat[0], list):
        if not all(isinstance(one, list) for one in flat):
            raise Problem(400, "its lists are of several depths", param=f"{name}.data")
        flat = [inner for one in flat for inner in one]
    if len(flat) != count:
        raise Problem(400, f"its shape needs {count} elements; it has {len(flat)}", param=name)
    if datatype == "BYTES":
        if not all(isinstance(one, str) for one in flat):
            raise Problem(400, "elements of BYTES are texts", param=f"{name}.data")
        made = np.empty(count, object)
        made[:] = [one.encode() for one in flat]
        return made.reshape(shape)
    dtype = TYPES[datatype]
    wanted: tuple[type, ...] = (int, float) if dtype.kind == "f" else (int,)
    if dtype.kind == "b":
        wanted = (bool,)
    if any(type(one) not in wanted for one in flat):
        raise Problem(400, f"elements are not those of {datatype}", param=f"{name}.data")
    try:
        return np.array(flat, dtype).reshape(shape)
    except OverflowError:
        raise Problem(400, f"an element is beyond {datatype}", param=f"{name}.data") from None


def _texts(name: str, data: memoryview, count: int) -> Any:
    """Each has its length in front, four bytes with the lowest first."""
    if count > len(data) // 4:
        raise Problem(400, f"{len(data)} bytes cannot hold {count} elements", param=name)
    made, at = np.empty(count, object), 0
    for i in range(count):
        if at + 4 > len(data):
            raise Problem(400, f"element {i} begins beyond its bytes", param=name)
        (length,) = struct.unpack_from("<I", data, at)
        at += 4
        if at + length > len(data):
            raise Problem(400, f"element {i} ends beyond its bytes", param=name)
        made[i] = bytes(data[at : at + length])
        at += length
    if at != len(data):
        raise Problem(400, f"{len(data) - at} bytes are left behind its elements", param=name)
    return made


def to_entry(name: str, array: Any, binary: bool) -> tuple[dict[str, Any], bytes]:
    """An output, and its bytes, which are none if it goes as JSON."""
    array = np.ascontiguousarray(array)
    entry: dict[str, Any] = {
        "name": name, "datatype": NAMES[array.dtype], "shape": list(array.shape)
    }  # fmt: skip
    if not binary:
        # JSON has no f16.
        flat = array.reshape(-1)
        entry["data"] = flat.astype("f4") if array.dtype == np.float16 else flat
        return entry, b""
    data = array.tobytes()
    entry["parameters"] = {"binary_data_size": len(data)}
    return entry, data
