"""The same model on several devices."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import DeviceCondemned, DeviceStopped, DeviceUnavailable, MailboxFull
from .batcher import Batcher

if TYPE_CHECKING:
    from typing import Self

    from troupe import Device

_GONE = (DeviceStopped, DeviceUnavailable, DeviceCondemned)
_RANKS = {"ready": 0, "starting": 1, "recovering": 1}


class Replicas:
    """A Batcher for each of some devices; an item goes to the one that will answer first.

        def on(gpu):
            weights = gpu.load("model.safetensors")

            async def run(items): ...
            return run

        embed = Replicas(on, [system.device(0), system.device(1)], items=32)
        vector = await embed(image)

    The time until the answer is predicted from the work that is there and the item's cost. A device
    that recovers gets nothing new while another one is ready, and one that has stopped gets nothing
    while another one has not. Items of a stopped device that were not answered move to others, so
    run() may see one again, as after a loss. Further arguments are those of Batcher.
    """

    def __init__(
        self,
        make: Callable[[Device], Callable[..., Any]],
        devices: Sequence[Device],
        **options: Any,
    ) -> None:
        if not devices:
            raise ValueError("Replicas: it needs at least one device")
        self.devices = list(devices)
        self.batchers: list[Batcher[Any, Any]] = [
            Batcher(make(one), **{"name": f"device {one.ordinal}", **options}) for one in devices
        ]
        self._turn = 0

    async def __call__(self, item: Any, *, deadline: float | None = None, **terms: Any) -> Any:
        """The answer; `terms` are those of Batcher. Raises what a Batcher raises."""
        loop = asyncio.get_running_loop()
        until = None if deadline is None else loop.time() + deadline
        left = set(range(len(self.devices)))
        while True:
            if until is not None:
                deadline = until - loop.time()
            place = self.choose(left, deadline=deadline, **terms)
            left.discard(place)
            try:
                return await self.batchers[place](item, deadline=deadline, **terms)
            except _GONE:
                if not left:
                    raise

    def choose(self, among: set[int] | None = None, *, sequence: Any = None, **terms: Any) -> int:
        """The place in `devices` that an item with these terms would go to now."""
        self._turn += 1
        count = len(self.devices)

        def rank(place: int) -> tuple[int, float, int]:
            try:
                seconds = self.batchers[place].check(**terms)
            except MailboxFull as refused:
                # If all refuse, the one that can be asked again first says so.
                seconds = 1e9 + (getattr(refused, "retry_after", None) or 0.0)
            state = _RANKS.get(self.devices[place].health.state, 2)
            return state, seconds, (place - self._turn) % count

        return min(range(count) if among is None else among, key=rank)

    def statistics(self) -> list[dict[str, Any]]:
        """What each Batcher has counted."""
        return [one.statistics() for one in self.batchers]

    async def close(self, drain: float = 30.0) -> None:
        """Closes all; see Batcher.close."""
        await asyncio.gather(*(one.close(drain) for one in self.batchers))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
