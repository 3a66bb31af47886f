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
from weakref import WeakKeyDictionary

import torch

from ._core import Device, Tensor
from .arrays import tensor as _tensor
from .methods.binding import BoundSet, bind


def load(device: Device, name: str, source: Any) -> BoundSet:
    """Binds the parameters and buffers of a module as frozen tensors.

    source: a module, its state dict, or a file of one: .safetensors, or what torch.save wrote. The
    latter wants torch 2.10: before, a prepared file runs code in this program, though only weights
    are asked for.
    """
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        if path.endswith(".safetensors"):
            return bind(device, name, device.load(path))
        if torch.torch_version.TorchVersion(torch.__version__) < (2, 10):
            raise ValueError(
                f"troupe.torch.load: {path}: torch {torch.__version__} may run code of a prepared "
                "file (CVE-2026-24747); use torch 2.10 or newer, .safetensors, or a state dict "
                "that you have loaded"
            )
        # Read, not mapped: a mapped file that is cut ends the program.
        source = torch.load(path, map_location="cpu", weights_only=True, mmap=False)
    state: Mapping[str, Any] = source.state_dict() if hasattr(source, "state_dict") else source
    # Parameters that share their memory share a tensor.
    made: dict[Any, Tensor] = {}
    tensors = {}
    for key, value in state.items():
        value = value.detach()
        place = (value.data_ptr(), tuple(value.shape), value.stride(), value.dtype)
        if place not in made or value.numel() == 0:
            made[place] = _tensor(device, value, own=True)
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


class _Places:
    """The places of a module's parameters and buffers, and the arrays set there now."""

    def __init__(self, module: Any) -> None:
        self.module = type(module).__name__
        self.held: Mapping[str, Any] | None = None
        self.places = [
            (owner, key, f"{prefix}.{key}" if prefix else key, tensor)
            for prefix, owner in module.named_modules()
            for kind in (owner._parameters, owner._buffers)
            for key, tensor in kind.items()
            if tensor is not None
        ]

    def hold(self, weights: Mapping[str, Any]) -> None:
        if self.held is weights:
            return
        # A tied weight has one name in some sets and both in others.
        tied = {id(tensor): weights[name] for _, _, name, tensor in self.places if name in weights}
        missing = [
            name for _, _, name, tensor in self.places if tensor.is_meta and id(tensor) not in tied
        ]
        if missing:
            raise ValueError(
                f"{self.module}: the bound set has no {', '.join(missing[:5])}"
                + (f" and {len(missing) - 5} others" if len(missing) > 5 else "")
                + "; buffers that are not persistent are not in a state dict: bind them as well"
            )
        for owner, key, name, tensor in self.places:
            value = weights[name] if name in weights else tied.get(id(tensor), tensor)
            is_parameter = isinstance(tensor, torch.nn.Parameter) and value is not tensor
            setattr(owner, key, torch.nn.Parameter(value, False) if is_parameter else value)
        self.held = weights

    def let_go(self) -> None:
        for owner, key, _, tensor in self.places:
            setattr(owner, key, tensor)
        self.held = None


_places: WeakKeyDictionary[Any, _Places] = WeakKeyDictionary()


def call(module: Any, weights: Mapping[str, Any], *inputs: Any, **options: Any) -> Any:
    """Calls a module with a bound set for its parameters and buffers, without gradients.

    They stay in the module until it is called with another set: as many as there are, they cost a
    call nothing.
    """
    with torch.inference_mode():
        places = _places.get(module)
        if places is None:
            places = _places[module] = _Places(module)
        places.hold(weights)
        return module(*inputs, **options)


def warm_up(module: Any, *inputs: Any, **options: Any) -> None:
    """Calls a skeleton once, so that a worker that takes over has loaded its kernels.

    For a function with `@troupe.on_worker_start`, with inputs of the shapes that will come. Weights
    are zeros; those of equal shape and type share their memory, which is given back.
    """
    on = next((one.device for one in inputs if isinstance(one, torch.Tensor)), "cuda")
    places = _places[module] = _Places(module)
    zeros: dict[Any, Any] = {}
    weights = {}
    for _, _, name, tensor in places.places:
        kind = (tensor.shape, tensor.dtype)
        if kind not in zeros:
            zeros[kind] = torch.zeros(tensor.shape, dtype=tensor.dtype, device=on)
        weights[name] = zeros[kind]

    def run() -> None:
        if torch.cuda.is_initialized():
            torch.cuda.synchronize()  # makes CUDA's context this thread's, which torch warns of else
        call(module, weights, *inputs, **options)

    # In a thread that ends: the libraries' handles that torch has made for it are the next one's.
    try:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(run).result()
    finally:
        places.let_go()
    zeros.clear()
    weights.clear()
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
