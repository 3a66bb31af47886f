"""What LitServe does with a batch of which one item raises, or crashes its worker.

    python litserve_poison.py exception|crash

It needs litserve (0.2.19) and httpx. 32 clients ask at once, first for 32 good items, then with one
bad one, then for good ones again. Beside it: serving.py.
"""

from __future__ import annotations

import asyncio
import collections
import ctypes
import os
import signal
import subprocess
import sys
import time
from typing import Any

import httpx
import litserve

PORT = 8765


class Doubles(litserve.LitAPI):
    def setup(self, device: Any) -> None:
        pass

    def decode_request(self, request):  # LitServe looks at its annotations
        return request["x"]

    def predict(self, x: Any) -> Any:
        if 7 in x:
            if os.environ["KIND"] == "crash":
                ctypes.string_at(0)
            raise ValueError("7")
        time.sleep(0.001)
        return [2 * one for one in x]

    def encode_response(self, y: Any) -> Any:
        return {"y": y}


def serve(api: litserve.LitAPI, port: int) -> None:
    server = litserve.LitServer(api, accelerator="cpu", workers_per_device=1)
    server.run(
        port=port,
        host="127.0.0.1",
        log_level="error",
        num_api_servers=1,
        generate_client_file=False,
    )


async def ask() -> None:
    async with httpx.AsyncClient(timeout=8, limits=httpx.Limits(max_connections=64)) as client:

        async def one(x: int) -> tuple[str, float]:
            begin = time.perf_counter()
            try:
                answer = await client.post(f"http://127.0.0.1:{PORT}/predict", json={"x": x})
                return str(answer.status_code), time.perf_counter() - begin
            except httpx.HTTPError as e:
                return type(e).__name__, time.perf_counter() - begin

        while (await one(1))[0] != "200":
            await asyncio.sleep(0.1)
        for name, first in (("good", 100), ("one is bad", 0), ("good again", 100)):
            got = await asyncio.gather(*(one(first + i) for i in range(32)))
            counts = dict(collections.Counter(outcome for outcome, _ in got))
            print(
                f"{name:10} {counts}, the longest {max(t for _, t in got) * 1e3:.0f} ms", flush=True
            )


if __name__ == "__main__":
    if len(sys.argv) == 1:
        serve(Doubles(max_batch_size=32, batch_timeout=0.05), PORT)
    else:
        with subprocess.Popen(
            [sys.executable, __file__],
            env={**os.environ, "KIND": sys.argv[1]},
            start_new_session=True,
        ) as server:
            try:
                asyncio.run(ask())
            finally:
                os.killpg(server.pid, signal.SIGKILL)  # it leaves processes behind
