"""What is served: the device, the models on it, and whether it begins, works or ends."""

from __future__ import annotations

import asyncio
import pathlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import troupe
from troupe.serving import canaries

from . import own
from .errors import Problem
from .gate import LOCAL, Keys
from .served import Served, Terms

if TYPE_CHECKING:
    from fastapi import Request

    from .embedder import Embedder
    from .sources import Checkpoint
    from .texts.generator import Generator


class Moving(NamedTuple):
    """How requests move to the next version of a model: with canaries, both versions answer these
    texts before, as alike as `least`; with `over`, so many seconds from a share of them to all."""

    canaries: Sequence[str] = ()
    least: float = 0.99
    share: float = 0.0
    over: float = 0.0


@dataclass
class _Coming:
    model: Served
    share: float
    owed: float = 0.0


class Service:
    """Models on one device. `begin` loads them, `end` lets their queues run empty."""

    def __init__(
        self,
        checkpoints: list[Checkpoint],
        files: list[pathlib.Path],
        *,
        host: str = "127.0.0.1",
        keys: Keys | None = None,
        dtype: str = "f32",
        deadline: float | None = 30.0,
        drain: float = 30.0,
        poison: str | None = None,
        cache_bytes: int = 512 << 20,
        **device: Any,
    ) -> None:
        """cache_bytes: of keys and values, for each model that generates."""
        self.checkpoints, self.keys, self.dtype = checkpoints, keys, dtype
        self.deadline, self.drain, self.poison = deadline, drain, poison
        self.cache_bytes = cache_bytes
        self.local = host.encode() in LOCAL or host == "::1"
        self.began = int(time.time())
        self.state: Literal["loading", "ready", "draining", "failed"] = "loading"
        self.running = 0
        self.shares = keys.shares if keys is not None else {}
        self._changes = asyncio.Lock()
        self._coming: dict[str, _Coming] = {}
        self.models: dict[str, Served] = {}
        self.own = own.read(files)
        names = [one.name for one in checkpoints] + [one.what.name for one in self.own]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"{name}: two models have this name")
        self.system = troupe.System()
        if files:
            device["operations"] = [str(one) for one in files]
        self.device = self.system.device(fault_injection=poison is not None, **device)
        self.telemetry = self.system.telemetry()

    @property
    def draining(self) -> bool:
        return self.state == "draining"

    async def begin(self) -> None:
        """Loads all models; raises the first failure."""
        try:
            for one in await asyncio.to_thread(self._load):
                one.start(self.deadline, self.shares)
                self.models[one.name] = one
        except BaseException:
            self.state = "failed"
            raise
        self.state = "ready"

    def _load(self) -> list[Any]:
        self.device.wait_until_ready()
        made: list[Any] = []
        made += map(self._model, self.checkpoints)
        return made + [own.made(self.device, one) for one in self.own]

    def _model(self, source: Checkpoint) -> Served:
        if source.generates:
            from .texts.generator import Generator

            return Generator(
                source.name,
                self.device,
                source.folder,
                self.dtype,
                self.poison,
                cache_bytes=self.cache_bytes,
            )
        from .embedder import Embedder

        return Embedder(source.name, self.device, source.folder, self.dtype, self.poison)

    async def end(self) -> None:
        """New requests are refused at once; those that are there end, or fail when drain is over."""
        self.state = "draining"
        last = time.monotonic() + self.drain
        while self.running and time.monotonic() < last:
            await asyncio.sleep(0.02)
        left = max(0.0, last - time.monotonic())
        await asyncio.gather(*(one.end(left) for one in self.models.values()))

    async def load(self, source: Checkpoint) -> None:
        """Serves one more checkpoint."""
        async with self._changes:
            if source.name in self.models:
                raise ValueError(f"{source.name} is served already: swap it")
            new = await asyncio.to_thread(self._model, source)
            new.start(self.deadline, self.shares)
            self.models[source.name] = new

    async def swap(self, source: Checkpoint, how: Moving) -> str:
        """Serves another checkpoint under a name. If anything fails, the old one has never stopped.

        Its version. Requests that have begun with the old one end with it.
        """
        async with self._changes:
            old = self.model(source.name)
            new = await asyncio.to_thread(self._model, source)
            if (new.inputs, new.outputs) != (old.inputs, old.outputs):
                raise ValueError(f"{source.name}: it takes or gives other tensors than the old one")
            new.version = str(int(old.version) + 1)
            new.start(self.deadline, self.shares)
            try:
                if how.canaries:
                    await _compare(old, new, how)
                await self._shift(source.name, new, how)
            except BaseException:
                await new.end(self.drain)
                raise
            self.models[source.name] = new
            await old.end(self.drain)
            return new.version

    async def _shift(self, name: str, new: Served, how: Moving) -> None:
        """Gives the next version a growing share of the requests; to all of them it comes after."""
        if how.over <= 0:
            return
        begin = time.monotonic()
        coming = self._coming[name] = _Coming(new, how.share)
        try:
            while (passed := (time.monotonic() - begin) / how.over) < 1 and not self.draining:
                coming.share = how.share + (1 - how.share) * passed
                await asyncio.sleep(min(0.05, how.over / 20))
        finally:
            del self._coming[name]

    async def unload(self, name: str) -> None:
        """Serves a model no more, and lets go of its weights."""
        async with self._changes:
            old = self.model(name)
            del self.models[name]
            await old.end(self.drain)

    def close(self) -> None:
        """Ends the worker and telemetry."""
        self.system.close()

    def model(self, name: str, version: str = "") -> Served:
        """The model of that version; without one, the version that a request gets now."""
        if self.state == "loading":
            raise Problem(503, "models are being loaded", kind="server_error", retry_after=1)
        if name not in self.models:
            raise Problem(404, f"there is no model {name[:64]!r}", param="model")
        coming = self._coming.get(name)
        if coming is not None and version in ("", coming.model.version):
            if version:
                return coming.model
            coming.owed += coming.share  # so that any run of requests is split evenly
            if coming.owed >= 1:
                coming.owed -= 1
                return coming.model
        if version not in ("", self.models[name].version):
            raise Problem(404, f"{name} has no version {version[:20]!r}", param="version")
        return self.models[name]

    def embedder(self, name: str | None = None) -> Embedder:
        """A model of texts; without a name the first one."""
        from .embedder import Embedder

        if name is None:
            if self.state == "loading":
                self.model("")
            found = [one for one in self.models.values() if isinstance(one, Embedder)]
            if not found:
                raise Problem(404, "no model gives vectors of texts")
            name = found[0].name
        model = self.model(name)
        if not isinstance(model, Embedder):
            raise Problem(400, f"{name} gives no vectors of texts", param="model")
        return model

    def generator(self, name: str) -> Generator:
        """A model that goes on with texts."""
        from .texts.generator import Generator

        model = self.model(name)
        if not isinstance(model, Generator):
            raise Problem(400, f"{name} gives no texts", param="model")
        return model

    def asked_by(self, path: str) -> Served | None:
        """The model that a POST to this path asks, if the path alone says so."""
        if path.startswith("/models/"):
            return self.models.get(path.removeprefix("/models/"))
        if path in ("/v1/embeddings", "/embed") and len(self.models) == len(self.own) + 1:
            return next(iter(self.models.values()))
        return None

    def terms(self, request: Request, priority: Any = None, timeout: Any = None) -> Terms:
        """priority and timeout are those of the KServe protocol: 0 is the default, microseconds."""
        header = request.headers.get("x-troupe-deadline-ms")
        deadline = None
        if timeout:
            deadline = _number(timeout, "parameters.timeout", 2**53) / 1e6
        elif header is not None:
            digits = header.isascii() and header.isdigit() and len(header) < 10
            deadline = _number(int(header) if digits else -1, "x-troupe-deadline-ms", 10**9) / 1e3
        urgency = _number(priority, "parameters.priority", 255) if priority else 1
        return Terms(request.state.tenant, urgency, deadline)


def _number(value: Any, param: str, most: int) -> int:
    if type(value) is not int or not 1 <= value <= most:
        raise Problem(400, f"it must be a number from 1 to {most}", param=param)
    return value


async def _compare(old: Served, new: Served, how: Moving) -> None:
    from .embedder import Embedder

    if not isinstance(old, Embedder) or not isinstance(new, Embedder):
        raise ValueError(f"{new.name}: canaries compare vectors of texts, and it gives none")
    await canaries(how.canaries, least=how.least)(old.vector, new.vector)
