"""Waiting for several futures outside asyncio, where `asyncio.gather` and the like do it."""

from __future__ import annotations

import time

from ._core import Future, _Arrivals

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any


def as_completed(
    futures: Iterable[Future[Any]], timeout: float | None = None
) -> Iterator[Future[Any]]:
    """Yields the futures as they become ready. Raises TimeoutError after timeout seconds."""
    arrivals = _Arrivals()
    waiting = 0
    for one in futures:
        arrivals.add(one)
        waiting += 1
    end = None if timeout is None else time.monotonic() + timeout
    for left in range(waiting, 0, -1):
        ready = arrivals.next(None if end is None else end - time.monotonic())
        if ready is None:
            raise TimeoutError(f"{left} of {waiting} futures are not ready after {timeout} s")
        yield ready


def gather(*futures: Future[Any], timeout: float | None = None) -> list[Any]:
    """Waits for all and returns their results in order. Raises the first failure, in that order."""
    end = None if timeout is None else time.monotonic() + timeout
    try:
        return [
            one.result(None if end is None else max(0.0, end - time.monotonic())) for one in futures
        ]
    finally:
        for one in futures:
            one._look()  # the first failure stands for all
