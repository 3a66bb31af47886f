"""Which tokens of which jobs the next step has. Nothing here waits, or asks a device."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from .. import KvCache
from .jobs import Job
from .prefix import Prefix
from .step import Chunk


class Limits(NamedTuple):
    """running: jobs at once. step_tokens: of a step; longer prompts are computed in chunks."""

    running: int = 64
    step_tokens: int = 512
    waiting: int = 1024


class Planner:
    """Jobs that run and that wait, and the pages of their sequences."""

    def __init__(
        self,
        cache: KvCache,
        pages: int,
        page_size: int,
        limits: Limits,
        guess: Callable[[Job, int], list[int]],
        shares: dict[str, float],
    ) -> None:
        self.cache, self.pages, self.page_size, self.limits = cache, pages, page_size, limits
        self.prefix = Prefix(cache, page_size)
        self.running: list[Job] = []
        self._waiting: dict[str, deque[Job]] = {}  # by tenant: priority, then arrival
        self._guess, self._shares = guess, shares
        self._served: dict[str, float] = {}  # tokens by share: who has had least is next
        self._number = 0
        self.preemptions = 0

    @property
    def waiting(self) -> int:
        return sum(map(len, self._waiting.values()))

    def jobs(self) -> list[Job]:
        return self.running + [one for all in self._waiting.values() for one in all]

    def add(self, job: Job) -> None:
        job.number = self._number = self._number + 1
        self._wait(job)

    def _wait(self, job: Job) -> None:
        queue = self._waiting.get(job.tenant)
        if queue is None:
            queue = self._waiting[job.tenant] = deque()
            # A tenant that was idle has saved nothing.
            active = [self._served[one] for one in self._active() if one != job.tenant]
            self._served[job.tenant] = max(
                self._served.get(job.tenant, 0.0), min(active, default=0.0)
            )
        bisect.insort(queue, job, key=lambda one: (one.priority, one.number))

    def _active(self) -> set[str]:
        return {one for one in (*self._waiting, *(r.tenant for r in self.running)) if one in self._served}  # fmt: skip

    def remove(self, job: Job, keep: bool = True) -> None:
        """It has ended. keep: others may begin with its pages."""
        if job in self.running:
            self.running.remove(job)
        elif job in self._waiting.get(job.tenant, ()):
            self._waiting[job.tenant].remove(job)
            if not self._waiting[job.tenant]:
                del self._waiting[job.tenant]
        if job.sequence is not None:
            (self.prefix.keep if keep else self.prefix.forget)(job.sequence)
            job.sequence = None

    def committed(self, job: Job, tokens: int) -> None:
        """So many more of its tokens are in the cache."""
        assert job.sequence is not None
        job.done += tokens
        self.prefix.add(job.tenant, job.tokens[: job.done], job.sequence)
        self._served[job.tenant] += tokens / self._shares.get(job.tenant, 1.0)

    def plan(self) -> list[Chunk]:
        """Decoding jobs first, then chunks of prompts in the order of arrival, then new jobs."""
        chunks: list[Chunk] = []
        left = self.limits.step_tokens
        ready = [one for one in self.running if one.full_since is None]
        for job in sorted(ready, key=lambda one: (one.pending > 1, one.number)):
            if job not in self.running:
                continue  # preempted for the one before it
            chunk = self._chunk(job, left)
            if chunk is not None and self._room(job, len(chunk.ids), chunks):
                chunks.append(chunk)
                left -= len(chunk.ids)
        while left > 0 and len(self.running) < self.limits.running:
            new = self._next()
            chunk = self._admitted(new, left, chunks) if new is not None else None
            if chunk is None:
                break
            chunks.append(chunk)
            left -= len(chunk.ids)
        return chunks

    def _chunk(self, job: Job, left: int) -> Chunk | None:
        ids = job.tokens[job.done : job.done + left]
        if not ids:
            return None
        if job.done + len(ids) < len(job.tokens):
            return Chunk(job, ids, 0)
        most = min(left - len(ids), job.limit - job.made - 1)
        # When many decode, a step is full without guesses.
        guesses = self._guess(job, most) if most > 0 and len(ids) == 1 else []
        if guesses and not self._free_for(job, len(ids) + len(guesses)):
            guesses = []
        return Chunk(job, ids + guesses, 1 + len(guesses), len(guesses))

    def _needed(self, job: Job, tokens: int) -> int:
        return -(-(job.done + tokens) // self.page_size) - -(-job.done // self.page_size)

    def _reserved(self, chunks: list[Chunk]) -> int:
        return sum(self._needed(one.job, len(one.ids)) for one in chunks)

    def _free_for(self, job: Job, tokens: int) -> bool:
        return self.cache.free_pages >= self._needed(job, tokens) + len(self.running)

    def _room(self, job: Job, tokens: int, chunks: list[Chunk]) -> bool:
        """Frees pages for a running job: of prefixes, then of jobs of lower rank."""
        planned = {id(one.job) for one in chunks}
        while True:
            needed = self._needed(job, tokens) + self._reserved(chunks)
            if self.prefix.free(needed):
                return True
            others = [one for one in self.running if id(one) not in planned]
            youngest = max(others, key=lambda one: (one.priority, one.number))
            self._preempt(youngest)
            if youngest is job:
                return False

    def _preempt(self, job: Job) -> None:
        """Its tokens are computed again when there is room; its reader only waits."""
        assert job.sequence is not None
        self.running.remove(job)
        self.prefix.forget(job.sequence)
        job.sequence, job.done = None, 0
        self.preemptions += 1
        self._wait(job)

    def _next(self) -> Job | None:
        """Of the tenant that has had the least, the first that need not wait."""
        first = min((queue[0].priority for queue in self._waiting.values()), default=0)
        for tenant in sorted(self._waiting, key=lambda one: self._served[one]):
            for job in self._waiting[tenant]:
                if job.priority > first:
                    break
                leader = job.after
                if job.full_since is not None:
                    continue
                if leader is None or leader.over or leader.done >= leader.prompt:
                    return job
        return None

    def _admitted(self, job: Job, left: int, chunks: list[Chunk]) -> Chunk | None:
        """Begins a job, if there are pages for its prompt and one more."""
        sequence, found = self.prefix.find(job.tenant, job.tokens[:-1])
        needed = -(-len(job.tokens) // self.page_size) + 1 - found // self.page_size
        needed = min(needed, self.pages - found // self.page_size)
        if found:
            job.sequence = self.cache.fork(sequence, found)  # so it is not freed below
        if not self.prefix.free(needed + self._reserved(chunks)):
            if job.sequence is not None:
                self.cache.end(job.sequence)
                job.sequence = None
            return None
        queue = self._waiting[job.tenant]
        queue.remove(job)
        if not queue:
            del self._waiting[job.tenant]
        if job.sequence is None:
            job.sequence = self.cache.begin()
        job.done = job.shared = found
        self.prefix.admitted(len(job.tokens) - 1, found)
        self.running.append(job)
        return self._chunk(job, left)
