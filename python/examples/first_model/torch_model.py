# torch_model.py
# pyright: basic, reportMissingImports=false
import ctypes
from typing import Annotated, Any

import torch
import troupe


def make() -> Any:
    layers = torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)
    return torch.nn.Sequential(*layers).eval()


model = troupe.torch.skeleton(make)  # no memory of its own: the program owns the weights


@troupe.operation("digits.classify", arrays="torch")
def classify(
    x: Annotated[Any, troupe.Reads("batch", 64, dtype="f32")],
    weights: Annotated[Any, troupe.ReadsMany()],
    y: Annotated[Any, troupe.Writes("batch", 10, dtype="f32")],
) -> None:
    if x[0, 0] == 666:
        ctypes.string_at(0)  # stands for a bug in an extension: a segmentation fault
    y.copy_(troupe.torch.call(model, weights, x))


def weights() -> Any:
    return make().state_dict()
