"""A small model first, and larger ones for what it is not sure of."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..errors import DeadlineExceeded, MailboxFull


@dataclass(frozen=True)
class Staged:
    """The answer of a cascade."""

    answer: Any
    stage: int
    """Which of the stages has given it, from 0."""
    accepted: bool
    """False: there was no time, or no room, for the next stage."""


class Cascade:
    """Asks one stage after the other until an answer is accepted.

        read = Cascade([small, large], lambda label: label.confidence >= 0.9)
        found = await read(page, deadline=0.2)
        found.answer, found.stage

    A stage is a Batcher, or anything that is called like one. Each item has its own deadline for all
    stages. If it, or the queue, leaves no room for the next stage, the last answer is given as it
    is. on_fault: where an item fails in a stage by itself, "fail" raises, "next" tries the next one.
    """

    def __init__(
        self,
        stages: Sequence[Callable[..., Any]],
        accept: Callable[[Any], bool],
        *,
        on_fault: Literal["fail", "next"] = "fail",
    ) -> None:
        if not stages:
            raise ValueError("Cascade: it needs at least one stage")
        self._stages, self._accept, self._on_fault = list(stages), accept, on_fault

    async def __call__(self, item: Any, *, deadline: float | None = None, **terms: Any) -> Staged:
        """The first accepted answer, or the last one. `terms` are those of the stages."""
        loop = asyncio.get_running_loop()
        until = None if deadline is None else loop.time() + deadline
        best: Staged | None = None
        for number, stage in enumerate(self._stages):
            if until is not None:
                terms["deadline"] = until - loop.time()
            try:
                answer = await stage(item, **terms)
            except (DeadlineExceeded, MailboxFull):
                if best is None:
                    raise
                return best
            except Exception:
                if self._on_fault == "fail":
                    raise
                if number + 1 < len(self._stages):
                    continue
                if best is None:
                    raise
                return best
            best = Staged(answer, number, self._accept(answer))
            if best.accepted:
                break
        assert best is not None
        return best
