"""llama.cpp as an anchor: greedy tokens and tokens a second of a .gguf file, by the package cyllama.

    python llama_anchor.py FILE.gguf PROMPTS.json OUT.json [THREADS [texts|speed]]

PROMPTS.json is a list of lists of tokens. The file is used as it is and with its weights as f32 and
f16; both are made beside OUT.json. The package needs nothing else, so an environment of its own will
do. Its threads wait for each other by spinning: beside other programs, take one.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import sys
import time
from typing import Any

import cyllama.llama.llama_cpp as llama  # type: ignore[import-not-found]

ANSWER = 64
FTYPES = {"f32": 0, "f16": 1}


def converted(source: str, kind: str, folder: pathlib.Path) -> str:
    """The same weights in another type: quantised ones are multiplied out."""
    path = folder / f"weights-{kind}.gguf"
    if not path.exists():
        wanted = llama.LlamaModelQuantizeParams()
        wanted.ftype, wanted.allow_requantize = FTYPES[kind], True
        wanted.token_embedding_type = wanted.output_tensor_type = FTYPES[kind]
        llama.model_quantize(source, str(path), wanted)
    return str(path)


def context_of(path: str, batch: int, threads: int) -> tuple[Any, Any]:
    model = llama.LlamaModel(path, llama.LlamaModelParams())
    wanted = llama.LlamaContextParams()
    wanted.n_ctx, wanted.n_batch, wanted.n_seq_max = 512 * batch, 512 * batch, batch
    wanted.n_threads = wanted.n_threads_batch = threads
    wanted.type_k = wanted.type_v = 0  # keys and values in f32, as Troupe has them beside f32
    return model, llama.LlamaContext(model, wanted)


def greedy(context: Any, prompts: list[list[int]], count: int) -> tuple[list[list[int]], float]:
    """The tokens after each prompt, and tokens a second while all decode."""
    context.kv_cache_clear()
    batch = llama.LlamaBatch(n_tokens=sum(map(len, prompts)), embd=0, n_seq_max=len(prompts))
    rows = []
    for i, prompt in enumerate(prompts):
        for at, token in enumerate(prompt):
            batch.add(token, at, [i], at + 1 == len(prompt))
        rows.append(batch.n_tokens - 1)
    context.decode(batch)
    sampler = llama.LlamaSampler(llama.LlamaSamplerChainParams())
    sampler.add_greedy()
    made = [[sampler.sample(context, row)] for row in rows]
    begin = time.perf_counter()
    for n in range(count - 1):
        batch.reset()
        for i, prompt in enumerate(prompts):
            batch.add(made[i][-1], len(prompt) + n, [i], True)
        context.decode(batch)
        for i in range(len(prompts)):
            made[i].append(sampler.sample(context, i))
    spent = time.perf_counter() - begin
    return made, len(prompts) * (count - 1) / spent


def main() -> None:
    source, prompts_file, out = sys.argv[1:4]
    threads = int(sys.argv[4]) if len(sys.argv) > 4 else os.cpu_count() or 1
    prompts = json.loads(pathlib.Path(prompts_file).read_text())
    llama.ggml_backend_load_all()
    folder = pathlib.Path(out).parent
    parts = sys.argv[5:] or ["texts", "speed"]
    found: dict[str, Any] = {"threads": threads}
    for kind in ("f32", "f16", "q4_1"):
        path = source if kind == "q4_1" else converted(source, kind, folder)
        if "texts" in parts and kind != "f16":
            model, context = context_of(path, 1, threads)
            found[f"{kind}_texts"] = [greedy(context, [one], ANSWER)[0][0] for one in prompts]
        for batch in (1, 8) if "speed" in parts else ():
            model, context = context_of(path, batch, threads)
            few = [one[:8] for one in prompts[:batch]]
            rate = statistics.median(greedy(context, few, ANSWER)[1] for _ in range(3))
            found[f"{kind}_batch_{batch}"] = round(rate, 1)
            print(kind, batch, round(rate, 1), "load", os.getloadavg()[0], flush=True)
            del context, model
        pathlib.Path(out).write_text(json.dumps(found))


if __name__ == "__main__":
    main()
