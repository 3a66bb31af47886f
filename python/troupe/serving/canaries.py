"""What the next version of a model must answer alike before it serves."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from ..errors import InvalidArgument


def cosine(a: Any, b: Any) -> float:
    """The cosine of two arrays, taken as vectors."""
    import numpy as np

    x, y = (np.asarray(one, "f8").reshape(-1) for one in (a, b))
    if x.shape != y.shape:
        return -1.0
    lengths = float(np.linalg.norm(x) * np.linalg.norm(y))
    return float(x @ y) / lengths if lengths > 0 else float((x == y).all())


def canaries(
    items: Sequence[Any],
    *,
    least: float = 0.99,
    likeness: Callable[[Any, Any], float] = cosine,
    **terms: Any,
) -> Callable[[Any, Any], Awaitable[None]]:
    """A check for `Swap`: both versions answer the items, as alike as `least` at least.

        await model.swap(version_2, version="2", check=canaries(texts, least=0.98))

    likeness(old, new) is a number for two answers; for tokens it may be `operator.eq`. Raises
    InvalidArgument that names the item, and what an answer fails with. `terms` are those of Batcher.
    """
    if not items:
        raise ValueError("canaries: it needs at least one item")

    async def check(old: Any, new: Any) -> None:
        for i, item in enumerate(items):
            before, after = await asyncio.gather(old(item, **terms), new(item, **terms))
            alike = float(likeness(before, after))
            if not alike >= least:  # NaN is not alike
                raise InvalidArgument(f"canary {i}: the likeness is {alike:.4g}, below {least:g}")

    return check
