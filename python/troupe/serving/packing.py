"""Items of different lengths as one tensor on a device."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from troupe import Device, Tensor


@dataclass(frozen=True)
class Packed:
    """Items one behind another. The tensors are views of one."""

    ids: Tensor
    """The items' elements, [total]."""
    offsets: Tensor
    """Where each begins, and where the last one ends, [count + 1]."""
    lengths: Tensor
    """[count]."""
    count: int
    total: int
    longest: int


def pack(device: Device, items: Sequence[Sequence[int]]) -> Packed:
    """Uploads items of i32, each an array or a list of integers, with one copy for all.

    They are written to memory that the program and the workers share, so nothing is staged, and a
    request that is sent next may use the tensors at once.
    """
    import numpy as np

    count = len(items)
    lengths = np.fromiter(map(len, items), np.int32, count)
    total = int(lengths.sum())
    here = device.host_empty(total + 2 * count + 1, "i32")
    view = here.in_place()
    if total:
        if isinstance(items[0], np.ndarray):
            try:
                np.concatenate(items, out=view[:total], casting="safe")
            except TypeError:  # integers that are longer, and may be too large
                longer = np.concatenate(items)
                if longer.dtype.kind not in "iu":
                    raise
                if not -(2**31) <= longer.min() <= longer.max() < 2**31:
                    raise OverflowError("pack: an id has more than 32 bits") from None
                view[:total] = longer
        else:
            view[:total] = np.fromiter(chain.from_iterable(items), np.int32, total)
    view[total] = 0
    np.cumsum(lengths, out=view[total + 1 : total + count + 1])
    view[total + count + 1 :] = lengths
    there: Any = device.empty(here.shape, "i32")
    device.copy(here, there)
    return Packed(
        ids=there[:total],
        offsets=there[total : total + count + 1],
        lengths=there[total + count + 1 :],
        count=count,
        total=total,
        longest=int(lengths.max(initial=0)),
    )
