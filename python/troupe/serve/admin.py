"""What an operator changes while a service runs: a socket of its user's, never the network.

A line of JSON is a command, `{"do": "swap", "what": "minilm=./minilm-v2"}`; a line is the answer.
`python -m troupe.serve.ctl` writes such lines.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pathlib
import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from .errors import Problem
from .service import Moving, Service
from .sources import Checkpoint, parse

_MOST = 1 << 20  # bytes of a command


def _checkpoint(what: str) -> Checkpoint:
    checkpoints, files = parse([what])
    if files:
        raise ValueError("a file of models needs workers that have imported it: start anew")
    return checkpoints[0]


def _moving(more: dict[str, Any]) -> Moving:
    """What a swap was told beside its model."""
    how = Moving(**{name: more[name] for name in Moving._fields if more.get(name) is not None})
    numbers = (how.least, how.share, how.over)
    if not all(type(one) in (int, float) and one >= 0 for one in numbers) or how.share > 1:
        raise ValueError("least and over are numbers, share is one from 0 to 1")
    if not isinstance(how.canaries, (list, tuple)) or not all(map(str.strip, how.canaries)):
        raise ValueError("canaries are texts")
    return how


async def _models(service: Service, _: str) -> Any:
    return {
        name: {"version": one.version, "about": one.described(), **one.statistics()}
        for name, one in service.models.items()
    }


async def _load(service: Service, what: str) -> Any:
    await service.load(_checkpoint(what))


async def _unload(service: Service, what: str) -> Any:
    await service.unload(what)


async def _swap(service: Service, what: str, **more: Any) -> Any:
    return {"version": await service.swap(_checkpoint(what), _moving(more))}


async def _quarantine(service: Service, _: str) -> Any:
    return {name: one.quarantined() for name, one in service.models.items()}


async def _forgive(service: Service, what: str) -> Any:
    chosen = [service.model(what)] if what else list(service.models.values())
    service.device.forgive_all()
    return {"forgiven": sum(one.forgive() for one in chosen)}


async def _renew(service: Service, _: str) -> Any:
    await service.device.renew(fresh=True)
    return {"generation": service.device.generation}


async def _drain(service: Service, _: str) -> Any:
    os.kill(os.getpid(), signal.SIGTERM)


COMMANDS: dict[str, Callable[..., Awaitable[Any]]] = {
    "models": _models,
    "load": _load,
    "unload": _unload,
    "swap": _swap,
    "quarantine": _quarantine,
    "forgive": _forgive,
    "renew": _renew,
    "drain": _drain,
}


async def _answer(service: Service, line: bytes) -> dict[str, Any]:
    try:
        asked = json.loads(line)
        command = COMMANDS.get(asked["do"])
        if command is None:
            raise ValueError(f"no such command; there are {', '.join(COMMANDS)}")
        more = {name: one for name, one in asked.items() if name in Moving._fields and one}
        return {"ok": await command(service, str(asked.get("what") or ""), **more)}
    except Problem as why:
        return {"error": why.detail}
    except Exception as why:  # the old state goes on, and the operator may see all of it
        return {"error": str(why) or type(why).__name__}


@contextlib.asynccontextmanager
async def listening(service: Service, path: pathlib.Path) -> AsyncIterator[None]:
    """Answers commands until the end of the block."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            line = await reader.readline()
            if line:
                writer.write(json.dumps(await _answer(service, line)).encode() + b"\n")
                await writer.drain()
        except (ValueError, OSError):
            pass  # a line without end, or its reader has gone
        finally:
            writer.close()

    path.unlink(missing_ok=True)
    before = os.umask(0o177)
    try:
        server = await asyncio.start_unix_server(serve, path, limit=_MOST)
    finally:
        os.umask(before)
    try:
        yield
    finally:
        server.close()
        path.unlink(missing_ok=True)
