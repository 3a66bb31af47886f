"""A model that is replaced while it serves."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgument

if TYPE_CHECKING:
    from typing import Self

Make = Callable[[], AbstractAsyncContextManager[Any]]
Check = Callable[[Any, Any], Awaitable[None]]


@dataclass(frozen=True)
class Versioned:
    """An answer, and the version of the model that has given all of it."""

    answer: Any
    version: str


class _Loaded:
    def __init__(self, model: Any, version: str, stack: contextlib.AsyncExitStack) -> None:
        self.model, self.version, self.stack = model, version, stack


class Swap:
    """One version of a model after the other, without a request that fails.

        @contextlib.asynccontextmanager
        async def version_2():
            weights = gpu.load("v2.safetensors")       # beside the old ones
            async with Batcher(partial(run, weights)) as model:
                yield model                            # its end drains it
            weights.release()                          # and frees the memory

        async with Swap(version_1, version="1") as model:
            await model(item)
            await model.swap(version_2, version="2", check=compare)

    A version is made by a function that gives an asynchronous context manager of something that is
    called like a Batcher. check(old, new) is to raise if the new one is not as it should be. If
    anything fails before items have moved, the old version has never stopped, and the new one ends.
    """

    def __init__(self, make: Make, *, version: str) -> None:
        self._first = make, version
        self._now: _Loaded | None = None
        self._next: _Loaded | None = None
        self._share = self._owed = 0.0

    @property
    def version(self) -> str:
        """The version that serves, or most of it."""
        return self._serving().version

    async def __call__(self, item: Any, **terms: Any) -> Any:
        """The answer of one of the versions that serve."""
        return await self._choose().model(item, **terms)

    async def ask(self, item: Any, **terms: Any) -> Versioned:
        """The same with its version."""
        one = self._choose()
        return Versioned(await one.model(item, **terms), one.version)

    async def swap(self, make: Make, *, version: str, check: Check | None = None) -> None:
        """Makes the next version and moves all items to it at once; then the old one ends."""
        async with self.beside(make, version=version, check=check):
            pass

    @contextlib.asynccontextmanager
    async def beside(
        self, make: Make, *, version: str, check: Check | None = None, share: float = 0.0
    ) -> AsyncIterator[Shift]:
        """Two versions at once: the new one gets a share of the items.

        Where the block ends well, it gets all of them, and the old one ends; where it raises, the
        old one gets them, and the new one ends once it has answered its own.
        """
        old = self._serving()
        if self._next is not None:
            raise InvalidArgument(f"version {self._next.version!r} is coming already")
        coming = await _load(make, version)
        try:
            if check is not None:
                await check(old.model, coming.model)
            if self._next is not None:
                raise InvalidArgument(f"version {self._next.version!r} has come first")
            self._next, self._share, self._owed = coming, share, 0.0
            yield Shift(self)
        except BaseException:
            if self._next is coming:
                self._next, self._share = None, 0.0
            await coming.stack.aclose()
            raise
        self._now, self._next, self._share = coming, None, 0.0
        await old.stack.aclose()

    async def __aenter__(self) -> Self:
        self._now = await _load(*self._first)
        return self

    async def __aexit__(self, *_: object) -> None:
        last, self._now = self._serving(), None
        await last.stack.aclose()

    def _serving(self) -> _Loaded:
        if self._now is None:
            raise InvalidArgument("Swap serves within `async with` only")
        return self._now

    def _choose(self) -> _Loaded:
        now = self._serving()
        if self._next is None:
            return now
        self._owed += self._share  # so that any run of items is split evenly
        if self._owed < 1.0:
            return now
        self._owed -= 1.0
        return self._next


class Shift:
    """The items' move from one version to the next."""

    def __init__(self, swap: Swap) -> None:
        self._swap = swap

    @property
    def share(self) -> float:
        """The new version's share of the items."""
        return self._swap._share

    async def shift(self, share: float, *, over: float = 0.0) -> None:
        """Moves the share there, evenly over so many seconds."""
        if not 0.0 <= share <= 1.0:
            raise InvalidArgument(f"a share is from 0 to 1; it is {share}")
        first, steps = self._swap._share, max(1, round(over / 0.05))
        for step in range(1, steps + 1):
            if over:
                await asyncio.sleep(over / steps)
            self._swap._share = first + (share - first) * step / steps


async def _load(make: Make, version: str) -> _Loaded:
    stack = contextlib.AsyncExitStack()
    return _Loaded(await stack.enter_async_context(make()), version, stack)
