"""Counts of durations, as Prometheus has them."""

from __future__ import annotations

import bisect
from typing import Any

_BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0]


class Histogram:
    """Of seconds. For one thread; others may read."""

    def __init__(self) -> None:
        self._counts = [0] * (len(_BOUNDS) + 1)
        self._sum = 0.0

    def add(self, seconds: float) -> None:
        self._counts[bisect.bisect_left(_BOUNDS, seconds)] += 1
        self._sum += seconds

    def read(self) -> dict[str, Any]:
        """In the form of `Batcher.statistics`."""
        counts, total, buckets = list(self._counts), 0, []
        for upper, count in zip(_BOUNDS, counts, strict=False):
            total += count
            buckets.append((upper, total))
        return {"buckets": buckets, "count": sum(counts), "sum": self._sum}
