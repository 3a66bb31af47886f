"""Models of one's own: weights, limits, and what a file must not declare."""

import numpy as np
import pytest
from safetensors.numpy import save_file
from troupe.serve.__main__ import main

HEAD = """
import time
from typing import Annotated, Any
import numpy as np
import troupe

Reads, Writes, Many = troupe.Reads, troupe.Writes, troupe.ReadsMany
"""
GOOD = """
@troupe.operation("fine.product")
def product(x: Reads("n", 3, dtype="f32"), weights: Many(), y: Writes("n", 2, dtype="f64")) -> None:
    while (x == 7).any():
        time.sleep(1)
    y[:] = x @ weights["w"]


@troupe.serve.model("product", operation="fine.product", weights="w.safetensors", run_limit=0.2)
class Product:
    pass
"""


def test_weights_are_bound_and_a_hang_ends_at_its_run_limit(tmp_path):
    from running import Running
    from troupe.serve.service import Service

    w = np.arange(6, dtype="f4").reshape(3, 2)
    save_file({"w": w}, tmp_path / "w.safetensors")
    (tmp_path / "fine.py").write_text(HEAD + GOOD)
    made = Running(Service([], [tmp_path / "fine.py"], backend="cpu"))
    try:

        def ask(row):
            x = {"name": "x", "datatype": "FP32", "shape": [1, 3], "data": row}
            return made.post("/v2/models/product/infer", {"inputs": [x]})

        assert ask([1, 2, 3]).json()["outputs"][0]["data"] == ([1, 2, 3] @ w).tolist()
        assert ask([7, 7, 7]).status_code == 424
        assert ask([1, 2, 3]).status_code == 200
        assert made.post("/models/product", {}).status_code == 404
        assert made.post("/embed", {"inputs": "x"}).status_code == 404
    finally:
        made.close()


@pytest.mark.parametrize(
    "operation, model, text",
    [
        ("def f(x: Reads('n', dtype='f32')) -> float: ...", "wrong.f", "returns a value"),
        ("def f(x: Reads(4, dtype='f32')) -> None: ...", "wrong.f", "a shape whose first"),
        ("def f(x: Reads('n')) -> None: ...", "wrong.f", "one dtype"),
        ("def f(x: Reads('n', dtype='f32')) -> None: ...", "wrong.f", "one to write"),
        (
            "def f(x: Reads('n', dtype='f32'), *, k: int) -> None: ...",
            "wrong.f",
            "gives wrong.f its k",
        ),
        ("def f(weights: Many()) -> None: ...", "wrong.f", "gives wrong.f its weights"),
        ("def f(x: Reads('n', dtype='f32')) -> None: ...", "wrong.g", "has no operation 'wrong.g'"),
        ("def f(x: Reads('n', dtype='f32')) -> None: ...", None, "declares no model"),
    ],
)
def test_what_a_file_must_not_declare(tmp_path, capfd, operation, model, text, monkeypatch):
    from troupe import operations

    monkeypatch.setattr(operations, "_registered", {})
    declared = f"@troupe.serve.model('wrong', operation='{model}')\nclass W: ...\n"
    file = tmp_path / f"wrong_{abs(hash((operation, model)))}.py"
    file.write_text(f"{HEAD}@troupe.operation('wrong.f')\n{operation}\n{declared if model else ''}")
    assert main(["--backend", "cpu", str(file)]) == 2
    assert text in capfd.readouterr().err
