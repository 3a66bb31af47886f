"""silero-vad's weights: a recurrent model beside NumPy, in streams that share batches."""

import asyncio
import importlib.util
import pathlib
import sys

import numpy as np
import pytest
from troupe.serving import Sequences

EXAMPLE = pathlib.Path(__file__).parents[2] / "examples/voices"
FOUND = importlib.util.find_spec("silero_vad")
pytestmark = pytest.mark.skipif(FOUND is None, reason="silero-vad is not installed")


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def convolve(x, w, bias=0.0, stride=1, padding=0):
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding)))
    width = w.shape[2]
    rows = [
        np.einsum("nck,dck->nd", x[:, :, i : i + width], w) + bias
        for i in range(0, x.shape[2] - width + 1, stride)
    ]
    return np.stack(rows, 2)


def expected(w, chunks):
    before, h, c = (np.zeros((chunks.shape[1], n)) for n in (64, 128, 128))
    answers = []
    for one in chunks:
        x = np.pad(np.concatenate([before, one], 1), ((0, 0), (0, 64)), "reflect")
        before = one[:, -64:]
        y = convolve(x[:, None], w["stft_conv.weight"], stride=128)
        y = np.hypot(y[:, :129], y[:, 129:])
        for i, stride in enumerate((1, 2, 2, 1), 1):
            y = convolve(y, w[f"conv{i}.weight"], w[f"conv{i}.bias"], stride, 1).clip(0)
        gates = y[:, :, 0] @ w["lstm_cell.weight_ih"].T + h @ w["lstm_cell.weight_hh"].T
        gates += w["lstm_cell.bias_ih"] + w["lstm_cell.bias_hh"]
        i, f, g, o = np.split(gates, 4, 1)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        y = convolve(h.clip(0)[:, :, None], w["final_conv.weight"], w["final_conv.bias"])
        answers.append(sigmoid(y[:, 0, 0]))
    return np.array(answers)


def test_answers_are_those_of_numpy(gpu, rng, monkeypatch):
    monkeypatch.setattr(sys, "path", [str(EXAMPLE), *sys.path])
    import voice_model

    path = pathlib.Path(FOUND.origin).parent / "data/silero_vad_16k.safetensors"
    chunks = rng.standard_normal((12, 5, 512)) * rng.uniform(0, 0.5, (12, 5, 1))
    chunks = chunks.astype("f4")

    async def main():
        voices = voice_model.voices(gpu, path, 8)
        assert isinstance(voices, Sequences)
        async with voices:
            return [
                await asyncio.gather(
                    *(voices(one, sequence=n, start=i == 0) for n, one in enumerate(row))
                )
                for i, row in enumerate(chunks)
            ]

    weights = {name: one.numpy().astype("f8") for name, one in gpu.load(path).items()}
    np.testing.assert_allclose(asyncio.run(main()), expected(weights, chunks), atol=2e-6)
