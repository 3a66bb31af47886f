"""What a model computes at once: new tokens of several sequences, packed one behind the other."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from .. import KvCache, KvStep
from .jobs import Job


class Step(NamedTuple):
    """ids and positions of all new tokens; rows: the places of those whose logits are wanted."""

    ids: Any
    positions: Any
    rows: Any
    kv: KvStep


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


def packed(chunks: list[Chunk], kv: KvStep) -> Step:
    counts = np.array([len(one.ids) for one in chunks])
    ends = np.cumsum(counts)
    ids = np.concatenate([np.asarray(one.ids, np.int32) for one in chunks])
    begins = np.array([one.job.done for one in chunks])
    positions = np.arange(len(ids)) - np.repeat(ends - counts - begins, counts)
    rows = [np.arange(end - one.rows, end) for one, end in zip(chunks, ends, strict=True)]
    return Step(ids, positions.astype(np.int32), np.concatenate(rows).astype(np.int32), kv)
