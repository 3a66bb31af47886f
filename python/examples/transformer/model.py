"""A small transformer of PyTorch as an operation, and one that goes wrong. Workers import it."""

# pyright: basic, reportMissingImports=false
import os
from typing import Annotated, Any

import torch
import troupe

WORDS, WIDTH, LENGTH, BATCH = 1000, 512, 64, 16


def make() -> Any:
    layer = torch.nn.TransformerEncoderLayer(WIDTH, 8, 4 * WIDTH, batch_first=True, norm_first=True)
    layers = torch.nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    words = torch.nn.Embedding(WORDS, WIDTH)
    return torch.nn.Sequential(words, layers, torch.nn.Linear(WIDTH, WORDS)).eval()


model = troupe.torch.skeleton(make)  # the weights are the program's


@troupe.on_worker_start
def warm() -> None:
    on = "cuda" if torch.cuda.is_available() else "cpu"
    troupe.torch.warm_up(model, torch.zeros(BATCH, LENGTH, dtype=torch.int64, device=on))


@troupe.operation("lm.next_word", arrays="torch")
def next_word(
    x: Annotated[Any, troupe.Reads(BATCH, LENGTH, dtype="i64")],
    weights: Annotated[Any, troupe.ReadsMany()],
    y: Annotated[Any, troupe.Writes(BATCH, WORDS, dtype="f32")],
) -> None:
    y.copy_(troupe.torch.call(model, weights, x)[:, -1])


@troupe.operation("lm.goes_wrong", arrays="torch")
def goes_wrong(x: Annotated[Any, troupe.Reads(BATCH, LENGTH, dtype="i64")], *, how: str) -> None:
    while how == "hung":
        pass
    if how == "ended":
        os._exit(1)
    x[0, x[0] + 1_000_000]  # on a GPU a device-side assertion: the CUDA context is lost
