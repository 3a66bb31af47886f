"""What a model computes at once: new tokens of several sequences, packed one behind the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

import troupe

from .. import KvCache
from ..serving.sending import sent_to
from .jobs import Job


class Rows(Protocol):
    """Keys and values of a step, as `KvStep` has them."""

    def append(self, layer: int, k: Any, v: Any) -> Any: ...
    def attend(self, layer: int, q: Any, **kwargs: Any) -> Any: ...


def _no_room(name: str, shape: tuple[int, ...], dtype: str) -> None:
    return None


class Step(NamedTuple):
    """Arrays: ids and positions of all new tokens; rows: the places of those whose logits are
    wanted.

    A step that is recorded is run later, for other ids and positions than these: `recorded` has the
    tensors that will hold them, and `room` gives memory for a result, by a name, that a later
    result of this name may overwrite. Else it gives None, and the request allocates.
    """

    ids: Any
    positions: Any
    rows: Any
    kv: Rows
    room: Callable[[str, tuple[int, ...], str], Any] = _no_room
    recorded: tuple[Any, Any] | None = None
    graph: Any = None

    def sent(self, gpu: troupe.Device) -> tuple[Any, Any, Any]:
        """ids, positions and rows on the device; rows are None for all of a recorded step."""
        if self.recorded is not None:
            return (*self.recorded, None)
        n = len(self.ids)
        all = sent_to(gpu, np.concatenate((self.ids, self.positions, self.rows)).astype(np.int32))
        return all[:n], all[n : 2 * n], all[2 * n :]


class Model(Protocol):
    """What an engine needs of a model. `forward` sends, and does not wait."""

    sizes: Any
    gpu: Any

    def cache(self, pages: int, page_size: int = 16) -> KvCache: ...
    def forward(self, step: Step) -> Any: ...


class Chunk(NamedTuple):
    """New tokens of one job in a step: of its prompt, or its last token and guesses of the next."""

    job: Job
    ids: list[int]
    rows: int  # how many of the last ones a token is drawn after
    guesses: int = 0


def packed(chunks: list[Chunk], kv: Rows) -> Step:
    counts = np.array([len(one.ids) for one in chunks])
    ends = np.cumsum(counts)
    ids = np.concatenate([np.asarray(one.ids, np.int32) for one in chunks])
    begins = np.array([one.job.done for one in chunks])
    positions = np.arange(len(ids)) - np.repeat(ends - counts - begins, counts)
    rows = [np.arange(end - one.rows, end) for one, end in zip(chunks, ends, strict=True)]
    return Step(ids, positions.astype(np.int32), np.concatenate(rows).astype(np.int32), kv)
