"""Several devices: which one gets what, and training and inference on all of them.

    world = system.world([gpu0, gpu1])
    weights = parallel.replicate(world, weights_on_gpu0).result()   # [rank][tensor]
    buckets = parallel.GradientBuckets(world, weights_on_gpu0)
    ...
    gpu.blas.gemm(a=x.transpose(), b=dy, c=buckets.gradient(rank, i))
    buckets.sent(rank, i)           # the last one of a bucket sends its average over all ranks
    ...
    gpu.map(lambda p, g: p - rate * g, p, buckets.average(rank, i))

A rank that is lost changes nothing: its part runs again, with the same bits.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable
from typing import Any, Generic, TypeVar

from ._core import Device, DeviceGroup, Future, GradientBuckets, ShardMap, System, _work, replicate
from .actors import Actor, ActorRef

A = TypeVar("A", bound=Actor)

__all__ = ["DeviceGroup", "GradientBuckets", "Replicas", "ShardMap", "Sharded", "replicate"]


class Sharded(Generic[A]):
    """An actor for each key, on the device that a ShardMap says.

    The first message for a key spawns `kind(device, key, *args)`. When the device has stopped, the
    next message spawns it on the next device of the key, where it stays. One that has stopped by
    itself is spawned again, too. Messages that are on their way meanwhile fail.
    """

    def __init__(self, system: System, where: ShardMap, kind: type[A], *args: Any) -> None:
        self._system, self._where, self._kind, self._args = system, where, kind, args
        self._lock = threading.Lock()
        self._actors: dict[str, tuple[Device, ActorRef[A]]] = {}

    def actor_of(self, key: str) -> ActorRef[A]:
        """The actor of a key. Do not keep it: it may move."""
        with self._lock:
            if key in self._actors:
                device, actor = self._actors[key]
                if not actor.stopped and _work(device)[0] < _HAS_STOPPED:
                    return actor
                actor.stop(after_mailbox=True)
            device = self._where.device_of(key)
            actor = self._system.spawn(self._kind, device, key, *self._args, name=key)
            self._actors[key] = device, actor
            return actor

    def ask(
        self, key: str, handler: Callable[..., Any], /, *args: Any, **kwargs: Any
    ) -> Future[Any]:
        """Sends a message to the actor of a key, and returns its future answer."""
        return self.actor_of(key).ask(handler, *args, **kwargs)

    def tell(self, key: str, handler: Callable[..., Any], /, *args: Any, **kwargs: Any) -> bool:
        """Sends a message without an answer. False if it was refused."""
        return self.actor_of(key).tell(handler, *args, **kwargs)


class Replicas(Generic[A]):
    """Sends each message to one of several actors that do the same on a device each.

    Of two that are drawn at random, the one with less in flight gets it: its own messages and its
    device's requests. If neither serves, because its device recovers or has stopped, the best of
    all gets it.
    """

    def __init__(self, all: Iterable[tuple[ActorRef[A], Device]]) -> None:
        self._all = list(all)
        if not self._all:
            raise ValueError("Replicas: at least one actor is needed")

    def choose(self) -> ActorRef[A]:
        """The one that the next message would be sent to."""
        drawn = random.sample(self._all, min(2, len(self._all)))
        best = min(drawn, key=_burden)
        if _burden(best)[0] > 0:
            best = min(self._all, key=_burden)
        return best[0]

    def ask(self, handler: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Sends a message to one of them, and returns its future answer."""
        return self.choose().ask(handler, *args, **kwargs)

    def tell(self, handler: Callable[..., Any], /, *args: Any, **kwargs: Any) -> bool:
        """Sends a message without an answer. False if it was refused."""
        return self.choose().tell(handler, *args, **kwargs)


_HAS_STOPPED = 2


def _burden(one: tuple[ActorRef[Any], Device]) -> tuple[int, int]:
    actor, device = one
    rank, in_flight = _work(device)
    return _HAS_STOPPED + 1 if actor.stopped else rank, actor._to.load + in_flight
