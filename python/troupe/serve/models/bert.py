"""BERT as an encoder of sentences, on Troupe's requests: a batch is packed, no token is padding.

Sequences of a batch lie one after the other, and attention is told where each begins. A text's
vector is the mean over its tokens, of length 1, as sentence-transformers makes it.
"""

from __future__ import annotations

import json
import pathlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import troupe
import troupe.dnn as nn

from ...serving.sending import sent_to


class Sizes(NamedTuple):
    """Numbers of a checkpoint's config.json."""

    layers: int
    heads: int
    width: int
    vocabulary: int
    positions: int
    eps: float

    @classmethod
    def of(cls, config: dict[str, Any]) -> Sizes:
        """Raises ValueError for a model that is computed in another way."""
        for name, value in (("hidden_act", "gelu"), ("position_embedding_type", "absolute")):
            if config.get(name, value) != value:
                raise ValueError(f"config.json: {name} must be {value!r}; it is {config[name]!r}")
        return cls(
            config["num_hidden_layers"],
            config["num_attention_heads"],
            config["hidden_size"],
            config["vocab_size"],
            config["max_position_embeddings"],
            config["layer_norm_eps"],
        )


# Each is one request.
_linear = nn.computation(lambda x, w, b: x @ nn.transpose(w, (1, 0)) + b)
_wider = nn.computation(lambda x, w, b: nn.gelu(x @ nn.transpose(w, (1, 0)) + b))


_same = troupe.elementwise.function(lambda x: x)


def _joined(eps: float) -> nn.Computation:
    return nn.computation(
        lambda x, w, b, r, weight, bias: nn.layer_norm(
            x @ nn.transpose(w, (1, 0)) + b + r, weight, bias, eps=eps
        )
    )


class Bert:
    """A checkpoint's weights on a device, frozen. `encode` turns token ids into vectors of f32."""

    def __init__(self, gpu: troupe.Device, folder: pathlib.Path, dtype: str = "f32") -> None:
        self.gpu = gpu
        self.sizes = Sizes.of(json.loads((folder / "config.json").read_text()))
        self.dtype = dtype
        loaded = gpu.load(folder / "model.safetensors")
        self.weights = {
            name: w if w.dtype in (dtype, "i64") else gpu.tensor(w.numpy(), dtype, own=True)
            for name, w in loaded.items()
        }
        self._norm = nn.computation(
            lambda a, b, c, weight, bias: nn.layer_norm(a + b + c, weight, bias, eps=self.sizes.eps)
        )
        self._joined = _joined(self.sizes.eps)
        self._qkv = [self._join(layer) for layer in range(self.sizes.layers)]

    def _join(self, layer: int) -> tuple[troupe.Tensor, ...]:
        """Weights and biases of queries, keys and values as one product's."""
        at = f"encoder.layer.{layer}.attention.self."
        parts = [
            [self.weights.pop(f"{at}{one}.{what}") for one in ("query", "key", "value")]
            for what in ("weight", "bias")
        ]
        return tuple(self.gpu.concatenate(one).freeze() for one in parts)

    def _named(self, at: str, *names: str) -> list[troupe.Tensor]:
        return [self.weights[at + one] for one in names]

    def encode(self, texts: Sequence[Sequence[int]]) -> troupe.Future[Any]:
        """Sends a batch, one request after the other; the vectors are [len(texts), width]."""
        gpu, ew = self.gpu, self.gpu.elementwise
        packed = _Packed(gpu, texts, self.sizes.width)
        words, places, kinds, weight, bias = self._named(
            "embeddings.",
            "word_embeddings.weight",
            "position_embeddings.weight",
            "token_type_embeddings.weight",
            "LayerNorm.weight",
            "LayerNorm.bias",
        )
        x = gpu.compute(
            self._norm,
            ew.gather_rows(words, packed.ids),
            ew.gather_rows(places, packed.positions),
            kinds[:1],
            weight,
            bias,
        )
        for layer in range(self.sizes.layers):
            x = self._layer(layer, x, packed)
        mean = self._mean(x, packed)
        return ew.l2_normalize(mean if self.dtype == "f32" else gpu.map(_same, mean, dtype="f32"))

    def _layer(self, layer: int, x: Any, packed: _Packed) -> Any:
        gpu, heads = self.gpu, self.sizes.heads
        n, size = x.shape[0], self.sizes.width // heads
        at = f"encoder.layer.{layer}."
        qkv = gpu.compute(_linear, x, *self._qkv[layer]).reshape(n, 3, heads, size)
        o = gpu.dnn.attention_forward(
            q=qkv[:, 0],
            k=qkv[:, 1],
            v=qkv[:, 2],
            mask_lengths_q=packed.lengths,
            packed_offsets_q=packed.joined,
            packed_offsets_o=packed.tokens,
            packed_longest_q=packed.longest,
            **packed.keys(packed.joined),
        )
        x = gpu.compute(
            self._joined,
            o.reshape(n, -1),
            *self._named(at + "attention.output.", "dense.weight", "dense.bias"),
            x,
            *self._named(at + "attention.output.LayerNorm.", "weight", "bias"),
        )
        u = gpu.compute(_wider, x, *self._named(at + "intermediate.dense.", "weight", "bias"))
        return gpu.compute(
            self._joined,
            u,
            *self._named(at + "output.", "dense.weight", "dense.bias"),
            x,
            *self._named(at + "output.LayerNorm.", "weight", "bias"),
        )

    def _mean(self, x: Any, packed: _Packed) -> Any:
        """Over the tokens of each text: attention of one query that is zero weighs all alike."""
        gpu, heads, count = self.gpu, self.sizes.heads, packed.lengths.shape[0]
        parts = x.reshape(x.shape[0], heads, -1)
        mean = gpu.dnn.attention_forward(
            q=gpu.zeros((count, heads, parts.shape[2]), self.dtype),
            k=parts,
            v=parts,
            mask_lengths_q=gpu.ones(count, "i32"),
            packed_offsets_q=packed.texts,
            packed_offsets_o=packed.texts,
            packed_longest_q=1,
            **packed.keys(packed.tokens),
        )
        return mean.reshape(count, -1)


class _Packed:
    """A batch's tokens, and where each text begins. Two copies to the device, whatever its size."""

    def __init__(self, gpu: troupe.Device, texts: Sequence[Sequence[int]], width: int) -> None:
        lengths = np.fromiter((len(one) for one in texts), np.int32, len(texts))
        ids = np.concatenate([np.asarray(one, np.int32) for one in texts])
        starts = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        positions = np.arange(len(ids)) - np.repeat(starts[:-1], lengths)
        n = len(ids)
        sent = sent_to(gpu, np.concatenate((ids, positions.astype(np.int32), lengths)))
        self.ids, self.positions, self.lengths = sent[:n], sent[n : 2 * n], sent[2 * n :]
        self.longest = int(lengths.max())
        # Counted in elements; queries, keys and values of a token lie beside each other.
        each = np.stack((3 * starts, starts, np.arange(len(starts)))) * width
        where = sent_to(gpu, each)
        self.joined, self.tokens, self.texts = where[0], where[1], where[2]

    def keys(self, begin: troupe.Tensor) -> dict[str, Any]:
        """All that attention is told of keys and values."""
        return {
            "mask_lengths_kv": self.lengths,
            "packed_offsets_k": begin,
            "packed_offsets_v": begin,
            "packed_longest_kv": self.longest,
            "all_attend": True,
        }
