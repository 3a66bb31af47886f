"""Steps in which every job decodes a token, recorded once and then sent as one request each."""

from __future__ import annotations

import logging
from collections import Counter, OrderedDict
from typing import Any, NamedTuple

import numpy as np

import troupe

from .jobs import Taken
from .sampling import likeliest_of, taken
from .step import Chunk, Model, Step

log = logging.getLogger("troupe.generation")

_LEAST_PAGES = 8


class Shape(NamedTuple):
    """What recorded steps may differ in. pages: of the longest sequence, at most."""

    batch: int
    pages: int
    greedy: bool
    top_k: bool
    logprobs: bool


class Recordings:
    """Recorded steps by their shapes: those that were used last are kept."""

    def __init__(
        self,
        model: Model,
        cache: troupe.KvCache,
        page_size: int,
        most: int = 16,
        after: int = 4,
    ) -> None:
        """after: a shape is recorded when it comes this often, since recording takes as long as
        sending its requests."""
        self._model, self._cache, self._page_size = model, cache, page_size
        self._most, self._after = most, after
        self._known: OrderedDict[Shape, Recorded] = OrderedDict()
        self._seen: Counter[Shape] = Counter()
        self._refused = False

    def find(self, chunks: list[Chunk]) -> Recorded | None:
        """The recording for a step, if each of its jobs decodes one token."""
        if self._refused or not all(len(one.ids) == 1 and one.rows == 1 for one in chunks):
            return None
        shape = self._shape(chunks)
        if shape in self._known:
            self._known.move_to_end(shape)
            return self._known[shape]
        self._seen[shape] += 1
        if self._seen[shape] < self._after:
            return None
        if len(self._known) == self._most:
            dropped, _ = self._known.popitem(last=False)
            self._seen.pop(dropped, None)  # else more shapes than are kept are recorded each time
        if len(self._seen) > 1024:
            self._seen.clear()
        try:
            made = self._known[shape] = Recorded(self._model, self._cache, shape)
        except Exception as why:  # the model is the user's
            log.warning("steps are sent request by request, since this cannot be recorded: %s", why)
            self._refused = True
            return None
        return made

    def _shape(self, chunks: list[Chunk]) -> Shape:
        jobs = [one.job for one in chunks]
        longest = max(one.done for one in jobs) + 1
        pages = _LEAST_PAGES
        while pages * self._page_size < longest:
            pages *= 2
        return Shape(
            len(jobs),
            pages,
            all(one.sampling.greedy for one in jobs),
            any(one.sampling.top_k for one in jobs),
            any(one.logprobs is not None for one in jobs),
        )

    def info(self) -> list[dict[str, Any]]:
        """How the worker runs those that are kept: `Graph.info` of each. Waits."""
        return [one.graph.info(self._model.gpu) for one in list(self._known.values())]

    def forget(self, failed: Recorded) -> None:
        """On a GPU, a graph that has faulted waits for each of its requests from then on."""
        self._known.pop(failed.shape, None)


class Recorded:
    """One step of a shape: numbers go to memory that the worker reads, one request runs it all."""

    def __init__(self, model: Model, cache: troupe.KvCache, shape: Shape) -> None:
        self.shape, self._gpu = shape, model.gpu
        gpu, n, wide = model.gpu, shape.batch, shape.pages
        # ids, positions, rows of the cache, lengths, top_k, ones; pages; rows for each head
        heads = cache.keys(0).shape[1]
        self._integers = gpu.host_empty(n * (6 + wide + heads), "i32")
        self._reals = gpu.host_empty((3, n), "f32")
        self._places = gpu.host_empty(n, "i64")
        self._seeds = gpu.host_empty(n, "u64")
        self._tokens, self._logprobs = gpu.host_empty(n, "i32"), gpu.host_empty(n, "f32")
        numbers = self._integers.in_place()
        self.numbers = numbers[: 6 * n].reshape(6, n)
        self._table = numbers[6 * n : (6 + wide) * n].reshape(n, wide)
        self._places_of_heads = numbers[(6 + wide) * n :].reshape(n, heads)
        self._heads = np.arange(heads, dtype=np.int32)
        self.reals, self.places = self._reals.in_place(), self._places.in_place()
        self.seeds = self._seeds.in_place()
        numbers[:] = 0
        self.numbers[5] = 1
        self.drawn = self._tokens.in_place(), self._logprobs.in_place()
        self.drawn[1][:] = 0
        self._there = [
            (one, gpu.empty(one.shape, one.dtype))
            for one in (self._integers, self._reals, self._places, self._seeds)
        ]
        self._rooms: dict[str, Any] = {}
        with gpu.record("decode step") as graph:
            self._record(model, cache, graph)
        self.graph = graph

    def _record(self, model: Model, cache: Any, graph: Any) -> None:
        gpu, shape, n = self._gpu, self.shape, self.shape.batch
        for here, there in self._there:
            gpu.copy(here, there)
        integers, reals, places, seeds = (there for _, there in self._there)
        parts = [integers[i * n : (i + 1) * n] for i in range(6)]
        table = integers[6 * n : (6 + shape.pages) * n].reshape(n, shape.pages)
        rows = integers[(6 + shape.pages) * n :].reshape(n, len(self._heads))
        kv = _RecordedRows(cache, graph, gpu, rows, parts[5], parts[3], table)
        none, rows_of_all = np.zeros(n, np.int32), np.arange(n, dtype=np.int32)
        self.logits = model.forward(
            Step(none, none, rows_of_all, kv, self._room, (parts[0], parts[1]), graph)
        )
        given: dict[str, Any] = {"temperature": reals[0]}
        if not shape.greedy:
            given |= {"top_p": reals[1], "min_p": reals[2], "seeds": seeds, "positions": places}
            if shape.top_k:
                given["top_k"] = parts[4]
        tokens = gpu.empty(n, "i32")
        if shape.logprobs:
            given["logprobs"] = gpu.empty(n, "f32")
        gpu.dnn.sample_rows(self.logits, tokens, **given)
        gpu.copy(tokens, self._tokens)
        if shape.logprobs:
            gpu.copy(given["logprobs"], self._logprobs)

    def _room(self, name: str, extents: tuple[int, ...], dtype: str) -> Any:
        """Layers use the same memory one after the other."""
        if name not in self._rooms:
            self._rooms[name] = self._gpu.empty(extents, dtype)
        return self._rooms[name]

    def run(self, chunks: list[Chunk], step: Any) -> list[Taken]:
        """Waits. The step's rows are written, but it is not committed."""
        jobs = [one.job for one in chunks]
        self.numbers[0] = [one.ids[0] for one in chunks]
        self.numbers[1] = [one.done for one in jobs]
        step.write(self.numbers[2], self.numbers[3], self._table)
        heads = len(self._heads)
        np.add(self.numbers[2][:, None] * heads, self._heads, out=self._places_of_heads)
        drawing = [one.sampling for one in jobs]
        self.reals[0] = [one.temperature for one in drawing]
        if not self.shape.greedy:
            self.reals[1] = [one.top_p for one in drawing]
            self.reals[2] = [one.min_p for one in drawing]
            self.seeds[:] = [one.seed for one in drawing]
            self.numbers[4] = [one.top_k for one in drawing]
            self.places[:] = self.numbers[1] + 1
        # The bytes of each run are the same, so the quarantine would refuse it for what was in one.
        self._gpu.run(self.graph, quarantine=False).result()
        likeliest = likeliest_of(self.logits, jobs) if self.shape.logprobs else {}
        return taken(*self.drawn, likeliest)


class _RecordedRows:
    """Keys and values of a recorded step: their rows are numbers on the device."""

    def __init__(
        self, cache: Any, graph: Any, gpu: Any, rows: Any, ones: Any, lengths: Any, pages: Any
    ) -> None:
        self._cache, self._graph, self._gpu = cache, graph, gpu
        self._rows, self._ones, self._lengths, self._pages = rows, ones, lengths, pages
        self._known: dict[int, Any] = {}

    def append(self, layer: int, k: Any, v: Any) -> None:
        for new, pages in ((k, self._cache.keys(layer)), (v, self._cache.values(layer))):
            table = pages.permute(0, 2, 1, 3).reshape(-1, new.shape[2])
            put = self._gpu.elementwise.scatter_rows(new, self._rows, table)
            # The step overwrites only rows that no sequence has. The engine waits for it before it
            # sends what reads the cache besides, so the graph need not name them, and runs again
            # after a loss.
            self._graph.writes_only(put, "table", [])

    def _offsets(self, of: Any) -> Any:
        """Where each sequence begins."""
        if (step := of.strides[0]) not in self._known:
            made = self._known[step] = self._gpu.empty(of.shape[0] + 1, "i64")
            here = self._gpu.host_empty(made.shape, "i64")
            here.in_place()[:] = np.arange(of.shape[0] + 1) * step
            self._gpu.copy(here, made)
        return self._known[step]

    def attend(self, layer: int, q: Any, **kwargs: Any) -> Any:
        n, heads, _ = q.shape
        values = self._cache.values(layer)
        o = kwargs.pop("o", None)
        if o is None:
            o = self._gpu.empty((n, heads, values.shape[3]), q.dtype)
        self._gpu.dnn.attention_forward(
            q=q,
            k=self._cache.keys(layer),
            v=values,
            o=o,
            packed_offsets_q=self._offsets(q),
            packed_offsets_o=self._offsets(o),
            packed_longest_q=1,
            mask_diagonal="bottom_right",
            mask_right=0,
            mask_lengths_q=self._ones,
            mask_lengths_kv=self._lengths,
            pages_k=self._pages,
            pages_v=self._pages,
            all_attend=True,
            **kwargs,
        )
        return o
