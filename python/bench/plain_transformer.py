"""The server of examples/transformer as a process of PyTorch alone: what one bad request costs there.

Needs PyTorch. All that is in flight is lost. The program starts the process again, and its clients
ask again.
"""

import asyncio
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "examples/transformer"))
import model  # noqa: E402


async def serve(place: str, weights: str) -> None:
    on = "cuda" if torch.cuda.is_available() else "cpu"
    lm = model.make().to(on)
    lm.load_state_dict(torch.load(weights, map_location=on, weights_only=True))
    waiting: asyncio.Queue[Any] = asyncio.Queue()

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while prompt := await reader.read(8 * model.LENGTH):
            answer = asyncio.get_running_loop().create_future()
            waiting.put_nowait((np.frombuffer(prompt, np.int64), answer))
            writer.write((await answer).tobytes())

    await asyncio.start_unix_server(client, place)
    while True:
        batch = [await waiting.get()]
        while len(batch) < model.BATCH and not waiting.empty():
            batch.append(waiting.get_nowait())
        tokens = np.zeros((model.BATCH, model.LENGTH), np.int64)
        tokens[: len(batch)] = [prompt for prompt, _ in batch]
        with torch.inference_mode():
            rows = lm(torch.from_numpy(tokens).to(on))[:, -1].cpu().numpy()
        for (_, answer), row in zip(batch, rows, strict=False):
            answer.set_result(row)
        await asyncio.sleep(0)


class Client:
    def __init__(self, place: str) -> None:
        self.place = place
        self.lost = 0
        self.connection: Any = None

    async def ask(self, prompt: Any) -> bytes:
        while True:
            try:
                if self.connection is None:
                    self.connection = await asyncio.open_unix_connection(self.place)
            except OSError:
                await asyncio.sleep(0.01)
                continue
            reader, writer = self.connection
            try:
                writer.write(prompt.tobytes())
                return bytes(await reader.readexactly(4 * model.WORDS))
            except (OSError, asyncio.IncompleteReadError):
                self.connection = None
                self.lost += 1


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        place, weights = os.path.join(folder, "socket"), os.path.join(folder, "weights.pt")
        torch.save(model.make().state_dict(), weights)
        prompts = np.random.default_rng(1).integers(0, model.WORDS, (64, model.LENGTH))
        waits: list[float] = []
        wrong, over = 0, asyncio.Event()

        async def supervise() -> None:
            while True:
                server = await asyncio.create_subprocess_exec(
                    sys.executable, __file__, place, weights, stderr=asyncio.subprocess.DEVNULL
                )
                try:
                    await server.wait()
                finally:
                    if server.returncode is None:
                        server.kill()
                if os.path.exists(place):
                    os.unlink(place)

        async def client(prompt: Any) -> int:
            nonlocal wrong
            asks = Client(place)
            expected = await asks.ask(prompt)
            while not over.is_set():
                begin = time.perf_counter()
                wrong += await asks.ask(prompt) != expected
                waits.append(time.perf_counter() - begin)
            return asks.lost

        supervisor = asyncio.create_task(supervise())
        clients = [asyncio.create_task(client(one)) for one in prompts]
        while not waits:
            await asyncio.sleep(0.1)
        for _ in range(2):
            await asyncio.sleep(1.0)
            _, writer = await asyncio.open_unix_connection(place)
            writer.write(np.full(model.LENGTH, 1 << 30).tobytes())  # no such words
            answered = len(waits)
            await asyncio.sleep(1.0)
            while len(waits) < answered + 500:
                await asyncio.sleep(0.1)
        over.set()
        lost = sum(await asyncio.gather(*clients))
        supervisor.cancel()
        await asyncio.gather(supervisor, return_exceptions=True)
        print(
            f"{len(waits)} answers, {wrong} wrong, {lost} lost; the longest wait {max(waits):.3f} s"
        )


if __name__ == "__main__":
    asyncio.run(serve(*sys.argv[1:]) if len(sys.argv) > 2 else main())
