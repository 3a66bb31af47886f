"""A decode step of a language model as one request graph, beside its requests one by one and PyTorch.

    python graphs.py [LAYERS]

The step is that of a Llama of 12 layers, width 768, 12 heads and one sequence with a cache of 1024
tokens, in f16 on a GPU and f32 elsewhere. Without torch and a GPU only Troupe runs. Times are
medians of a step, from the call until its result is there; then those of its pieces, each for all
layers, which is a graph of its own. The last line is JSON; with
TROUPE_BENCH_JSON it goes to that file, too.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import troupe

LAYERS = int(sys.argv[1]) if len(sys.argv) > 1 else 12
WIDTH, HEADS, TOKENS, PAGE = 768, 12, 1024, 16
SIZE = WIDTH // HEADS
PIECES = ("norms", "qkv", "rows stored", "attention", "joined", "up", "silu", "down")


def median(step: Callable[[int], Any], times: int) -> float:
    """Microseconds; each step is at the next position."""
    for i in range(times // 10 + 3):
        step(i)
    taken = []
    for i in range(times):
        begun = time.perf_counter()
        step(i)
        taken.append(time.perf_counter() - begun)
    return round(statistics.median(taken) * 1e6, 1)


class Decoder:
    """The requests of a step, which `with gpu.record(...)` records and any other call sends."""

    def __init__(self, gpu: troupe.Device, dtype: str) -> None:
        rng = np.random.default_rng(1)

        def weights(*shape: int) -> Any:
            return gpu.tensor(rng.standard_normal(shape).astype("f4") / WIDTH**0.5, dtype)

        def room(*shape: int, of: str = dtype) -> Any:
            return gpu.zeros(shape, of)

        self.gpu = gpu
        self.layers = [
            {
                "qkv": weights(WIDTH, 3 * WIDTH),
                "joined": weights(WIDTH, WIDTH),
                "up": weights(WIDTH, 4 * WIDTH),
                "down": weights(4 * WIDTH, WIDTH),
                "keys": room(TOKENS, WIDTH),
                "values": room(TOKENS, WIDTH),
            }
            for _ in range(LAYERS)
        ]
        self.first, self.x, self.normed = weights(1, WIDTH), room(1, WIDTH), room(1, WIDTH)
        self.qkv, self.joined, self.inner = room(1, 3 * WIDTH), room(1, WIDTH), room(1, 4 * WIDTH)
        self.numbers = gpu.tensor(np.array([0, 1], "i4"))  # the position, and the tokens with it
        self.one = gpu.tensor(np.array([1], "i4"))
        self.table = gpu.tensor(np.arange(TOKENS // PAGE, dtype="i4").reshape(1, -1))

    def requests(self, only: str = "") -> list[tuple[Any, Any]]:
        """Gives the requests that store rows, each with its cache. `only`: one of PIECES."""
        gpu, ew, stored = self.gpu, self.gpu.elementwise, []

        def has(piece: str) -> bool:
            return only in ("", piece)

        def product(piece: str, a: Any, b: Any, c: Any, beta: float = 0) -> None:
            if has(piece):
                gpu.blas.gemm(a=a, b=b, c=c, beta=beta)

        if not only:
            gpu.memory.copy(from_=self.first, to=self.x)
        for layer in self.layers:
            if has("norms"):
                ew.rms_norm(self.x, self.normed)
            product("qkv", self.normed, layer["qkv"], self.qkv)
            q, k, v = (self.qkv[:, i * WIDTH : (i + 1) * WIDTH] for i in range(3))
            for row, cache in ((k, layer["keys"]), (v, layer["values"])):
                if has("rows stored"):
                    put = ew.scatter_rows(x=row, indices=self.numbers[:1], table=cache)
                    stored.append((put, cache))
            if has("attention"):
                self.attend(q, layer)
            product("joined", self.joined, layer["joined"], self.x, 1)
            if has("norms"):
                ew.rms_norm(self.x, self.normed)
            product("up", self.normed, layer["up"], self.inner)
            if has("silu"):
                ew.activation(self.inner, self.inner, kind="silu")
            product("down", self.inner, layer["down"], self.x, 1)
        return stored

    def attend(self, q: Any, layer: dict[str, Any]) -> None:
        keys, values = (
            layer[one].reshape(TOKENS // PAGE, PAGE, HEADS, SIZE).permute(0, 2, 1, 3)
            for one in ("keys", "values")
        )
        self.gpu.dnn.attention_forward(
            q=q.reshape(1, 1, HEADS, SIZE).permute(0, 2, 1, 3),
            k=keys,
            v=values,
            o=self.joined.reshape(1, 1, HEADS, SIZE).permute(0, 2, 1, 3),
            mask_diagonal="bottom_right",
            mask_right=0,
            mask_lengths_q=self.one,
            mask_lengths_kv=self.numbers[1:],
            pages_k=self.table,
            pages_v=self.table,
            all_attend=True,
        )

    def piece(self, name: str) -> troupe.Graph:
        with self.gpu.record(name) as graph:
            self.requests(name)
        return graph

    def recorded(self) -> troupe.Graph:
        with self.gpu.record("decode step") as graph:
            stored = self.requests()
        for i, (put, cache) in enumerate(stored):
            graph.writes_only(put, "table", [cache[0:1]])
            graph.parameter(f"row{i}", cache[0:1], within=cache)
        return graph

    def rows(self, at: int) -> dict[str, Any]:
        caches = [one[name] for one in self.layers for name in ("keys", "values")]
        return {f"row{i}": cache[at : at + 1] for i, cache in enumerate(caches)}


def of_troupe(times: int) -> dict[str, float]:
    with troupe.System() as system:
        gpu = system.device(0)
        on_gpu = gpu.hardware.architecture != ""
        decoder = Decoder(gpu, "f16" if on_gpu else "f32")

        def at(position: int) -> None:
            gpu.copy(np.array([position, position + 1], "i4"), decoder.numbers)

        def one_by_one(i: int) -> None:
            at(i % TOKENS)
            decoder.requests()
            gpu.copy(decoder.x, decoder.normed).result()

        graph = decoder.recorded()
        fixed = decoder.recorded()

        def as_graph(i: int) -> None:
            at(i % TOKENS)
            gpu.run(graph, **decoder.rows(i % TOKENS)).result()

        found = {
            "requests": float(len(graph)),
            "one by one": median(one_by_one, times),
            "graph, another row each time": median(as_graph, times),
            "graph": median(lambda _: gpu.run(fixed).result(), times),
        }
        how = fixed.info(gpu)
        shown = ("runs", "launches", "recordings", "operations", "bytes", "why")
        print({key: how[key] for key in shown})
        print([(one["requests"], one["why"]) for one in how["segments"] if one["why"]])
        for name in PIECES:
            one = decoder.piece(name)
            found[name] = median(lambda _, run=one: gpu.run(run).result(), times // 3)
            print(f"{name}: {one.info(gpu)['operations']} kernels and copies")
        return found


def replayed(work: Callable[[], Any], often: int) -> float:
    import torch

    work()  # outside of the capture, so that libraries make what they need
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()

    def replay(_: int) -> None:
        graph.replay()
        torch.cuda.synchronize()

    return median(replay, often)


def torch_pieces(
    layers: list[Any], caches: list[Any], position: Any
) -> dict[str, Callable[[], None]]:
    import torch

    functional = torch.nn.functional
    on = {"device": "cuda", "dtype": torch.float16}
    x, inner = torch.randn(1, WIDTH, **on), torch.randn(1, 4 * WIDTH, **on)
    parts = torch.randn(3, WIDTH, **on).view(3, 1, HEADS, 1, SIZE)
    everything = torch.ones(1, 1, 1, TOKENS, dtype=torch.bool, device="cuda")
    one = torch.ones(WIDTH, **on)

    def product(which: int, a: Any) -> Callable[[], None]:
        return lambda: [a @ one[which] for one in layers] and None

    def attention() -> None:
        for cache in caches:
            functional.scaled_dot_product_attention(parts[0], cache[0], cache[1], everything)

    def repeated(call: Callable[[], Any], times: int) -> Callable[[], None]:
        return lambda: [call() for _ in range(times)] and None

    return {
        "norms": repeated(lambda: functional.rms_norm(x, (WIDTH,), one), 2 * LAYERS),
        "qkv": product(0, x),
        "rows stored": lambda: [c.index_copy_(3, position, parts[1:]) for c in caches] and None,
        "attention": attention,
        "joined": product(1, x),
        "up": product(2, x),
        "silu": repeated(lambda: functional.silu(inner), LAYERS),
        "down": product(3, inner),
    }


def of_torch(times: int) -> dict[str, float]:
    import torch

    functional = torch.nn.functional
    on = {"device": "cuda", "dtype": torch.float16}

    def weights(rows: int, columns: int) -> Any:
        return torch.randn(rows, columns, **on) / WIDTH**0.5

    shapes = ((WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH))
    layers = [[weights(*one) for one in shapes] for _ in range(LAYERS)]
    caches = [torch.zeros(2, 1, HEADS, TOKENS, SIZE, **on) for _ in range(LAYERS)]
    first, position = weights(1, WIDTH), torch.zeros(1, dtype=torch.long, device="cuda")
    one = torch.ones(WIDTH, **on)
    mask = torch.arange(TOKENS, device="cuda")[None, None, None]

    def step() -> Any:
        x = first.clone()
        allowed = mask <= position
        for (qkv, joined, up, down), cache in zip(layers, caches, strict=True):
            parts = (functional.rms_norm(x, (WIDTH,), one) @ qkv).view(3, 1, HEADS, 1, SIZE)
            cache.index_copy_(3, position, parts[1:])
            o = functional.scaled_dot_product_attention(parts[0], cache[0], cache[1], allowed)
            x = x + o.reshape(1, WIDTH) @ joined
            x = x + functional.silu(functional.rms_norm(x, (WIDTH,), one) @ up) @ down
        return x

    def eager(_: int) -> None:
        step()
        torch.cuda.synchronize()

    with torch.no_grad():
        found = {"torch, eager": median(eager, times)}
        found["torch, CUDA graph"] = replayed(step, times)
        for name, work in torch_pieces(layers, caches, position).items():
            found[f"torch, {name}"] = replayed(work, times // 3)
    return found


def main() -> None:
    found = of_troupe(300)
    try:
        import torch

        if torch.cuda.is_available():
            found |= of_torch(300)
    except ImportError:
        print("without torch")
    for name, value in found.items():
        print(f"{name:32} {value:10.1f}")
    line = json.dumps(found)
    if path := os.environ.get("TROUPE_BENCH_JSON"):
        pathlib.Path(path).write_text(line)
    print(line)


if __name__ == "__main__":
    main()
