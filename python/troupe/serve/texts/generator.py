"""Answers of a model of texts: its tokenizer, its engine, and what requests ask of them."""

from __future__ import annotations

import asyncio
import hashlib
import pathlib
import secrets
import time
from typing import Any, NamedTuple

import numpy as np

import troupe

from ...generation.answers import Answer, Hub
from ...generation.chat import BadTemplate, Template
from ...generation.checkpoint import load
from ...generation.drafts import PromptLookup
from ...generation.engine import Engine
from ...generation.jobs import Job, Sampling
from ...generation.plan import Limits
from ..errors import Problem, problem_of
from ..models.llama import Llama
from ..served import Port, Sequenced, Served, Terms

_LONGEST = 3600.0  # seconds of a stream
_QUARANTINE = 60.0

# Texts of so many letters are split into tokens in a thread, so that the event loop goes on.
_LONG = 16 << 10


class Wish(NamedTuple):
    """What a request asks for, checked."""

    most: int | None = None
    sampling: Sampling = Sampling()
    stops: tuple[str, ...] = ()
    choices: int = 1
    logprobs: int | None = None


class Poison:
    """A rehearsal: a step with this text in a prompt ends the worker."""

    def __init__(self, model: Llama, pieces: list[bytes], text: str) -> None:
        self._model, self._pieces, self._text = model, pieces, text.encode()
        self.sizes, self.gpu, self.cache = model.sizes, model.gpu, model.cache

    def forward(self, step: Any) -> Any:
        if self._text in b"".join(self._pieces[one] for one in step.ids):
            self.gpu.fault.inject(what="segmentation_fault", quarantine=False).result()
        return self._model.forward(step)


class Generator(Served):
    """A checkpoint of the Llama family: a .gguf file, or a folder."""

    inputs: list[Port] = []
    outputs: list[Port] = []

    def __init__(
        self,
        name: str,
        gpu: troupe.Device,
        source: pathlib.Path,
        dtype: str = "f32",
        poison: str | None = None,
        *,
        cache_bytes: int = 512 << 20,
        limits: Limits = Limits(),  # noqa: B008 # a tuple
        speculate: bool = True,
    ) -> None:
        super().__init__(name)
        self.gpu, self.dtype, self.limits = gpu, dtype, limits
        checkpoint = load(source)
        self.tokenizer, self.sizes = checkpoint.tokenizer, checkpoint.sizes
        self.template = Template(self.tokenizer, checkpoint.template)
        self.model: Any = Llama(gpu, checkpoint, dtype)
        self.cached = max(64, cache_bytes // self.model.bytes_of_token())
        self.speculate = speculate
        if poison is not None:
            self.model = Poison(self.model, self.tokenizer.pieces, poison)
        self._culprits: dict[bytes, tuple[float, float]] = {}  # until when, and how long next
        self._secret = secrets.token_bytes(16)
        self._warm_up()

    def _warm_up(self) -> None:
        """Raises ValueError if the weights give no numbers."""
        from ...generation.step import Step

        ids = np.array(self.tokenizer.encode("warm up"), np.int32)
        n = len(ids)
        cache = self.model.cache(-(-n // 16))
        with cache.step([cache.begin()], [n]) as step:
            rows = np.array([n - 1], np.int32)
            y = self.model.forward(Step(ids, np.arange(n, dtype=np.int32), rows, step)).numpy()
        if not np.isfinite(y).all():
            raise ValueError(f"{self.name}: the weights give numbers that are not finite")

    def start(self, deadline: float | None, shares: dict[str, float]) -> None:
        self.hub = Hub(asyncio.get_running_loop())
        self.engine = Engine(
            self.model,
            tokens=self.cached,
            limits=self.limits,
            drafts=PromptLookup() if self.speculate else None,
            shares=shares,
            after_step=self.hub.after_step,
            name=self.name,
        )

    def described(self) -> str:
        s = self.sizes
        return (
            f"{s.layers} layers of {s.width}, {s.vocabulary} tokens, context {s.context}, "
            f"{self.dtype}; keys and values of {self.cached} tokens"
        )

    async def end(self, drain: float) -> None:
        last = time.monotonic() + drain
        while self.users and time.monotonic() < last:
            await asyncio.sleep(0.005)
        await asyncio.to_thread(self.engine.close, max(0.0, last - time.monotonic()))

    async def infer(
        self, tensors: dict[str, Any], terms: Terms, sequence: Sequenced | None = None
    ) -> dict[str, Any]:
        raise Problem(400, f"{self.name} is asked by /generate, or /v1/chat/completions")

    def check(self, terms: Terms) -> None:
        """Raises if a request would be refused, whatever it asks."""

    def statistics(self) -> dict[str, Any]:
        engine = self.engine
        counts, planner = engine.counts, engine.planner
        pages = planner.pages
        return {
            "requests_total": dict(engine.outcomes),
            "time_to_first_token_seconds": engine.first_token.read(),
            "time_per_output_token_seconds": engine.next_token.read(),
            "prompt_tokens_total": counts["prompt_tokens"],
            "generation_tokens_total": counts["generated"],
            "steps_total": counts["steps"],
            "failed_steps_total": counts["failed_steps"],
            "culprits_total": counts["culprits"],
            "running_sequences": engine.running,
            "waiting_sequences": engine.waiting,
            "preemptions_total": planner.preemptions,
            "kv_pages_used": pages - planner.cache.free_pages,
            "kv_pages_total": pages,
            "prefix_queries_total": planner.prefix.queries,
            "prefix_hits_total": planner.prefix.hits,
            "spec_drafted_total": counts["drafted"],
            "spec_accepted_total": counts["accepted"],
        }

    def quarantined(self) -> Any:
        now = time.monotonic()
        return [{"seconds": until - now} for until, _ in self._culprits.values() if until > now]

    def forgive(self) -> int:
        count = len(self._culprits)
        self._culprits.clear()
        return count

    async def ids_of(self, text: str, what: str) -> list[int]:
        """Tokens of a text, with the one that begins every text."""
        try:
            if len(text) < _LONG:
                ids = self.tokenizer.encode(text)
            else:
                ids = await asyncio.to_thread(self.tokenizer.encode, text)
        except ValueError as why:
            raise Problem(400, str(why), param=what) from None
        return self.checked(self.tokenizer.begins + ids, what)

    async def ids_of_chat(self, messages: list[dict[str, str]]) -> list[int]:
        try:
            ids = await asyncio.to_thread(self.template.encode, messages)
        except (BadTemplate, ValueError) as why:
            raise Problem(400, str(why), param="messages") from None
        return self.checked(ids, "messages")

    def checked(self, ids: list[int], what: str) -> list[int]:
        """Refuses what has no answer within the model's context."""
        if not ids:
            raise Problem(400, "it is empty", param=what)
        most = min(self.sizes.context, self.engine.capacity) - 1
        if len(ids) > most:
            text = f"it has {len(ids)} tokens; the model takes {most}"
            raise Problem(413, text, param=what)
        known = self.sizes.vocabulary
        if any(type(one) is not int or not 0 <= one < known for one in ids):
            raise Problem(400, f"tokens are integers from 0 to {known - 1}", param=what)
        return ids

    def ask(self, prompts: list[list[int]], wish: Wish, terms: Terms) -> Answer:
        """An answer with `choices` texts for each prompt, those of a prompt side by side."""
        answer = Answer(self.engine, self.hub, self.tokenizer)
        for prompt in prompts:
            self._refuse_culprit(prompt)
            leader: Job | None = None
            for i in range(wish.choices):
                room = self.sizes.context - len(prompt)
                job = Job(
                    prompt,
                    answer.choice(wish.stops),
                    limit=room if wish.most is None else min(room, wish.most),
                    sampling=wish.sampling._replace(seed=(wish.sampling.seed + i) % 2**64),
                    ends=self.tokenizer.ends,
                    logprobs=wish.logprobs,
                    tenant=terms.tenant,
                    priority=terms.priority,
                    deadline=terms.deadline or _LONGEST,
                    after=leader,
                )
                leader = leader or job
                answer.jobs.append(job)
        try:
            self.engine.submit(*answer.jobs)
        except troupe.Failure as why:
            raise problem_of(why, "prompt") from None
        return answer

    def failed(self, answer: Answer, choice: int, why: Exception) -> Problem:
        """The answer of HTTP to a choice that has failed; its prompt may be refused for a while."""
        if isinstance(why, troupe.DeviceFault):
            job = answer.jobs[choice]
            key = self._key(job.tokens[: job.prompt])
            now = time.monotonic()
            _, seconds = self._culprits.get(key, (0.0, _QUARANTINE))
            self._culprits = {k: one for k, one in self._culprits.items() if one[0] + 600 > now}
            self._culprits[key] = (now + seconds, 2 * seconds)
        return problem_of(why)

    def _refuse_culprit(self, prompt: list[int]) -> None:
        until, _ = self._culprits.get(self._key(prompt), (0.0, 0.0))
        left = until - time.monotonic()
        if left > 0:
            why = troupe.Poisonous("a prompt like it ended a worker")
            why.retry_after = left  # type: ignore[attr-defined]
            raise problem_of(why)

    def _key(self, prompt: list[int]) -> bytes:
        data = np.asarray(prompt, np.int32).tobytes()
        return hashlib.blake2b(data, key=self._secret, digest_size=16).digest()
