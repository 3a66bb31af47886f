"""What a batcher's caller and its function see: refusals, batches, and what is looked at in items."""

from __future__ import annotations

import asyncio
import math
import pickle
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Generic, TypeVar

from ..errors import (
    Aborted,
    DeviceCondemned,
    DeviceFault,
    DeviceStopped,
    DeviceUnavailable,
    LibraryMissing,
    MailboxFull,
    Poisonous,
    VersionMismatch,
    WorkerNotFound,
)

In = TypeVar("In")

_REASONS = {
    "items": "the queue is full",
    "bytes": "the queue holds as many bytes as it may",
    "device_time": "the queue is full: the answer would come too late",
    "deadline": "the answer would come after the deadline",
    "tenant": "the tenant has used its share of the device",
    "cost": "the item is larger than a batch may be",
    "quarantine": "an equal item was a culprit and is in quarantine",
    "closed": "it is closed",
}


class Refused(MailboxFull):
    """An item was refused at the door; nothing has run.

    `reason` is "items", "bytes" or "device_time" (the queue is full), "deadline" (the answer would
    come too late), "tenant" (its tenant has used its share), "cost" (too large for any batch),
    "sequence" or "sequences" (too many of its items wait, or too many sequences are there) or
    "closed"; `retry_after` the seconds after which another try may succeed, or None.
    """

    def __init__(self, text: str = "", **fields: Any) -> None:
        super().__init__(text, **fields)
        self.reason: str = fields.get("reason", "")
        self.retry_after: float | None = fields.get("retry_after")


class Batch(list[In], Generic[In]):
    """The items that a function gets, and what is known of them."""

    cost: int = 0
    costs: Sequence[int] = ()
    tenants: Sequence[str] = ()
    closed_by: str = ""
    run_limit: float | None = None
    deadline: float = math.inf

    @property
    def part(self) -> bool:
        """True for a piece of a batch that has failed."""
        return self.closed_by == "isolation"


class Answer(asyncio.Future[Any]):
    """The future answer: an item leaves the queue when its asker is cancelled."""

    number = 0
    batcher: Any = None

    def cancel(self, msg: Any = None) -> bool:
        cancelled = super().cancel(msg)
        if cancelled and self.batcher is not None:
            self.batcher._leave(self.number)
        return cancelled


class Entry:
    """An item that has not been answered."""

    __slots__ = ("answer", "cost", "item", "tenant")

    def __init__(self, item: Any, answer: Answer, cost: int, tenant: str) -> None:
        self.item, self.answer, self.cost, self.tenant = item, answer, cost, tenant


def content(item: Any) -> bytes:
    if isinstance(item, str):
        return item.encode("utf-8", "surrogatepass")
    if isinstance(item, (bytes, bytearray, memoryview)):
        return bytes(item)
    return pickle.dumps(item)


def is_finite(answer: Any) -> bool:
    if isinstance(answer, float):
        return math.isfinite(answer)
    if isinstance(answer, Mapping):
        return all(map(is_finite, answer.values()))
    if isinstance(answer, (list, tuple)):
        return all(map(is_finite, answer))
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(answer, (numpy.ndarray, numpy.generic)):
        return True
    return answer.dtype.kind not in "fc" or bool(numpy.isfinite(answer).all())


def refusal(name: str, reason: str, retry_after: float | None) -> Exception:
    """The exception for a queue's refusal."""
    text = f"{name}: {_REASONS[reason]}"
    if reason != "quarantine":
        return Refused(text, reason=reason, retry_after=retry_after)
    refused = Poisonous(text)
    refused.retry_after = retry_after  # type: ignore[attr-defined]
    return refused


class WrongNumber(ValueError):
    """A function has given more or fewer answers than there were items."""


# No item's fault: a batch that fails so is not run again.
_OF_THE_DEVICE = (
    DeviceCondemned,
    DeviceStopped,
    DeviceUnavailable,
    LibraryMissing,
    VersionMismatch,
    WorkerNotFound,
    WrongNumber,
)


def kind_of_failure(why: BaseException) -> str:
    """How a batch ended that failed so, as the queue distinguishes it."""
    if isinstance(why, _OF_THE_DEVICE):
        return "failed"
    if isinstance(why, Aborted):
        # With a signal: its worker was killed each time that it ran.
        return "fault" if why.code_name else "aborted"
    return "fault" if isinstance(why, DeviceFault) else "exception"


def named_tenants(seconds: dict[int, float], names: dict[int, str]) -> dict[str, float]:
    """The 16 tenants with the most device time by name, and all others together."""
    ordered = sorted(seconds.items(), key=lambda one: -one[1])
    shown: dict[str, float] = {}
    for place, (number, time) in enumerate(ordered):
        name = names.get(number, "other") if place < 16 else "other"
        shown[name] = shown.get(name, 0.0) + time
    return shown
