"""Streams whose items are computed with the state that the one before has left."""

from __future__ import annotations

import asyncio
import inspect
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from .. import Future
from ..errors import (
    DeadlineExceeded,
    DeviceStopped,
    DeviceUnavailable,
    InvalidArgument,
    MailboxFull,
    Poisonous,
)
from .batcher import Batcher
from .items import Batch, Refused, WrongNumber, content

if TYPE_CHECKING:
    from typing import Self


Step = Callable[[Any, list[Any]], Any]
Initial = Callable[[], Any]

_GONE = (DeviceStopped, DeviceUnavailable)
# After these an item has changed nothing, and the next one may do better.
_GOES_ON = (asyncio.CancelledError, MailboxFull, DeadlineExceeded, Poisonous, *_GONE)
_MOST_REASONS = 1024


@dataclass(frozen=True)
class _Item:
    value: Any
    state: Any


@dataclass
class _Replica:
    batcher: Batcher[_Item, Any]
    initial: Callable[[], Any]
    sequences: int = 0
    gone: bool = False  # when it was asked last


@dataclass
class _Sequence:
    replica: _Replica
    state: Any
    last: float
    begun: bool = False
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: int = 0
    ended: BaseException | None = None


class Sequences:
    """Batches items of many sequences, each of which has a state of the program's own.

        async def step(items, states):           # of as many sequences; changes no old state
            ...
            return answers, new_states           # lists; an exception in an answer's place fails it

        voices = Sequences(step, initial=lambda: zeros, items=64)
        await voices(chunk, sequence="a", start=True)
        await voices(chunk, sequence="a")
        await voices(chunk, sequence="a", end=True)

    A state is any object; tensors keep it on the device. A new one counts once its step has ended
    well and the caller has the answer. So a lost worker repeats the step, a refused, late or
    cancelled item leaves its sequence as it was, and an item that fails by itself ends its own
    sequence with that error; all others keep their states to the bit. Futures of requests among
    answers and states are awaited as a part of the step.

    step may be a list, of a function for each device, and initial likewise: a new sequence goes to
    the one with the fewest, and stays there with its state. Those of a device that has stopped go
    on when it is restarted.

    initial: makes the state of a new sequence. most: sequences at once. idle: seconds after which
    one without items ends. waiting: items of one sequence that may wait. Other arguments are
    those of Batcher.
    """

    def __init__(
        self,
        step: Step | Sequence[Step],
        *,
        initial: Initial | Sequence[Initial] = lambda: None,
        most: int = 256,
        idle: float = 60.0,
        waiting: int = 64,
        fingerprint: Callable[[Any], bytes] | None = None,
        **options: Any,
    ) -> None:
        self._most = most
        self._idle = idle
        self._waiting = waiting
        self._sequences: dict[Any, _Sequence] = {}
        self._reasons: OrderedDict[Any, str] = OrderedDict()
        self._sweep: asyncio.TimerHandle | None = None
        of = fingerprint or content  # not of the state
        steps = [step] if callable(step) else list(step)
        initials = [initial] * len(steps) if callable(initial) else list(initial)
        if not steps or len(initials) != len(steps):
            raise ValueError(f"Sequences: {len(steps)} steps and {len(initials)} initial states")
        options.setdefault("name", getattr(steps[0], "__qualname__", type(steps[0]).__name__))
        options["fingerprint"] = lambda item: of(item.value)
        self._replicas = [
            _Replica(Batcher(_run_of(one), **options), first)
            for one, first in zip(steps, initials, strict=True)
        ]

    @property
    def batchers(self) -> list[Batcher[Any, Any]]:
        """The Batcher of each step."""
        return [one.batcher for one in self._replicas]

    def __len__(self) -> int:
        """The number of sequences that have begun and not ended."""
        return len(self._sequences)

    async def __call__(
        self,
        value: Any,
        *,
        sequence: Any,
        start: bool = False,
        end: bool = False,
        tenant: str = "",
        **terms: Any,
    ) -> Any:
        """The answer to the next item of a sequence. `terms` are those of Batcher.

        start makes the sequence, and is refused if there is one; without it there must be one
        (InvalidArgument). The same name of another tenant is another sequence.
        """
        key = (tenant, sequence)
        one = self._started(key) if start else self._found(key)
        if one.waiting >= self._waiting:
            text = f"{one.waiting} items of sequence {sequence!r} wait already"
            raise Refused(text, reason="sequence")
        one.waiting += 1
        try:
            async with one.turn:
                if one.ended is not None:
                    raise one.ended
                item = _Item(value, one.state)
                answer, one.state = await one.replica.batcher(item, tenant=tenant, **terms)
                one.begun, one.replica.gone = True, False
        except _GOES_ON as why:
            one.replica.gone = isinstance(why, _GONE)
            if start and not one.begun:
                self._end(key, one, f"its first item was not computed: {_text(why)}")
            raise
        except BaseException as why:
            self._end(key, one, _text(why), why)
            raise
        finally:
            one.waiting -= 1
            one.last = asyncio.get_running_loop().time()
        if end:
            self._end(key, one, "it was ended")
        return answer

    async def close(self, drain: float = 30.0) -> None:
        """Ends all sequences; items that are there are waited for at most so long."""
        await asyncio.gather(*(one.close(drain) for one in self.batchers))
        for key, one in list(self._sequences.items()):
            self._end(key, one, "the service was closed")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _started(self, key: Any) -> _Sequence:
        if key in self._sequences:
            raise InvalidArgument(f"sequence {key[1]!r} has begun already")
        now = asyncio.get_running_loop().time()
        if len(self._sequences) >= self._most:
            self._end_idle(now)
        if len(self._sequences) >= self._most:
            raise Refused(f"there are {self._most} sequences already", reason="sequences")
        replica = min(self._replicas, key=lambda one: (one.gone, one.sequences))
        one = self._sequences[key] = _Sequence(replica, replica.initial(), now)
        replica.sequences += 1
        self._reasons.pop(key, None)
        self._sweep_later()
        return one

    def _found(self, key: Any) -> _Sequence:
        if one := self._sequences.get(key):
            return one
        why = self._reasons.get(key, "it was never started")
        raise InvalidArgument(f"there is no sequence {key[1]!r}: {why}")

    def _end(self, key: Any, one: _Sequence, why: str, error: BaseException | None = None) -> None:
        if self._sequences.get(key) is not one:
            return
        del self._sequences[key]
        one.replica.sequences -= 1
        one.ended = error or InvalidArgument(f"there is no sequence {key[1]!r}: {why}")
        self._reasons[key] = why
        if len(self._reasons) > _MOST_REASONS:
            self._reasons.popitem(last=False)

    def _end_idle(self, now: float) -> None:
        for key, one in list(self._sequences.items()):
            if one.waiting == 0 and now - one.last >= self._idle:
                self._end(key, one, f"it had no items for {self._idle:g} s")

    def _sweep_later(self) -> None:
        loop = asyncio.get_running_loop()

        def sweep() -> None:
            self._sweep = None
            self._end_idle(loop.time())
            if self._sequences:
                self._sweep_later()

        if self._sweep is None:
            self._sweep = loop.call_later(self._idle / 4, sweep)


def _run_of(step: Step) -> Callable[[Batch[_Item]], Any]:
    async def in_loop(batch: Batch[_Item]) -> list[Any]:
        return await _settled_pairs(await step(*_parts(batch)))

    def in_thread(batch: Batch[_Item]) -> Any:
        return _settled_pairs(step(*_parts(batch)))  # awaited in the loop

    return in_loop if inspect.iscoroutinefunction(step) else in_thread


def _parts(batch: Batch[_Item]) -> tuple[Batch[Any], list[Any]]:
    values: Batch[Any] = Batch(item.value for item in batch)
    values.__dict__.update(batch.__dict__)
    return values, [item.state for item in batch]


async def _settled_pairs(both: tuple[Any, Any]) -> list[Any]:
    """A pair of answer and state for each item, or its exception."""
    answers, states = both
    if len(answers) != len(states):
        raise WrongNumber(f"the step has {len(answers)} answers and {len(states)} states")
    return [
        answer if isinstance(answer, BaseException) else await _settled((answer, state))
        for answer, state in zip(answers, states, strict=True)
    ]


async def _settled(value: Any) -> Any:
    """The value with the futures of requests in it replaced by what they give."""
    if isinstance(value, Future):
        return await value
    if type(value) in (tuple, list):
        return type(value)([await _settled(one) for one in value])
    if type(value) is dict:
        return {key: await _settled(one) for key, one in value.items()}
    return value


def _text(why: BaseException) -> str:
    return f"{type(why).__name__}: {why}"
