"""Items that go through the same stages, several at once."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections import deque
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable
from typing import Any

from ._core import Future
from .errors import Cancelled, MailboxFull


class _Turns:
    """Lets numbered items in, in their order and so many at once."""

    def __init__(self, at_once: int) -> None:
        self._room = at_once
        self._next = 0
        self._waiting: dict[int, asyncio.Future[None] | None] = {}  # None: will not come

    @contextlib.asynccontextmanager
    async def turn(self, number: int) -> AsyncIterator[None]:
        turn = asyncio.get_running_loop().create_future()
        self._waiting[number] = turn
        self._admit()
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # it was let in at the same moment
                self._leave()
            self._admit()
            raise
        try:
            yield
        finally:
            self._leave()

    def skip(self, number: int) -> None:
        self._waiting[number] = None
        self._admit()

    def _leave(self) -> None:
        self._room += 1
        self._admit()

    def _admit(self) -> None:
        while self._next in self._waiting:
            turn = self._waiting[self._next]
            if turn is not None and turn.cancelled():
                turn = None
            if turn is not None and not self._room:
                return
            del self._waiting[self._next]
            self._next += 1
            if turn is not None:
                self._room -= 1
                turn.set_result(None)


class Pipeline:
    """Items that go through the same stages in an event loop, several at once, in order.

    pipeline = (
        troupe.Pipeline(in_flight=4)
        .stage(lambda photo: gpu.tensor(photo))
        .stage(lambda x: gpu.blas.gemm(x, w))
        .stage(read)  # async def read(y): return (await y).numpy()
    )
    vector = await pipeline.push(photo)
    async for vector in pipeline.run(photos): ...

    A stage takes what the one before it returned. A future of Troupe's is passed on at once: the
    next request uses it as an operand, and the device keeps them in order. A coroutine is awaited.
    The result of the last stage is awaited, if it can be. Results come in the order of the items.

    At most `in_flight` items have begun, and `waiting` more wait in front of them. Where there is
    no room, `push` waits, or raises MailboxFull if `when_full` is "reject". A stage that raises
    ends its item alone; the exception has a note with the stage's name.
    """

    def __init__(self, *, in_flight: int = 4, waiting: int = 0, when_full: str = "wait") -> None:
        if in_flight < 1:
            raise ValueError(f"in_flight is {in_flight}; at least one item has to be in it")
        if when_full not in ("wait", "reject"):
            raise ValueError(f'when_full is {when_full!r}; it is "wait" or "reject"')
        self._room = in_flight + waiting
        self._when_full = when_full
        self._frames = _Turns(in_flight)
        self._exit = _Turns(1)
        self._stages: list[tuple[str, Callable[[Any], Any], _Turns]] = []
        self._number = 0
        self._begun = 0
        self._closed = False
        self._waiters: list[asyncio.Future[None]] = []

    def stage(
        self, f: Callable[[Any], Any], name: str | None = None, *, at_once: int = 1
    ) -> Pipeline:
        """Adds a stage. A coroutine function runs for `at_once` items at the same time."""
        if self._number:
            raise ValueError("the pipeline has taken items: it gets no more stages")
        if at_once < 1:
            raise ValueError(f"at_once is {at_once}; a stage lets at least one item in")
        named: str = name or getattr(f, "__name__", "") or repr(f)
        self._stages.append((named, f, _Turns(at_once)))
        return self

    async def push(self, item: Any) -> Any:
        """The result of the last stage for the item."""
        return await (await self._take(item))

    async def run(self, items: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
        """The results for items, in order. The first failure is raised, and ends it."""
        open_: deque[asyncio.Task[Any]] = deque()
        try:
            async for item in _each(items):
                open_.append(await self._take(item, wait=True))
                while open_ and (open_[0].done() or len(open_) >= self._room):
                    yield await open_.popleft()
            while open_:
                yield await open_.popleft()
        finally:
            for task in open_:
                task.cancel()

    async def close(self) -> None:
        """Takes no more items, and waits for those that it has taken."""
        self._closed = True
        self._wake()
        await self._until(lambda: self._begun == 0)

    async def _until(self, holds: Callable[[], bool]) -> None:
        while not holds():
            change = asyncio.get_running_loop().create_future()
            self._waiters.append(change)
            await change

    def _wake(self) -> None:
        waiters, self._waiters = self._waiters, []
        for one in waiters:
            if not one.done():
                one.set_result(None)

    async def _take(self, item: Any, *, wait: bool = False) -> asyncio.Task[Any]:
        if self._begun >= self._room and self._when_full == "reject" and not wait:
            raise MailboxFull(f"pipeline: {self._begun} items are in it, no other can wait")
        await self._until(lambda: self._closed or self._begun < self._room)
        if self._closed:
            raise Cancelled("pipeline: it is closed")
        self._begun += 1
        number, self._number = self._number, self._number + 1
        # Those whose turn the item still has to take or to leave out, the last one first.
        ahead = [self._exit, *(turns for _, _, turns in reversed(self._stages)), self._frames]
        task = asyncio.get_running_loop().create_task(self._way(number, item, ahead))
        # Also of a task that is cancelled before it begins.
        task.add_done_callback(lambda _: self._end(number, ahead))
        return task

    async def _way(self, number: int, value: Any, ahead: list[_Turns]) -> Any:
        async with ahead.pop().turn(number):
            try:
                for name, f, turns in self._stages:
                    ahead.pop()
                    async with turns.turn(number):
                        value = await _passed_on(name, f, value)
                return await value if inspect.isawaitable(value) else value
            finally:
                while len(ahead) > 1:
                    ahead.pop().skip(number)
                # Its result waits for those before it, whatever it is.
                async with ahead.pop().turn(number):
                    pass

    def _end(self, number: int, ahead: list[_Turns]) -> None:
        for turns in ahead:
            turns.skip(number)
        self._begun -= 1
        self._wake()


async def _passed_on(name: str, f: Callable[[Any], Any], value: Any) -> Any:
    try:
        made = f(value)
        if inspect.isawaitable(made) and not isinstance(made, Future):
            return await made
        return made
    except Exception as failure:
        failure.add_note(f"in stage {name} of a pipeline")
        raise


async def _each(items: Iterable[Any] | AsyncIterable[Any]) -> AsyncIterator[Any]:
    if isinstance(items, AsyncIterable):
        async for one in items:
            yield one
    else:
        for one in items:
            yield one
