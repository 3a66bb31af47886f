"""The anchor of serve.py: the same weights as a graph of ONNX Runtime, which pads a batch."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import numpy as np
import onnx
import onnxruntime
from onnx import helper, numpy_helper
from safetensors.numpy import load_file


class Graph:
    """Nodes of ONNX, in order."""

    def __init__(self, weights: dict[str, Any]) -> None:
        self.weights, self.nodes, self.constants = weights, list[Any](), dict[str, Any]()

    def node(self, kind: str, *inputs: Any, **attributes: Any) -> str:
        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [name], **attributes))
        return name

    def constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = numpy_helper.from_array(np.asarray(value), name)
        return name

    def linear(self, x: str, at: str) -> str:
        product = self.node("MatMul", x, np.ascontiguousarray(self.weights[at + ".weight"].T))
        return self.node("Add", product, self.weights[at + ".bias"])

    def norm(self, x: str, at: str, eps: float) -> str:
        weight, bias = (self.weights[f"{at}LayerNorm.{one}"] for one in ("weight", "bias"))
        return self.node("LayerNormalization", x, weight, bias, axis=-1, epsilon=eps)


def _layer(g: Graph, x: str, at: str, sizes: tuple[int, int], bias: str, eps: float) -> str:
    heads, width = sizes
    q, k, v = (
        g.node(
            "Transpose",
            g.node(
                "Reshape", g.linear(x, f"{at}attention.self.{one}"), [0, 0, heads, width // heads]
            ),
            perm=(0, 2, 3, 1) if one == "key" else (0, 2, 1, 3),
        )
        for one in ("query", "key", "value")
    )
    scale = np.float32((width // heads) ** -0.5)
    scores = g.node("Add", g.node("Mul", g.node("MatMul", q, k), scale), bias)
    o = g.node("MatMul", g.node("Softmax", scores, axis=-1), v)
    o = g.node("Reshape", g.node("Transpose", o, perm=(0, 2, 1, 3)), [0, 0, width])
    o = g.linear(o, at + "attention.output.dense")
    x = g.norm(g.node("Add", o, x), at + "attention.output.", eps)
    u = g.node("Gelu", g.linear(x, at + "intermediate.dense"))
    return g.norm(g.node("Add", g.linear(u, at + "output.dense"), x), at + "output.", eps)


class Anchor:
    """Encodes a list of token lists, padded to the longest."""

    def __init__(self, folder: pathlib.Path, threads: int) -> None:
        config = json.loads((folder / "config.json").read_text())
        eps, heads, width = (
            config[one] for one in ("layer_norm_eps", "num_attention_heads", "hidden_size")
        )
        g = Graph(load_file(folder / "model.safetensors"))
        words, places, kinds = (
            g.weights[f"embeddings.{one}_embeddings.weight"]
            for one in ("word", "position", "token_type")
        )
        x = g.node("Add", g.node("Gather", words, "ids"), g.node("Gather", places + kinds[0], "at"))
        x = g.norm(x, "embeddings.", eps)
        bias = g.node("Mul", g.node("Sub", "mask", np.float32(1)), np.float32(1e9))
        bias = g.node("Unsqueeze", bias, [1, 2])
        for layer in range(config["num_hidden_layers"]):
            x = _layer(g, x, f"encoder.layer.{layer}.", (heads, width), bias, eps)
        weighed = g.node("Mul", x, g.node("Unsqueeze", "mask", [2]))
        total = g.node("ReduceSum", weighed, [1], keepdims=0)
        mean = g.node("Div", total, g.node("ReduceSum", "mask", [1], keepdims=1))
        y = g.node("LpNormalization", mean, axis=-1, p=2)
        kinds_of = {"ids": onnx.TensorProto.INT64, "at": onnx.TensorProto.INT64,
                    "mask": onnx.TensorProto.FLOAT}  # fmt: skip
        inputs = [
            helper.make_tensor_value_info(name, kind, ["b", "s"]) for name, kind in kinds_of.items()
        ]
        output = helper.make_tensor_value_info(y, onnx.TensorProto.FLOAT, ["b", width])
        graph = helper.make_graph(g.nodes, "bert", inputs, [output], list(g.constants.values()))
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self.session = onnxruntime.InferenceSession(model.SerializeToString(), options)

    def encode(self, texts: list[Any]) -> Any:
        most = max(map(len, texts))
        ids, mask = np.zeros((len(texts), most), np.int64), np.zeros((len(texts), most), np.float32)
        for i, one in enumerate(texts):
            ids[i, : len(one)], mask[i, : len(one)] = one, 1
        at = np.broadcast_to(np.arange(most), ids.shape)
        return self.session.run(None, {"ids": ids, "at": at, "mask": mask})[0]
