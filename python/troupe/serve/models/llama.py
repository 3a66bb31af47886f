"""Models of the Llama family on Troupe's requests: SmolLM2, Llama, Qwen and Mistral by constants.

A step has new tokens of any number of sequences, packed one behind the other: chunks of prompts
beside single tokens of answers. Keys and values go to a cache in pages.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import troupe
import troupe.dnn as nn

from ...generation.checkpoint import Checkpoint, Sizes
from ...generation.step import Step

# Each is one request.
_linear = nn.computation(lambda x, w: x @ nn.transpose(w, (1, 0)))
_biased = nn.computation(lambda x, w, b: x @ nn.transpose(w, (1, 0)) + b)
_added = nn.computation(lambda x, w, r: x @ nn.transpose(w, (1, 0)) + r)
_gated = troupe.elementwise.function(lambda gate, up: gate / (1 + np.exp(-gate)) * up)

_PARTS = ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj")


class Llama:
    """A checkpoint's weights on a device, frozen. `forward` turns a step into logits of f32."""

    def __init__(self, gpu: troupe.Device, checkpoint: Checkpoint, dtype: str = "f32") -> None:
        self.gpu, self.dtype = gpu, dtype
        self.sizes = s = checkpoint.sizes
        self._read = checkpoint
        self.table = self._sent("model.embed_tokens.weight")
        self.norm = self._sent("model.norm.weight")
        own = "lm_head.weight" in checkpoint.names
        self.output = self._sent("lm_head.weight") if own else self.table
        self.layers = [self._layer(f"model.layers.{i}.") for i in range(s.layers)]
        self.angles = gpu.tensor(_angles(s), own=True).freeze()
        self._read = None  # type: ignore[assignment] # the file is not needed any more

    def _sent(self, *names: str) -> Any:
        """A weight, or several below each other, as one."""
        arrays = [self._read.weight(one) for one in names]
        array = arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
        return self.gpu.tensor(array, self.dtype, own=True).freeze()

    def _optional(self, *names: str) -> Any:
        return self._sent(*names) if names[0] in self._read.names else None

    def _layer(self, at: str) -> dict[str, Any]:
        return {
            "norm": self._sent(at + "input_layernorm.weight"),
            "qkv": self._sent(*(f"{at}{one}.weight" for one in _PARTS)),
            "bias": self._optional(*(f"{at}{one}.bias" for one in _PARTS)),
            "q_norm": self._optional(at + "self_attn.q_norm.weight"),
            "k_norm": self._optional(at + "self_attn.k_norm.weight"),
            "o": self._sent(at + "self_attn.o_proj.weight"),
            "norm2": self._sent(at + "post_attention_layernorm.weight"),
            "wide": self._sent(at + "mlp.gate_proj.weight", at + "mlp.up_proj.weight"),
            "down": self._sent(at + "mlp.down_proj.weight"),
        }

    def cache(self, pages: int, page_size: int = 16) -> troupe.KvCache:
        s = self.sizes
        return self.gpu.kv_cache(
            pages=pages,
            heads=s.key_heads,
            key_size=s.size,
            layers=s.layers,
            page_size=page_size,
            dtype=self.dtype,
        )

    def bytes_of_token(self) -> int:
        """Of keys and values."""
        s = self.sizes
        return 2 * s.layers * s.key_heads * s.size * (4 if self.dtype == "f32" else 2)

    def forward(self, step: Step) -> Any:
        """Sends a step, one request after the other: logits [len(step.rows), vocabulary], if any."""
        gpu, ew = self.gpu, self.gpu.elementwise
        ids, positions, rows = step.sent(gpu)
        angles = ew.gather_rows(self.angles, positions)
        half = self.sizes.size // 2
        turn = {"cos": angles[:, :half], "sin": angles[:, half:], "pairs": self.sizes.pairs}
        x = ew.gather_rows(self.table, ids)
        for i, layer in enumerate(self.layers):
            x = self._forward(i, layer, x, turn, step)
        if not len(step.rows):
            return None
        last = x if rows is None else ew.gather_rows(x, rows)
        last = ew.rms_norm(last, weight=self.norm, eps=self.sizes.eps)
        return gpu.compute(_linear, last, self.output, dtype="f32")

    def _forward(self, i: int, w: dict[str, Any], x: Any, turn: dict[str, Any], step: Step) -> Any:
        gpu, ew, s = self.gpu, self.gpu.elementwise, self.sizes
        n, heads, keys = x.shape[0], s.heads, s.key_heads

        def room(name: str, *extents: int) -> Any:
            return step.room(name, (n, *extents), self.dtype)

        normed = ew.rms_norm(x, room("normed", s.width), weight=w["norm"], eps=s.eps)
        out = room("qkv", (heads + 2 * keys) * s.size)
        if w["bias"] is None:
            made = gpu.compute(_linear, normed, w["qkv"], out=out)
        else:
            made = gpu.compute(_biased, normed, w["qkv"], w["bias"], out=out)
        qkv: Any = made.reshape(n, heads + 2 * keys, s.size)
        if w["q_norm"] is not None:
            parts = gpu.empty(qkv.shape, self.dtype)
            for first, last, weight in ((0, heads, "q_norm"), (heads, heads + keys, "k_norm")):
                part = parts[:, first:last]
                ew.rms_norm(qkv[:, first:last], part, weight=w[weight], eps=s.eps)
            gpu.copy(qkv[:, heads + keys :], parts[:, heads + keys :])
            qkv = parts
        # To another tensor: requests that only overwrite run again after a loss.
        turned = room("turned", heads + keys, s.size)
        turned = ew.rotary_embedding(qkv[:, : heads + keys], y=turned, **turn)
        step.kv.append(i, turned[:, heads:], qkv[:, heads + keys :])
        window = {"mask_left": s.window - 1} if s.window else {}
        o = step.kv.attend(i, turned[:, :heads], o=room("o", heads, s.size), **window)
        x = gpu.compute(_added, o.reshape(n, heads * s.size), w["o"], x, out=room("x", s.width))
        normed = ew.rms_norm(x, room("normed", s.width), weight=w["norm2"], eps=s.eps)
        wide = gpu.compute(_linear, normed, w["wide"], out=room("wide", 2 * s.inner))
        inner = room("inner", s.inner)
        inner = gpu.map(_gated, wide[:, : s.inner], wide[:, s.inner :], out=inner)
        return gpu.compute(_added, inner, w["down"], x, out=room("y", s.width))


def _angles(s: Sizes) -> Any:
    """Cosines and, behind them, sines of every position."""
    rates = s.theta ** (-np.arange(0, s.size, 2) / s.size) / s.stretch
    if s.scaling is not None:
        factor, low, high, context = s.scaling
        turns = context * rates / (2 * math.pi)
        smooth = np.clip((turns - low) / (high - low), 0, 1)
        rates = rates * (smooth + (1 - smooth) / factor)
    angles = np.arange(s.context)[:, None] * rates
    return np.concatenate((np.cos(angles), np.sin(angles)), 1).astype("f4")
