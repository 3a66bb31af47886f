"""Keys and values of growing sequences: the parts of KvCache and KvStep written in Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._core import Device, Future, KvCache, KvStep, _kv_cache

if TYPE_CHECKING:
    from .._core import TensorLike


def make(
    device: Device,
    *,
    pages: int,
    heads: int,
    key_size: int,
    value_size: int | None = None,
    layers: int = 1,
    page_size: int = 16,
    dtype: Any = "f16",
) -> KvCache:
    """A cache of so many pages for all sequences together.

    heads: of keys and values. value_size: elements of a value, if not as many as of a key.
    """
    return _kv_cache(device, layers, heads, key_size, pages, page_size, value_size or 0, dtype)


def attend(step: KvStep, layer: int, q: TensorLike, **kwargs: Any) -> Future[Any]:
    """Lets each sequence's new tokens attend to all of it and, causally, to each other.

    q is [b, h, n, key_size], of a packed step [t, h, key_size]. Further arguments are those of
    dnn.attention_forward.
    """
    given = step._operands(layer, q, kwargs.get("o"))
    return step._device.dnn.attention_forward(q=q, **(given | kwargs))
