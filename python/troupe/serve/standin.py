"""Until `troupe.serving` is there: batches, and singles after a failure."""

from __future__ import annotations

import asyncio
from typing import Any

from .. import errors


class Refused(errors.MailboxFull):
    reason = "closed"
    retry_after: float | None = None


class Items(list[Any]):
    run_limit = 60.0
    part = False


class Batcher:
    def __init__(self, run: Any, *, items: int = 32, **options: Any) -> None:
        self._run, self._items = run, items
        self._waiting: list[Any] = []
        self._tasks: set[Any] = set()
        self._closed = False

    def __call__(self, item: Any, **terms: Any) -> asyncio.Future[Any]:
        if self._closed:
            raise Refused("closed")
        done = asyncio.get_running_loop().create_future()
        self._waiting.append((item, done))
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._begin)
        return done

    def _begin(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting[: self._items], self._waiting[self._items :]
            task = asyncio.ensure_future(self._serve(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _serve(self, batch: Any) -> None:
        try:
            answers = await self._run(Items(one for one, _ in batch))
        except Exception as why:
            if len(batch) > 1:
                for one in batch:
                    await self._serve([one])
                return
            answers = [why]
        for (_, done), answer in zip(batch, answers, strict=True):
            if not done.done():
                if isinstance(answer, Exception):
                    done.set_exception(answer)
                else:
                    done.set_result(answer)

    def statistics(self) -> dict[str, Any]:
        return {"waiting_items": len(self._waiting)}

    def quarantined(self) -> list[Any]:
        return []

    def forgive(self, one: str | None) -> int:
        return 0

    def learn(self, cost: int, seconds: float) -> None:
        pass

    async def close(self, drain: float = 30.0) -> None:
        self._closed = True
        while self._tasks:
            await asyncio.wait(self._tasks, timeout=drain)
