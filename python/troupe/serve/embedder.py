"""Vectors of texts: a tokenizer, the model, and the queue between them."""

from __future__ import annotations

import asyncio
import json
import pathlib
import time
from typing import Any

import numpy as np
from tokenizers import Tokenizer

import troupe
from troupe.serving import Batcher

from .errors import Problem, root_cause
from .models.bert import Bert
from .served import MOST_WAIT, Port, Sequenced, Served, Terms

_MOST_COST = 16_384  # tokens of a batch

# Texts of so many bytes are split into tokens in a thread, so that the event loop goes on.
_LONG = 16 << 10


class Embedder(Served):
    """A checkpoint in a folder: config.json, model.safetensors, tokenizer.json."""

    def __init__(
        self,
        name: str,
        gpu: troupe.Device,
        folder: pathlib.Path,
        dtype: str = "f32",
        poison: str | None = None,
    ) -> None:
        super().__init__(name)
        self.gpu = gpu
        self.model = Bert(gpu, folder, dtype)
        self.width = self.model.sizes.width
        self.dtype = dtype
        self.most_tokens = _most_tokens(folder, self.model.sizes.positions)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        # The file says otherwise: it pads every text to 128 tokens, and cuts there.
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.inputs = [Port("text", "BYTES", (-1,))]
        self.outputs = [Port("embedding", "FP32", (-1, self.width))]
        # A rehearsal: texts that begin with these tokens end the worker.
        self.poison: bytes | None = None
        if poison is not None:
            self.poison = bytes(np.array(self.tokenizer.encode(poison).ids[:-1], np.int32))
        self._warm_up()

    def _warm_up(self) -> None:
        """Raises ValueError if the weights give no numbers."""
        ids = self.tokenizer.encode("warm up").ids
        for count in (1, 32):
            begin = time.perf_counter()
            y = self.model.encode([ids] * count).numpy()
            self.first_guess = (count * len(ids), time.perf_counter() - begin)
        if not np.isfinite(y).all():
            raise ValueError(f"{self.name}: the weights give numbers that are not finite")

    def start(self, deadline: float | None, shares: dict[str, float]) -> None:
        self.batcher = Batcher(
            self._run,
            name=self.name,
            cost=_MOST_COST,
            deadline=deadline,
            queue_time=deadline or MOST_WAIT,
            weights=shares,
            finite=True,
        )
        self.batcher.learn(*self.first_guess)

    def described(self) -> str:
        cost, seconds = self.first_guess
        return (
            f"{self.width} numbers a text, {self.most_tokens} tokens at most, {self.dtype}; "
            f"{cost / seconds:.0f} tokens/s in a batch of short texts"
        )

    async def _run(self, items: Any) -> list[Any]:
        try:
            if self.poison and any(bytes(one).startswith(self.poison) for one in items):
                await self.gpu.fault.inject(what="segmentation_fault", quarantine=False)
            y = self.model.encode(items)
            rows = np.empty((len(items), self.width), np.float32)
            await self.gpu.copy(y, rows)
        except troupe.Failure as why:
            raise root_cause(why) from None
        return list(rows)

    async def ids_of(self, texts: list[str], what: str, cut: bool = False) -> list[Any]:
        """The tokens of texts; a text with more than the model takes is refused, or cut."""
        if sum(map(len, texts)) < _LONG:
            made = self.tokenizer.encode_batch_fast(texts)
        else:
            made = await asyncio.to_thread(self.tokenizer.encode_batch_fast, texts)
        ids = [np.array(one.ids, np.int32) for one in made]
        if cut:
            return [_cut(one, self.most_tokens) for one in ids]
        for i, one in enumerate(ids):
            self._check_length(len(one), f"{what}[{i}]" if len(ids) > 1 else what)
        return ids

    def checked(self, ids: list[int], what: str) -> Any:
        """Tokens that a client has sent."""
        if not ids:
            raise Problem(400, "it is empty", param=what)
        self._check_length(len(ids), what)
        for one in ids:
            if type(one) is not int or not 0 <= one < self.model.sizes.vocabulary:
                most = self.model.sizes.vocabulary - 1
                raise Problem(400, f"tokens are integers from 0 to {most}", param=what)
        return np.array(ids, np.int32)

    def _check_length(self, count: int, what: str) -> None:
        if count > self.most_tokens:
            text = f"it has {count} tokens; the model takes {self.most_tokens}"
            raise Problem(413, text, param=what)

    async def vectors(self, ids: list[Any], terms: Terms, what: str) -> Any:
        """[texts, width], each of length 1."""
        return np.stack(await self.answers(ids, [len(one) for one in ids], terms, what))

    async def vector(self, text: str) -> Any:
        """Of one text, for the service itself."""
        ids = await self.ids_of([text], "text")
        return (await self.vectors(ids, Terms(), "text"))[0]

    async def infer(
        self, tensors: dict[str, Any], terms: Terms, sequence: Sequenced | None = None
    ) -> dict[str, Any]:
        try:
            texts = [one.decode() for one in tensors["text"].reshape(-1)]
        except UnicodeDecodeError:
            raise Problem(400, "it is no UTF-8", param="text") from None
        ids = await self.ids_of(texts, "text")
        return {"embedding": await self.vectors(ids, terms, "text")}


def _most_tokens(folder: pathlib.Path, positions: int) -> int:
    """What sentence-transformers would take, if the checkpoint says so."""
    file = folder / "sentence_bert_config.json"
    if not file.exists():
        return positions
    return min(positions, int(json.loads(file.read_text())["max_seq_length"]))


def _cut(ids: Any, most: int) -> Any:
    """The first tokens, and the one that ends every text."""
    return ids if len(ids) <= most else np.append(ids[: most - 1], ids[-1])
