"""Texts of jobs, for an event loop: letters as they come, and one wake-up a step for all of them."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple

from .engine import Engine
from .jobs import Job, Taken
from .tokens import Stops, Text, Tokenizer

_MOST_BYTES = 64 << 10  # unread


class Piece(NamedTuple):
    """More of a choice: letters, the tokens that have come, and at the end why it is one."""

    choice: int
    text: str
    taken: list[Taken]
    end: str | Exception | None = None


class Hub:
    """Wakes an event loop once a step, for all answers that have grown."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.grown: dict[Answer, None] = {}  # in the engine's thread

    def after_step(self) -> None:
        if self.grown:
            grown, self.grown = self.grown, {}
            with contextlib.suppress(RuntimeError):  # the loop has ended, and with it all readers
                self.loop.call_soon_threadsafe(_wake, list(grown))


def _wake(answers: list[Answer]) -> None:
    for one in answers:
        one.wake.set()


class _Choice:
    """A sink: one text of an answer."""

    def __init__(self, answer: Answer, number: int, tokenizer: Tokenizer, stops: Sequence[str]):
        self._answer, self._number = answer, number
        self._text, self._stops = Text(tokenizer), Stops(stops)
        self._stopped = False
        self.written = 0  # in the engine's thread
        self.tokens = 0

    @property
    def full(self) -> bool:
        return self.written - self._answer.read[self._number] > _MOST_BYTES

    def take(self, one: Taken) -> bool:
        self.tokens += 1
        text, self._stopped = self._stops.add(self._text.add(one.token))
        self._add(Piece(self._number, text, [one]))
        return not self._stopped

    def end(self, why: str | Exception) -> None:
        text = ""
        if not self._stopped:
            text, found = self._stops.add(self._text.rest())
            text += "" if found else self._stops.rest()
        self._add(Piece(self._number, text, [], why))

    def _add(self, piece: Piece) -> None:
        self.written += size_of(piece)
        self._answer.pieces.append(piece)
        self._answer.hub.grown[self._answer] = None


def size_of(piece: Piece) -> int:
    return len(piece.text) + 64 * len(piece.taken)


class Answer:
    """The choices of one request. Iterate over it once: it ends when all have ended."""

    def __init__(self, engine: Engine, hub: Hub, tokenizer: Tokenizer) -> None:
        self._engine, self.hub, self._tokenizer = engine, hub, tokenizer
        self.pieces: deque[Piece] = deque()
        self.wake = asyncio.Event()
        self.jobs: list[Job] = []
        self.choices: list[_Choice] = []
        self.read: list[int] = []  # bytes of each choice, in the event loop
        self._left = 0

    def choice(self, stops: Sequence[str]) -> _Choice:
        """A sink for one more job."""
        made = _Choice(self, len(self.choices), self._tokenizer, stops)
        self.choices.append(made)
        self.read.append(0)
        self._left += 1
        return made

    def __aiter__(self) -> Answer:
        return self

    async def __anext__(self) -> Piece:
        while not self.pieces:
            if not self._left:
                raise StopAsyncIteration
            self.wake.clear()
            if not self.pieces:
                await self.wake.wait()
        piece = self.pieces.popleft()
        lagged = self.choices[piece.choice].full
        self.read[piece.choice] += size_of(piece)
        if lagged and not self.choices[piece.choice].full:
            self._engine.wake()
        if piece.end is not None:
            self._left -= 1
        return piece

    def cancel(self) -> None:
        """Nobody reads it any more."""
        for job in self.jobs:
            if not job.over:
                self._engine.cancel(job)
