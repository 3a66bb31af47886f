"""The header of a .safetensors file, as strict as the format's own library.

The format forbids holes, overlaps, bytes left over and a name twice, because readers would differ
about such a file.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple, NoReturn

TYPES = {
    "F64": ("f64", 8), "F32": ("f32", 4), "F16": ("f16", 2), "BF16": ("bf16", 2),
    "F8_E4M3": ("e4m3", 1), "F8_E5M2": ("e5m2", 1), "C64": ("c64", 8), "BOOL": ("bool", 1),
    "I64": ("i64", 8), "I32": ("i32", 4), "I16": ("i16", 2), "I8": ("i8", 1),
    "U64": ("u64", 8), "U32": ("u32", 4), "U16": ("u16", 2), "U8": ("u8", 1),
}  # fmt: skip

LONGEST_HEADER = 100_000_000
_LARGEST = 2**63 - 1
_MOST_AXES = 64


class Entry(NamedTuple):
    """A tensor of a file: its bytes are from `first` to `last` behind the header."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    first: int
    last: int


def entries(text: bytes, size: int) -> list[Entry]:
    """The tensors in the order of their bytes, of which there are `size`. Raises ValueError."""
    header = _object(text)
    metadata = header.pop("__metadata__", None) or {}
    if not isinstance(metadata, dict) or any(not isinstance(v, str) for v in metadata.values()):
        raise ValueError("__metadata__ is no map from text to text")
    found = sorted((_entry(*one) for one in header.items()), key=lambda one: (one.first, one.last))
    end = 0
    for one in found:
        if one.first != end:
            how = "overlaps what is before it" if one.first < end else "leaves a hole before it"
            raise ValueError(f"{one.name!r} {how}: it begins at byte {one.first}, not at {end}")
        end = one.last
    if end != size:
        raise ValueError(f"its tensors have {end} bytes, and behind its header are {size}")
    return found


def _object(text: bytes) -> dict[str, Any]:
    if not text.startswith(b"{"):
        raise ValueError("its header is no JSON object: it does not begin with '{'")
    try:
        header = json.loads(
            text.decode(), object_pairs_hook=_once_each, parse_constant=_refuse_constant
        )
        json.dumps(header, ensure_ascii=False).encode()  # no lone surrogates
    except RecursionError:
        raise ValueError("its header is nested too deeply") from None
    except _Twice:
        raise
    except ValueError as why:
        raise ValueError(f"its header is no JSON ({why})") from None
    return header  # type: ignore[no-any-return]


class _Twice(ValueError):
    pass


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name, value in pairs:
        if name in made:
            raise _Twice(f"its header has {name!r} twice")
        made[name] = value
    return made


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is no number of JSON")


def _entry(name: str, one: Any) -> Entry:
    try:
        dtype, shape, offsets = one["dtype"], one["shape"], one["data_offsets"]
    except (KeyError, TypeError):
        dtype, shape, offsets = None, None, None
    fits = isinstance(dtype, str) and _sizes(shape, _MOST_AXES) and _sizes(offsets, 2)
    if not fits or len(offsets) != 2:
        raise ValueError(f"{name!r} is described wrongly: {_short(one)}")
    if dtype not in TYPES:
        raise TypeError(f"{name!r} has elements of type {_short(dtype)}, which no device has")
    mine, width = TYPES[dtype]
    first, last = offsets
    needed = math.prod(shape) * width
    if last - first != needed:
        raise ValueError(
            f"{name!r} is {mine}{_short(shape)}, {needed} bytes, but lies at {first} … {last}"
        )
    return Entry(name, mine, tuple(shape), first, last)


def _sizes(given: Any, most: int) -> bool:
    return (
        isinstance(given, list)
        and len(given) <= most
        and all(type(n) is int and 0 <= n <= _LARGEST for n in given)
    )


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"
