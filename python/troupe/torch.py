"""PyTorch modules in operations: their weights as a bound set, and modules without memory.

# service.py
troupe.torch.load(gpu, "model", module)              # or its state dict, or a file of it

# model.py, which workers import
model = troupe.torch.skeleton(lambda: Model(layers=16))

@troupe.operation("vision.embed", arrays="torch")
def embed(x: troupe.Reads, weights: troupe.ReadsMany, y: troupe.Writes) -> None:
    y.copy_(troupe.torch.call(model, weights, x))

gpu.vision.embed(x=x, weights="model", y=y)
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import torch

from ._core import Device, Tensor
from .arrays import tensor as _tensor
from .binding import BoundSet, bind


def load(device: Device, name: str, source: Any) -> BoundSet:
    """Binds the parameters and buffers of a module as frozen tensors.

    source: a module, its state dict, or a file of one: .safetensors, or what torch.save wrote.
    """
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if path.endswith(".safetensors"):
            return bind(device, name, device.load(path))
        source = torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    state: Mapping[str, Any] = source.state_dict() if hasattr(source, "state_dict") else source
    # Parameters that share their memory share a tensor.
    made: dict[Any, Tensor] = {}
    tensors = {}
    for key, value in state.items():
        value = value.detach()
        place = (value.data_ptr(), tuple(value.shape), value.stride(), value.dtype)
        if place not in made or value.numel() == 0:
            made[place] = _tensor(device, value, own=True)
            made[place] = made[place].freeze()
        tensors[key] = made[place]
    return bind(device, name, tensors)


def skeleton(make: Callable[[], Any]) -> Any:
    """A module whose parameters and buffers have shapes and no memory, for `call`.

    `make` is called with "meta" as torch's default device, so it loads and initialises nothing, and
    the process that forks workers does not touch CUDA.
    """
    with torch.device("meta"):
        made = make()
    return made.eval().requires_grad_(False)


def warm_up(module: Any, *inputs: Any, **options: Any) -> None:
    """Runs a skeleton once, so that a worker that takes over has loaded its kernels.

    For a function with `@troupe.on_worker_start`, with inputs of the shapes that will come. Weights
    are zeros; those of equal shape and type share their memory, which is given back.
    """
    device = next((one.device for one in inputs if isinstance(one, torch.Tensor)), "cuda")
    made: dict[Any, Any] = {}
    weights = {}
    for name, value in (*module.named_parameters(), *module.named_buffers()):
        kind = (value.shape, value.dtype)
        if kind not in made:
            made[kind] = torch.zeros(value.shape, dtype=value.dtype, device=device)
        weights[name] = made[kind]

    # In a thread that ends: the libraries' handles that torch has made for it are the next one's.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(call, module, weights, *inputs, **options).result()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
        made.clear()
        weights.clear()
        torch.cuda.empty_cache()


def call(module: Any, weights: Mapping[str, Any], *inputs: Any, **options: Any) -> Any:
    """Calls a module with a bound set for its parameters and buffers, without gradients."""
    missing = [
        name
        for name, value in (*module.named_parameters(), *module.named_buffers())
        if value.is_meta and name not in weights
    ]
    if missing:
        raise ValueError(
            f"{type(module).__name__}: the bound set has no {', '.join(missing[:5])}"
            + (f" and {len(missing) - 5} others" if len(missing) > 5 else "")
            + "; buffers that are not persistent are not in a state dict: bind them as well"
        )
    with torch.inference_mode():
        return torch.func.functional_call(module, dict(weights), inputs, options)
