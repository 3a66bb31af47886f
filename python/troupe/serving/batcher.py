"""Batches for asyncio: the loop around the queue that decides."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import math
import os
from collections.abc import Awaitable, Callable, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from .._core import BatchQueue
from ..errors import DeadlineExceeded, DeviceFault, DeviceStopped, Numerical
from .items import (
    Answer,
    Batch,
    Entry,
    WrongNumber,
    content,
    is_finite,
    kind_of_failure,
    named_tenants,
    refusal,
)

In = TypeVar("In")
Out = TypeVar("Out")

__all__ = ["Batcher"]

_WORD = (1 << 64) - 1
_MOST_NAMES = 8192


class Batcher(Generic[In, Out]):
    """Makes batches of items that are asked for one at a time.

    run(items) gets a `Batch`, a list, and returns an answer for each item, in order. An answer may
    be an exception: that item fails with it. A coroutine function runs in the loop; any other
    function runs in a thread, one call at a time for each of `lanes`. If it raises, the batch is
    run again in pieces until the item that is the reason is alone, unless the device has stopped.

    items, cost: the most of a batch; the unit of cost is the caller's: tokens, pixels.
    delay: seconds that an item waits for others. By default a batch begins when there is room.
    deadline: seconds, of items that bring none.
    preferred: sizes of batches that are worth beginning with before the delay is over.
    padded: costs to which items are padded; only equal ones share a batch.
    in_flight: batches that run() has at once. lanes: how many of these really run at once.
    starve: seconds after which a lower priority gets a batch.
    queue_items, queue_bytes, queue_time: limits of what is accepted and not yet answered.
    run_limit: seconds after which a coroutine function is cancelled and counts as hung.
    failover: seconds that a fault of the device costs, until one has been measured.
    finite: answers with NaN or infinity fail with `Numerical`.
    weights, most_share: how tenants share the device: a weight each (1 if not named), and the most
    device seconds a second of any one.
    fingerprint: the bytes by which an item that was a culprit is recognised.
    """

    def __init__(
        self,
        run: Callable[[Batch[In]], Iterable[Any] | Awaitable[Iterable[Any]]],
        *,
        name: str = "",
        items: int = 32,
        cost: int = 0,
        delay: float = 0.0,
        deadline: float | None = None,
        preferred: Sequence[int] = (),
        padded: Sequence[int] = (),
        in_flight: int = 2,
        lanes: int = 1,
        starve: float = 1.0,
        queue_items: int = 4096,
        queue_bytes: int = 256 << 20,
        queue_time: float = 2.0,
        run_limit: float | None = None,
        failover: float = 0.05,
        finite: bool = False,
        weights: Mapping[str, float] | None = None,
        most_share: float | None = None,
        fingerprint: Callable[[In], bytes] | None = None,
    ) -> None:
        self.name = name or getattr(run, "__qualname__", type(run).__name__)
        self._run, self._run_limit, self._deadline = run, run_limit, deadline
        self._finite, self._content = finite, fingerprint or content
        self._key = os.urandom(16)
        self._queue = BatchQueue(
            items,
            cost,
            delay,
            list(preferred),
            list(padded),
            in_flight,
            lanes,
            starve,
            queue_items,
            queue_bytes,
            queue_time,
            run_limit or 0.0,
            failover,
        )
        self._numbers: dict[str, int] = {}  # tenants' names
        if weights or most_share:
            shares = [(self._tenant(who), float(w)) for who, w in (weights or {}).items()]
            self._queue.tenants(shares, most_share or 0.0)
        self._threads: ThreadPoolExecutor | None = None
        if not any(map(inspect.iscoroutinefunction, (run, type(run).__call__))):
            self._threads = ThreadPoolExecutor(lanes, f"troupe-batch-{self.name}"[:15])
        self._entries: dict[int, Entry] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pump_is_due = False
        self._timer: asyncio.TimerHandle | None = None
        self._all_ended: asyncio.Event | None = None

    def __call__(
        self,
        item: In,
        *,
        cost: int = 1,
        bytes: int = 0,
        tenant: str = "",
        priority: int = 1,
        sequence: Hashable = None,
        deadline: float | None = None,
    ) -> asyncio.Future[Out]:
        """Puts an item into the queue; the future is its answer. To be called in the loop.

        priority 0 is served first. Items of one sequence, of one tenant, run one after the other.
        deadline: seconds until the answer is of no use. Raises `Refused`, or `Poisonous` while an
        equal item is in quarantine; the future fails with `DeadlineExceeded`, or as run() says.
        Cancel it, or the task that waits for it, and the item leaves the queue.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._enter(loop)
        now = loop.time()
        if deadline is None:
            deadline = self._deadline
        number = self._queue.admit(
            cost,
            bytes,
            priority,
            self._numbers.get(tenant) or self._tenant(tenant),
            0 if sequence is None else hash(("sequence", sequence)) & _WORD or 1,
            self._fingerprint(item) if self._queue.wants_fingerprints() else 0,
            math.inf if deadline is None else now + deadline,
            now,
        )
        if not isinstance(number, int):
            raise refusal(self.name, *number)
        answer = Answer(loop=loop)
        answer.batcher, answer.number = self, number
        self._entries[number] = Entry(item, answer, cost, tenant)
        if not self._pump_is_due:
            self._pump_is_due = True
            loop.call_soon(self._pump)
        return answer

    def check(
        self,
        *,
        cost: int = 1,
        bytes: int = 0,
        tenant: str = "",
        priority: int = 1,
        deadline: float | None = None,
    ) -> float:
        """Raises what the call would raise; else the predicted seconds until its answer."""
        now = asyncio.get_running_loop().time()
        if deadline is None:
            deadline = self._deadline
        at = math.inf if deadline is None else now + deadline
        said = self._queue.check(cost, bytes, priority, self._tenant(tenant), at, now)
        if isinstance(said, tuple):
            raise refusal(self.name, *said)
        return said

    def learn(self, cost: int, seconds: float) -> None:
        """Tells how long a batch takes that ran elsewhere, such as a warm-up run."""
        self._queue.learn(cost, seconds)

    def statistics(self) -> dict[str, Any]:
        """What has been counted, by the names of the metrics without their prefix."""
        all: dict[str, Any] = self._queue.facts()
        names = {number: who for who, number in self._numbers.items()}
        all["device_seconds_total"] = named_tenants(all["device_seconds_total"], names)
        return all

    def quarantined(self) -> list[dict[str, Any]]:
        """Culprits that are refused: their fingerprints, for how long, how often they offended."""
        now = self._loop.time() if self._loop else 0.0
        return [
            {"fingerprint": f"{one:016x}", "seconds_left": left, "offences": offences}
            for one, left, offences in self._queue.quarantine(now)
        ]

    def forgive(self, fingerprint: str | None = None) -> int:
        """Takes a culprit, or all, out of quarantine. How many there were."""
        if fingerprint is None:
            return sum(self.forgive(one["fingerprint"]) for one in self.quarantined())
        return int(self._queue.forgive(int(fingerprint, 16)))

    async def close(self, drain: float = 30.0) -> None:
        """Refuses new items, and waits for the others for so many seconds; the rest fail with
        `DeviceStopped`."""
        self._queue.close()
        if self._entries or self._tasks:
            self._all_ended = asyncio.Event()
            try:
                await asyncio.wait_for(self._all_ended.wait(), drain)
            except TimeoutError:
                for task in self._tasks:
                    task.cancel()
                stopped = DeviceStopped(f"{self.name}: closed before it was answered")
                for number in list(self._entries):
                    self._queue.leave(number, self._now())  # so that it is in no later batch
                    self._end(number, stopped)
                if self._tasks:
                    await asyncio.wait(self._tasks)
        if self._timer is not None:
            self._timer.cancel()
        if self._threads is not None:
            self._threads.shutdown(wait=False)

    async def __aenter__(self) -> Batcher[In, Out]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # In the loop

    def _enter(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._loop is not None and not self._loop.is_closed():
            raise RuntimeError(
                f"{self.name}: a Batcher belongs to the loop that it was first used in"
            )
        self._loop = loop

    def _pump(self) -> None:
        """Begins what may begin, and ends what has no answer any more."""
        self._pump_is_due = False
        assert self._loop is not None
        now = self._loop.time()
        while (plan := self._queue.next(now)) is not None:
            self._begin(*plan)
        for number, _ in self._queue.take_ended():
            self._end(number, DeadlineExceeded(f"{self.name}: the deadline passed in the queue"))
        at = self._queue.wake_at()
        if at != math.inf and (self._timer is None or at < self._timer.when()):
            if self._timer is not None:
                self._timer.cancel()
            self._timer = self._loop.call_at(at, self._wake)
        if self._all_ended is not None and not self._entries and not self._tasks:
            self._all_ended.set()

    def _wake(self) -> None:
        self._timer = None
        self._pump()

    def _begin(
        self,
        number: int,
        items: list[int],
        closed_by: str,
        cost: int,
        run_limit: float,
        deadline: float,
    ) -> None:
        entries = [self._entries[one] for one in items]
        batch: Batch[In] = Batch([one.item for one in entries])
        batch.cost, batch.closed_by, batch.deadline = cost, closed_by, deadline
        batch.costs = [one.cost for one in entries]
        batch.tenants = [one.tenant for one in entries]
        batch.run_limit = run_limit or None
        assert self._loop is not None
        task = self._loop.create_task(self._serve(number, items, entries, batch))
        self._tasks.add(task)

    async def _serve(
        self, number: int, items: list[int], entries: list[Entry], batch: Batch[In]
    ) -> None:
        try:
            async with asyncio.timeout(None) as timer:
                answers = await self._answers(batch, timer)
        except asyncio.CancelledError:
            self._queue.finish(number, self._now(), "failed", 0, 0)
            stopped = DeviceStopped(f"{self.name}: closed before it was answered")
            for one in items:
                self._end(one, stopped)
        except Exception as e:
            self._fail(number, items, entries, e, hung=timer.expired())
        else:
            self._answer(number, items, entries, answers)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.discard(task)
        self._pump()

    async def _answers(self, batch: Batch[In], timer: asyncio.Timeout) -> list[Any]:
        # No limit for a thread: the pieces of its batch would wait for it until theirs are over.
        said: Any
        if self._threads is None:
            said = self._run(batch)
        else:
            assert self._loop is not None
            said = await self._loop.run_in_executor(self._threads, self._run, batch)
        if inspect.isawaitable(said):
            if batch.run_limit and self._run_limit:
                timer.reschedule(self._now() + batch.run_limit)
            said = await said
        answers = list(said)
        if len(answers) != len(batch):
            raise WrongNumber(
                f"{self.name}: {len(answers)} answers for a batch of {len(batch)} items"
            )
        return answers

    def _answer(
        self, number: int, items: list[int], entries: list[Entry], answers: list[Any]
    ) -> None:
        now = self._now()
        failures = 0
        for one, entry, answer in zip(items, entries, answers, strict=True):
            if self._finite and not is_finite(answer):
                answer = Numerical(f"{self.name}: the answer is not finite")
            if isinstance(answer, BaseException):
                failures += 1
                if isinstance(answer, DeviceFault):
                    self._queue.accuse(one, self._fingerprint(entry.item), now)
                self._end(one, answer)
                continue
            self._entries.pop(one, None)
            if not entry.answer.done():
                entry.answer.set_result(answer)
        self._queue.finish(number, now, "answered", 0, failures)

    def _fail(
        self,
        number: int,
        items: list[int],
        entries: list[Entry],
        why: Exception,
        *,
        hung: bool,
    ) -> None:
        how = "fault" if hung else kind_of_failure(why)
        if hung:
            why = DeviceFault(f"{self.name}: it ran longer than its run_limit")
        alone = len(items) == 1 and how in ("exception", "fault")
        mark = self._fingerprint(entries[0].item) if alone else 0
        self._queue.finish(number, self._now(), how, mark, 0)
        if how == "failed":
            for one in items:
                self._end(one, why)
        for one, ending in self._queue.take_ended():
            late = DeadlineExceeded(f"{self.name}: the deadline passed after a batch had failed")
            self._end(one, late if ending == "expired" else why)

    def _end(self, number: int, why: BaseException) -> None:
        entry = self._entries.pop(number, None)
        if entry is None or entry.answer.done():
            return
        if isinstance(why, StopIteration):  # asyncio takes it for an end
            why = RuntimeError(f"{self.name}: StopIteration")
        entry.answer.set_exception(why)

    def _leave(self, number: int) -> None:
        self._entries.pop(number, None)
        self._queue.leave(number, self._now())
        if self._all_ended is not None and not self._pump_is_due:
            self._pump_is_due = True
            self._loop.call_soon(self._pump)  # type: ignore[union-attr]

    def _now(self) -> float:
        assert self._loop is not None
        return self._loop.time()

    # Names as numbers

    def _tenant(self, who: str) -> int:
        number = self._numbers.get(who)
        if number is None:
            if len(self._numbers) >= _MOST_NAMES:
                self._numbers.pop(next(iter(self._numbers)))
            number = self._numbers[who] = hash(("tenant", who)) & _WORD
        return number

    def _fingerprint(self, item: In) -> int:
        """A number that nobody else can predict, so that no one has another's item refused."""
        try:
            content = self._content(item)
        except Exception:
            return 0  # such items are never in quarantine
        digest = hashlib.blake2b(content, digest_size=8, key=self._key).digest()
        return int.from_bytes(digest, "little") or 1
