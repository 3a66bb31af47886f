"""Generation with continuous batching: one thread plans a step, runs it, and hands out its tokens."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import Counter
from collections.abc import Callable

from .. import errors
from .drafts import Drafts
from .histogram import Histogram
from .jobs import Job, Taken
from .plan import Limits, Planner
from .recorded import Recordings
from .sampling import Sampler
from .step import Chunk, Model, packed

log = logging.getLogger("troupe.generation")

_GONE = (
    errors.DeviceStopped,
    errors.DeviceUnavailable,
    errors.DeviceCondemned,
    errors.WorkerNotFound,
)
# These may end well when they are tried again; all else is the job's own.
_AGAIN = (errors.Aborted, errors.MailboxFull, errors.OutOfMemory)
_MOST_TRIES = 3
_LEAST_FAILOVER = 0.01  # seconds
_FULL_SECONDS = 10.0  # so long may a reader read nothing


class Engine:
    """Generates tokens for jobs, many in each step of a model.

    A fault costs the job that it comes from. The others go on: a step that has failed leaves every
    sequence as it was, and is computed again, by parts if it names a culprit. A token is handed out
    once its step has ended well, so none is taken back, and none comes twice.

    tokens: of keys and values, for all jobs together. after_step: called in the engine's thread
    when tokens have been handed out. record: steps that come again are sent as one request.
    """

    def __init__(
        self,
        model: Model,
        *,
        tokens: int = 16_384,
        page_size: int = 16,
        limits: Limits = Limits(),  # noqa: B008 # a tuple
        drafts: Drafts | None = None,
        shares: dict[str, float] | None = None,
        after_step: Callable[[], None] = lambda: None,
        record: bool = True,
        name: str = "model",
    ) -> None:
        self.model, self.limits = model, limits
        pages = max(2, tokens // page_size)
        self.cache = model.cache(pages, page_size)
        self.capacity = pages * page_size
        self._drafts = drafts
        guess = drafts.guess if drafts is not None else lambda job, most: []
        self.planner = Planner(self.cache, pages, page_size, limits, guess, shares or {})
        self._sampler = Sampler(model.gpu)
        self.recordings = Recordings(model, self.cache, page_size) if record else None
        self._after_step = after_step
        self._lock = threading.Condition()
        self._new: list[Job] = []
        self.waiting = self.running = 0  # for other threads
        self._woken = self._closing = False
        self._step_seconds = 0.01
        self._parts = 1  # the number of the next part
        self.counts: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.first_token, self.next_token = Histogram(), Histogram()
        self._thread = threading.Thread(target=self._loop, name=f"generation {name}", daemon=True)
        self._thread.start()

    # For any thread. ----------------------------------------------------------------------------

    def submit(self, *jobs: Job) -> None:
        """Raises InvalidArgument for a prompt that does not fit, MailboxFull when too many wait."""
        for job in jobs:
            if not 0 < job.prompt < self.capacity:
                raise errors.InvalidArgument(
                    f"a prompt has 1 to {self.capacity - 1} tokens; it has {job.prompt}"
                )
            job.limit = min(job.limit, self.capacity - job.prompt)
        with self._lock:
            if self._closing:
                raise errors.DeviceStopped("the engine is closed")
            if len(self._new) + self.waiting + len(jobs) > self.limits.waiting:
                raise errors.MailboxFull(f"{self.limits.waiting} prompts wait already")
            self._new += jobs
            self._wake()

    def cancel(self, job: Job) -> None:
        """Its pages are free within a step."""
        job.cancelled = True
        with self._lock:
            self._wake()

    def wake(self) -> None:
        """A reader has read."""
        with self._lock:
            self._wake()

    def close(self, drain: float = 0.0) -> None:
        """Lets jobs end for so many seconds; the others end with DeviceStopped."""
        last = time.monotonic() + drain
        while time.monotonic() < last and (self._new or self.waiting or self.running):
            time.sleep(0.01)
        with self._lock:
            self._closing = True
            self._wake()
        self._thread.join()

    def _wake(self) -> None:
        self._woken = True
        self._lock.notify()

    # In its own thread. -------------------------------------------------------------------------

    def _loop(self) -> None:
        while True:
            with self._lock:
                idle = not self._new and not self._woken and not self._can_go_on
                if idle:
                    self._lock.wait(0.05 if self.planner.jobs() else None)
                self._woken = False
                new, self._new = self._new, []
                closing = self._closing
                self.waiting += len(new)
            for job in new:
                self.planner.add(job)
            if closing:
                for job in self.planner.jobs():
                    self._end(job, errors.DeviceStopped("the engine is closed"))
                self._after_step()
                return
            try:
                self._once()
            except Exception as why:  # a defect of ours must not leave streams without an end
                log.exception("a step could not be planned")
                for job in self.planner.jobs():
                    self._end(job, why, keep=False)
            self._after_step()
            self.waiting, self.running = self.planner.waiting, len(self.planner.running)

    _can_go_on = False

    def _once(self) -> None:
        self._drop()
        chunks = self.planner.plan()
        self._can_go_on = bool(chunks)
        # Those that are cleared go first, so that a culprit holds them up for one failover at a time.
        parts: dict[int, list[Chunk]] = {}
        for one in sorted(chunks, key=lambda one: one.job.suspect):
            parts.setdefault(one.job.suspect, []).append(one)
        for suspect, part in parts.items():
            # The device may give up meanwhile, which ends all jobs.
            if left := [one for one in part if not one.job.over]:
                self._run(left, record=suspect == 0)

    def _drop(self) -> None:
        """Jobs that nobody waits for, or that are late; those of readers that lag behind pause."""
        now = time.monotonic()
        for job in self.planner.jobs():
            if job.cancelled:
                self._end(job, errors.Cancelled("nobody waits for it"))
            elif job.last is not None and now > job.last:
                self._end(job, errors.DeadlineExceeded("it was not answered before its deadline"))
            elif not job.sink.full:
                job.full_since = None
            elif job.full_since is None:
                job.full_since = now
            elif now - job.full_since > _FULL_SECONDS:
                self._end(job, errors.TimedOut("its reader has read nothing"))

    def _run(self, chunks: list[Chunk], record: bool) -> None:
        try:
            self._step(chunks, record)
        except errors.Failure as why:
            self._failed(chunks, root_cause(why))

    def _step(self, chunks: list[Chunk], record: bool) -> None:
        begin = time.perf_counter()
        known = self.recordings.find(chunks) if self.recordings and record else None
        step = self.cache.step(
            [one.job.sequence for one in chunks],  # type: ignore[misc]
            [len(one.ids) for one in chunks],
        )
        try:
            if known is not None:
                drawn = known.run(chunks, step)
                self.counts["recorded_steps"] += 1
            else:
                logits = self.model.forward(packed(chunks, step))
                drawn = self._sampler(logits, chunks)
            kept = self._kept(chunks, drawn)
            step.commit(
                [len(one.ids) - one.guesses + k for one, k in zip(chunks, kept, strict=True)]
            )
        except BaseException:
            if not step.over:
                step.abandon()
            if known is not None and self.recordings is not None:
                self.recordings.forget(known)
            raise
        self.counts["steps"] += 1
        self._step_seconds += 0.1 * (time.perf_counter() - begin - self._step_seconds)
        at = 0
        for chunk, k in zip(chunks, kept, strict=True):
            self._give(chunk, drawn[at : at + chunk.rows], k)
            at += chunk.rows

    def _kept(self, chunks: list[Chunk], drawn: list[Taken]) -> list[int]:
        """How many guesses of each are what was drawn."""
        kept, at = [], 0
        for one in chunks:
            guesses = one.ids[len(one.ids) - one.guesses :]
            k = 0
            while k < len(guesses) and guesses[k] == drawn[at + k].token:
                k += 1
            kept.append(k)
            at += one.rows
        return kept

    def _give(self, chunk: Chunk, drawn: list[Taken], kept: int) -> None:
        job = chunk.job
        job.tries = job.suspect = 0
        before = len(chunk.ids) - chunk.guesses
        self.counts["prompt_tokens" if job.made == 0 else "decoded"] += before
        if chunk.guesses:
            self.counts["drafted"] += chunk.guesses
            self.counts["accepted"] += kept
            assert self._drafts is not None
            self._drafts.learn(job, chunk.guesses, kept)
        given = drawn[: kept + 1]
        # Guesses that were right are in the cache.
        job.tokens += [one.token for one in given]
        self.planner.committed(job, before + kept)
        for number, one in enumerate(given, 1):
            if job.over:
                break
            self._hand_out(job, one, job.made - len(given) + number)

    def _hand_out(self, job: Job, one: Taken, number: int) -> None:
        now = time.monotonic()
        (self.first_token if number == 1 else self.next_token).add(now - job.latest)
        job.latest = now
        self.counts["generated"] += 1
        if one.token < 0:
            self._end(job, errors.Numerical("logits are not finite"), keep=False)
        elif one.token in job.ends or not job.sink.take(one):
            self._end(job, "stop")
        elif number >= job.limit:
            self._end(job, "length")

    def _failed(self, chunks: list[Chunk], why: errors.Failure) -> None:
        if isinstance(why, _GONE):
            for job in self.planner.jobs():
                self._end(job, why)
            return
        self.counts["failed_steps"] += 1
        left = [one for one in chunks if not one.job.over]
        if len(left) > 1:
            # Each part is a step of its own from now on, until it ends well.
            failover = max(_LEAST_FAILOVER, self.model.gpu.health.last_failover)
            count = pieces(len(left), failover, self._step_seconds)
            for i, one in enumerate(left):
                one.job.suspect = self._parts + i % count
            self._parts += count
            return
        if not left:
            return
        job = left[0].job
        job.tries += 1
        if isinstance(why, _AGAIN) and job.tries < _MOST_TRIES:
            return  # in the next step
        if isinstance(why, errors.DeviceFault) and job.tries == 1:
            # Who faults again, alone, is the culprit: a fault may have hit it by chance.
            job.suspect = self._parts
            self._parts += 1
            return
        self.counts["culprits"] += 1
        self._end(job, why, keep=False)

    def _end(self, job: Job, why: str | Exception, keep: bool = True) -> None:
        job.over = True
        self.planner.remove(job, keep)
        self.outcomes[why if isinstance(why, str) else type(why).__name__] += 1
        if self._drafts is not None:
            self._drafts.forget(job)
        job.sink.end(why)


def pieces(count: int, failover: float, step: float) -> int:
    """Into how many parts a failed step is divided, at each level, to find a culprit the soonest.

    Each level costs a failover and a step for each part; a step takes as long whatever is in it, as
    when its weights are read once.
    """

    def cost(width: int) -> float:
        levels = math.ceil(math.log(count) / math.log(width) - 1e-9)
        return levels * (failover + width * step)

    return min(range(2, count + 1), key=cost)


def root_cause(why: errors.Failure) -> errors.Failure:
    """The failure that a chain of requests has begun with."""
    while isinstance(why, errors.TaintedBuffer) and isinstance(why.__cause__, errors.Failure):
        why = why.__cause__
    return why
