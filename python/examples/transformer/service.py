"""A transformer for 64 clients, while its worker is killed, poisoned and hung. Needs PyTorch."""

# pyright: basic, reportMissingImports=false
import asyncio
import os
import pathlib
import signal
import time
from typing import Any

import model
import numpy as np
import troupe


async def serve(gpu: Any, waiting: asyncio.Queue[Any]) -> None:
    while True:  # as many at once as have come while the model was busy
        batch = [await waiting.get()]
        while len(batch) < model.BATCH and not waiting.empty():
            batch.append(waiting.get_nowait())
        tokens = np.zeros((model.BATCH, model.LENGTH), np.int64)
        tokens[: len(batch)] = [prompt for prompt, _ in batch]
        x = gpu.empty(tokens.shape, "i64")
        gpu.copy(tokens, x)
        y = await gpu.lm.next_word(x=x, weights="lm")
        rows = await gpu.copy(y, np.empty(y.shape, np.float32))
        for (_, answer), row in zip(batch, rows, strict=False):
            answer.set_result(row)


async def break_it(gpu: Any, how: str) -> None:
    if how == "killed":
        return os.kill(gpu.worker_pid, signal.SIGKILL)
    x = gpu.zeros((model.BATCH, model.LENGTH), "i64")
    try:
        await gpu.lm.goes_wrong(x=x, how=how, run_limit=0.2)
    except troupe.Failure as why:
        print(f"{how}: {why.message.splitlines()[0]}")


async def main(gpu: Any) -> None:
    troupe.torch.load(gpu, "lm", model.make())
    over, waiting, waits = asyncio.Event(), asyncio.Queue[Any](), list[float]()

    async def ask(prompt: Any) -> Any:
        waiting.put_nowait((prompt, answer := asyncio.get_running_loop().create_future()))
        return await answer

    async def client(prompt: Any) -> None:
        expected = await ask(prompt)
        while not over.is_set() or len(waits) < 64:
            begin = time.perf_counter()
            assert np.array_equal(await ask(prompt), expected)  # to the bit
            waits.append(time.perf_counter() - begin)

    async with asyncio.TaskGroup() as tasks:
        serving = tasks.create_task(serve(gpu, waiting))
        prompts = np.random.default_rng(1).integers(0, model.WORDS, (64, model.LENGTH))
        clients = [tasks.create_task(client(one)) for one in prompts]
        for how in ("killed", "poisoned", "hung") * 2:
            await asyncio.sleep(1.0)
            await gpu.ready()  # a worker that is being replaced cannot be killed
            await break_it(gpu, how)
        over.set()
        await asyncio.wait(clients)
        serving.cancel()
    print(f"{len(waits)} answers, 0 wrong, 0 lost; the longest wait {max(waits):.3f} s")


if __name__ == "__main__":
    with troupe.System() as system:
        operations = pathlib.Path(__file__).with_name("model.py")
        asyncio.run(main(system.device(0, operations=[operations])))
