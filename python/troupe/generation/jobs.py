"""What an engine is asked: a prompt, how tokens are drawn, and who takes them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Sampling(NamedTuple):
    """How a token is drawn from its logits. temperature 0: the largest.

    The noise is that of seed and position, so the same step draws the same token again.
    """

    temperature: float = 0.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0

    @property
    def greedy(self) -> bool:
        return self.temperature == 0


class Taken(NamedTuple):
    """A token, the logarithm of its probability, and the likeliest tokens with theirs."""

    token: int
    logprob: float
    likeliest: list[tuple[int, float]]


class Sink(Protocol):
    """Takes tokens, in the engine's thread."""

    @property
    def full(self) -> bool:
        """Whether its reader lags behind: then its job waits."""
        ...

    def take(self, one: Taken) -> bool:
        """False ends the job."""
        ...

    def end(self, why: str | Exception) -> None:
        """Called once: "stop", "length", or the failure."""
        ...


class Job:
    """A prompt that an engine goes on with."""

    def __init__(
        self,
        prompt: Sequence[int],
        sink: Sink,
        *,
        limit: int,
        sampling: Sampling = Sampling(),  # noqa: B008 # a tuple
        ends: frozenset[int] = frozenset(),
        logprobs: int | None = None,
        tenant: str = "",
        priority: int = 1,
        deadline: float | None = None,
        after: Job | None = None,
    ) -> None:
        """logprobs: how many of the likeliest tokens come with each. deadline: seconds from now.
        after: a job with the same prompt, whose pages it shares."""
        self.tokens = list(prompt)
        self.prompt = len(self.tokens)
        self.sink, self.limit, self.sampling, self.ends = sink, limit, sampling, ends
        self.logprobs, self.tenant, self.priority = logprobs, tenant, priority
        self.last = None if deadline is None else time.monotonic() + deadline
        self.after = after
        self.number = -1
        self.sequence: int | None = None
        self.done = 0  # tokens that are in the cache
        self.shared = 0  # of these, found there
        self.full_since: float | None = None
        self.cancelled = self.over = False
        self.tries = 0
        self.suspect = 0  # the part of a failed step that it is in, until that has ended well
        self.came = time.monotonic()
        self.latest = self.came  # when its last token was given

    @property
    def made(self) -> int:
        return len(self.tokens) - self.prompt

    @property
    def pending(self) -> int:
        """Tokens that are not in the cache yet: one while it decodes."""
        return len(self.tokens) - self.done
