"""Tokens drawn from logits."""

from __future__ import annotations

from typing import Any

import numpy as np

import troupe

from ..serving.sending import sent_to
from .jobs import Job, Taken
from .step import Chunk


class Sampler:
    """Draws on the device; only tokens come back, and logits of those that want alternatives."""

    def __init__(self, gpu: troupe.Device) -> None:
        self._gpu = gpu

    def __call__(self, logits: Any, chunks: list[Chunk]) -> list[Taken]:
        """One for each row. Waits."""
        if logits is None:
            return []
        jobs = [one.job for one in chunks for _ in range(one.rows)]
        wanted = {"logprobs"} if any(one.logprobs is not None for one in jobs) else set()
        tokens = np.empty(len(jobs), np.int32)
        logprobs = np.zeros(len(jobs), np.float32)
        out: dict[str, Any] = {one: self._gpu.empty(len(jobs), "f32") for one in wanted}
        drawn = self._gpu.dnn.sample_rows(logits, **out, **self._parameters(chunks))
        coming = [self._gpu.copy(drawn[0] if wanted else drawn, tokens)]
        coming += [self._gpu.copy(one, logprobs) for one in out.values()]
        likeliest = likeliest_of(logits, jobs)
        for one in coming:
            one.result()
        return taken(tokens, logprobs, likeliest)

    def _parameters(self, chunks: list[Chunk]) -> dict[str, Any]:
        """Those of all rows; what no row changes is left out."""
        rows = [
            (one.job.sampling, one.job.done + len(one.ids) - one.rows + 1 + i)
            for one in chunks
            for i in range(one.rows)
        ]
        reals = np.array([(s.temperature, s.top_p, s.min_p) for s, _ in rows], np.float32).T
        sent = sent_to(self._gpu, np.ascontiguousarray(reals))
        made: dict[str, Any] = {"temperature": sent[0]}
        if all(s.greedy for s, _ in rows):
            return made
        made |= {"top_p": sent[1], "min_p": sent[2]}
        if any(s.top_k for s, _ in rows):
            made["top_k"] = sent_to(self._gpu, np.array([s.top_k for s, _ in rows], np.int32))
        made["seeds"] = sent_to(self._gpu, np.array([s.seed for s, _ in rows], np.uint64))
        made["positions"] = sent_to(self._gpu, np.array([at for _, at in rows], np.int64))
        return made


def likeliest_of(logits: Any, jobs: list[Job]) -> dict[int, list[tuple[int, float]]]:
    """Of the rows whose jobs want them."""
    return {
        i: _likeliest(logits[i].numpy(), one.logprobs) for i, one in enumerate(jobs) if one.logprobs
    }


def taken(tokens: Any, logprobs: Any, likeliest: dict[int, list[tuple[int, float]]]) -> list[Taken]:
    return [
        Taken(token, logprob, likeliest.get(i, []))
        for i, (token, logprob) in enumerate(zip(tokens.tolist(), logprobs.tolist(), strict=True))
    ]


def _likeliest(logits: Any, count: int) -> list[tuple[int, float]]:
    """The first `count` tokens and the logarithms of their probabilities, the likeliest first."""
    values = logits.astype(np.float64)
    values -= values.max()
    values -= np.log(np.exp(values).sum())
    first = np.argpartition(-values, min(count, len(values) - 1))[:count]
    return [(int(one), float(values[one])) for one in first[np.argsort(-values[first])]]
