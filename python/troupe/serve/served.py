"""A model that is served: what it takes and gives, and the queue before it."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from typing import Any, NamedTuple

import numpy as np

from troupe.serving import Batcher, Refused

from .errors import problem_of

# Items of one request.
MOST_INPUTS = 2048

# Seconds of predicted work that may wait where requests have no deadline.
MOST_WAIT = 60.0


class Terms(NamedTuple):
    """Who asks, how urgent it is, and until when, in seconds from now."""

    tenant: str = ""
    priority: int = 1
    deadline: float | None = None


class Port(NamedTuple):
    """A tensor of the KServe protocol. The first extent is that of a batch; -1 is any."""

    name: str
    datatype: str
    shape: tuple[int, ...]


class Sequenced(NamedTuple):
    """Which sequence a request goes on with, and whether it begins or ends it."""

    id: str | int
    start: bool = False
    end: bool = False


class Served:
    """A model under a name."""

    inputs: list[Port]
    outputs: list[Port]
    batcher: Batcher[Any, Any]
    stateful = False  # it has a state for each sequence

    def __init__(self, name: str) -> None:
        self.name = name
        self.version = "1"
        self.users = 0
        self.turned_away: Counter[str] = Counter()  # at the door, by reason

    def start(self, deadline: float | None, shares: dict[str, float]) -> None:
        """Makes the queue, in the event loop that will use it."""
        raise NotImplementedError

    def described(self) -> str:
        """What --check says of it."""
        raise NotImplementedError

    def __enter__(self) -> None:
        """A request uses it from here on: what it is replaced by waits for that."""
        self.users += 1

    def __exit__(self, *_: object) -> None:
        self.users -= 1

    async def end(self, drain: float) -> None:
        """Lets requests that use it end, for so many seconds."""
        last = time.monotonic() + drain
        while self.users and time.monotonic() < last:
            await asyncio.sleep(0.005)
        await self.batcher.close(max(0.0, last - time.monotonic()))

    def check(self, terms: Terms) -> None:
        """Raises if a request would be refused, whatever it asks."""
        try:
            self.batcher.check(**terms._asdict())
        except Refused as why:
            self.turned_away[why.reason] += 1
            raise

    def statistics(self) -> dict[str, Any]:
        """For metrics: numbers, histograms, and numbers by a label."""
        counts = self.batcher.statistics()
        counts["rejected_total"] = dict(self.turned_away + Counter(counts["rejected_total"]))
        return counts

    def quarantined(self) -> Any:
        """Inputs that are refused for a while."""
        return self.batcher.quarantined()

    def forgive(self) -> int:
        """Lets them be asked again: how many."""
        return self.batcher.forgive(None)

    async def infer(
        self, tensors: dict[str, Any], terms: Terms, sequence: Sequenced | None = None
    ) -> dict[str, Any]:
        """Tensors by name for tensors by name, each with a row for each item. sequence: of those
        that are `stateful`, and of no others."""
        raise NotImplementedError

    async def answers(
        self, items: list[Any], costs: list[int], terms: Terms, what: str
    ) -> list[Any]:
        """Of all items, or raises a Problem that names the first that failed; the others leave the
        queue then. `what` is the field that they are of."""
        asked: list[asyncio.Future[Any]] = []
        try:
            for item, cost in zip(items, costs, strict=True):
                asked.append(self.batcher(item, cost=cost, bytes=_size(item), **terms._asdict()))
            return [await one for one in asked]
        except Exception as why:
            failed = [one.done() and one.exception() is why for one in asked]
            at = failed.index(True) if True in failed else len(asked)
            raise problem_of(why, f"{what}[{at}]" if len(items) > 1 else what) from None
        finally:
            for one in asked:
                if not one.cancel() and not one.cancelled():
                    one.exception()  # it is known: asyncio need not tell of it


def _size(item: Any) -> int:
    if isinstance(item, np.ndarray):
        return item.nbytes
    return sum(one.nbytes for one in item.values())
