"""silero-vad says where somebody speaks: its weights upon Troupe's requests."""

import os
from typing import Any

import numpy as np
import troupe
import troupe.elementwise as ew
from troupe.serving import Sequences


def voices(gpu: troupe.Device, path: str | os.PathLike[str], streams: int) -> Sequences:
    """Streams of chunks of 512 samples at 16 kHz; an answer is the probability of speech."""
    w = gpu.load(path)
    lstm = [w[f"lstm_cell.weight_{one}h"].permute(1, 0) for one in "ih"]

    def lstm_gates(a: Any, b: Any, c: Any, d: Any) -> Any:
        return a + b + c + d

    async def step(chunks: list[Any], states: list[Any]) -> Any:
        before, h, c = zip(*states, strict=True)
        x = np.concatenate([np.stack(before), np.stack(chunks)], 1)
        x = np.pad(x, ((0, 0), (0, 64)), "reflect")[:, None]
        y = gpu.dnn.convolution_forward(gpu.tensor(x), w["stft_conv.weight"], stride=[128])
        y = gpu.map(lambda re, im: ew.sqrt(re * re + im * im), y[:, :129], y[:, 129:])
        for i, stride in enumerate((1, 2, 2, 1), 1):
            y = gpu.dnn.convolution_forward(
                y, w[f"conv{i}.weight"], bias=w[f"conv{i}.bias"], activation="relu",
                stride=[stride], padding=[1], deterministic=True,
            )  # fmt: skip
        gates = gpu.map(
            lstm_gates,
            gpu.blas.gemm(y.reshape(len(chunks), 128), lstm[0]),
            gpu.blas.gemm(gpu.concatenate(h), lstm[1]),
            w["lstm_cell.bias_ih"],
            w["lstm_cell.bias_hh"],
        )
        into, keep, new, out = (gates[:, 128 * k : 128 * (k + 1)] for k in range(4))
        next_c = gpu.map(
            lambda i, f, g, c: ew.sigmoid(f) * c + ew.sigmoid(i) * ew.tanh(g),
            into, keep, new, gpu.concatenate(c),
        )  # fmt: skip
        next_h = gpu.map(lambda o, c: ew.sigmoid(o) * ew.tanh(c), out, next_c)
        speech = gpu.dnn.convolution_forward(
            gpu.map(ew.relu, next_h).reshape(len(chunks), 128, 1), w["final_conv.weight"],
            bias=w["final_conv.bias"], activation="sigmoid",
        )  # fmt: skip
        return (await speech).numpy()[:, 0, 0].tolist(), [
            (one[-64:], next_h[n : n + 1], next_c[n : n + 1]) for n, one in enumerate(chunks)
        ]

    none = gpu.zeros((1, 128))
    return Sequences(step, initial=lambda: (np.zeros(64, "f4"), none, none), items=streams)
