"""GPU work as supervised actors.

    import numpy as np, troupe

    system = troupe.System()
    gpu = system.device(0)                       # a GPU if there is one, else the CPU
    x = gpu.tensor(np.random.rand(512, 256).astype("f4"))
    w = gpu.tensor(np.random.rand(256, 128).astype("f4"))
    y = gpu.blas.gemm(x, w)                      # a Future at once, and an operand at once
    z = gpu.elementwise.softmax(y)
    print(z.numpy()[:2])                         # waits; or: await z

Every request of every library is a method of `device.LIBRARY`: `help(gpu.blas.gemm)` says what it
takes. Requests run in a worker process; when a kernel crashes or hangs, its request fails with a
`troupe.Failure`, and everything else goes on.
"""

from __future__ import annotations

import atexit as _atexit

from . import arrays as _arrays
from . import errors as _errors
from ._core import (
    Device,
    DeviceLink,
    Future,
    Graph,
    GraphReplies,
    Journal,
    KvCache,
    KvStep,
    Library,
    MappedTensor,
    Operation,
    Profile,
    System,
    Telemetry,
    Tensor,
    Timer,
    World,
    __version__,
    _close_all,
    libraries,
    requests,
)
from .errors import *
from .methods import creation as _creation
from .methods import futures as _futures
from .methods import refusals as _refusals
from .waiting import as_completed, gather

TYPE_CHECKING = False  # typing itself takes long to import, too
if TYPE_CHECKING:
    from typing import Any as _Any

    from . import dnn, elementwise, parallel, serve, serving, sparse
    from .actors import Actor, ActorRef, Supervision
    from .methods.replays import replay
    from .operations import Reads, ReadsMany, Updates, Writes, on_worker_start, operation
    from .pipelines import Pipeline

# Modules that take long to import, because asyncio does, are imported on first use.
_LATER = {
    **dict.fromkeys(("Actor", "ActorRef", "Supervision"), "actors"),
    **dict.fromkeys(
        ("Reads", "ReadsMany", "Updates", "Writes", "on_worker_start", "operation"), "operations"
    ),
    "Pipeline": "pipelines",
    "replay": "methods.replays",
}


def __getattr__(name: str) -> _Any:
    if name in ("dnn", "elementwise", "parallel", "serve", "serving", "sparse", "torch"):
        import importlib

        return importlib.import_module("." + name, __name__)
    if name in _LATER:
        import importlib

        value = getattr(importlib.import_module("." + _LATER[name], __name__), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'troupe' has no attribute '{name}'")


def profile() -> Profile:
    """Collects the time of a device's requests, by operation.

    profile = troupe.profile()
    gpu = system.device(0, trace=profile)
    ...
    print(profile)
    """
    return Profile()


def _spawn(self: System, *args: _Any, **kwargs: _Any) -> _Any:
    from .actors import spawn

    return spawn(self, *args, **kwargs)


def _load(self: Device, *args: _Any, **kwargs: _Any) -> _Any:
    from .loading import load

    return load(self, *args, **kwargs)


def _bind(self: Device, *args: _Any, **kwargs: _Any) -> _Any:
    from .methods.binding import bind

    return bind(self, *args, **kwargs)


def _unbind(self: Device, name: str) -> None:
    from .methods.binding import unbind

    unbind(self, name)


def _events(self: Device, after: int = 0) -> list[_Any]:
    """The last 1024 events with greater numbers, the oldest first: losses of workers with their
    causes, recoveries, quarantines, stops. The logger `troupe` gets them, too."""
    from ._core import _events

    return _events(self, after)


def _map(self: Device, *args: _Any, **kwargs: _Any) -> _Any:
    """Applies a function to each element of some tensors: see troupe.elementwise."""
    from .elementwise.requests import map

    Device.map = map  # type: ignore[method-assign] # from now on
    return map(self, *args, **kwargs)


def _rows(self: Device, *args: _Any, **kwargs: _Any) -> _Any:
    """Applies a function with row operations to rows: see troupe.elementwise."""
    from .elementwise.requests import rows

    Device.rows = rows  # type: ignore[method-assign]
    return rows(self, *args, **kwargs)


def _reduce(self: Device, *args: _Any, **kwargs: _Any) -> _Any:
    """Reduces along axes, with functions before and after: see troupe.elementwise."""
    from .elementwise.requests import reduce

    Device.reduce = reduce  # type: ignore[method-assign]
    return reduce(self, *args, **kwargs)


def _einsum(self: Device, *args: _Any, **kwargs: _Any) -> _Any:
    """Contracts tensors whose dimensions have names: see troupe.einsum."""
    from .einsum import einsum

    Device.einsum = einsum  # type: ignore[method-assign]
    return einsum(self, *args, **kwargs)


def _compute(self: Device, *args: _Any, **kwargs: _Any) -> _Any:
    """Computes a part of a network, written as a function of tensors: see troupe.dnn."""
    from .dnn import compute

    Device.compute = compute  # type: ignore[method-assign]
    return compute(self, *args, **kwargs)


def _record(self: Device, name: str) -> Graph:
    """Records this thread's requests to this device instead of sending them: see troupe.Graph."""
    from .methods.graphs import record

    return record(self, name)


def _run(self: Device, graph: Graph, **kwargs: _Any) -> Future[GraphReplies]:
    """Sends the requests of a graph as one request."""
    from .methods.graphs import run

    Device.run = run  # type: ignore[method-assign]
    return run(self, graph, **kwargs)


def _kv_cache(self: Device, **kwargs: _Any) -> KvCache:
    from .methods.kv_cache import make

    return make(self, **kwargs)


def _attend(self: KvStep, layer: int, q: Tensor, **kwargs: _Any) -> Future[_Any]:
    """Attention of the step's new tokens, by dnn.attention_forward."""
    from .methods.kv_cache import attend

    return attend(self, layer, q, **kwargs)


def _add_done_callback(self: Future[_Any], callback: _Any) -> None:
    """Has a function called with this future once it is done, at once if it is.

    Attached where an event loop runs, it is called by that loop, elsewhere by a thread of Troupe's,
    as `concurrent.futures` does: so `asyncio.wait` takes futures. What it raises is printed.
    """
    from .methods.callbacks import add_done_callback

    add_done_callback(self, callback)


def _remove_done_callback(self: Future[_Any], callback: _Any) -> int:
    """Undoes add_done_callback(). Returns how often the function was attached."""
    from .methods.callbacks import remove_done_callback

    return remove_done_callback(self, callback)


def _as_concurrent(self: Future[_Any]) -> _Any:
    """A `concurrent.futures.Future` of the same answer, for what takes only those.

    asyncio.wrap_future(future.as_concurrent()), concurrent.futures.wait(...) and as_completed(...).
    Cancelling it cancels the request.
    """
    from .methods.callbacks import as_concurrent

    return as_concurrent(self)


def _enter_step(self: KvStep) -> KvStep:
    return self


def _leave_step(self: KvStep, kind: _Any, *_: _Any) -> None:
    if self.over:
        return
    if kind is None:
        self.commit()
    else:
        self.abandon()


# The parts of the classes that are written in Python.
for _owner, _name, _function in (
    (Device, "tensor", _arrays.tensor),
    (Device, "full", _creation.full),
    (Device, "ones", _creation.ones),
    (Device, "arange", _creation.arange),
    (Device, "concatenate", _creation.concatenate),
    (Device, "stack", _creation.stack),
    (Device, "copy", _arrays.copy),
    (Device, "load", _load),
    (Device, "bind", _bind),
    (Device, "events", _events),
    (Device, "unbind", _unbind),
    (Device, "map", _map),
    (Device, "rows", _rows),
    (Device, "reduce", _reduce),
    (Device, "einsum", _einsum),
    (Device, "compute", _compute),
    (Device, "kv_cache", _kv_cache),
    (Device, "record", _record),
    (Device, "run", _run),
    (KvStep, "attend", _attend),
    (KvStep, "__enter__", _enter_step),
    (KvStep, "__exit__", _leave_step),
    (Tensor, "mapped", _arrays.mapped),
    (Tensor, "in_place", _arrays.in_place),
    (Tensor, "__getattr__", _refusals.missing_attribute),
    (Future, "__getattr__", _futures.attribute),
    (Future, "__getitem__", _futures.item),
    (Future, "__iter__", _futures.parts),
    (Future, "__array__", _futures.as_array),
    (Future, "numpy", _futures.numpy),
    (Future, "tolist", _futures.tolist),
    (Future, "item", _futures.value),
    (Future, "mapped", _futures.mapped),
    (Future, "add_done_callback", _add_done_callback),
    (Future, "remove_done_callback", _remove_done_callback),
    (Future, "as_concurrent", _as_concurrent),
    (System, "spawn", _spawn),
):
    setattr(_owner, _name, _function)
_refusals.install()

# Workers and threads end before the interpreter does.
_atexit.register(_close_all)

__all__ = [
    "Actor",
    "ActorRef",
    "Device",
    "DeviceLink",
    "Future",
    "Graph",
    "GraphReplies",
    "Journal",
    "KvCache",
    "KvStep",
    "Library",
    "MappedTensor",
    "Operation",
    "Pipeline",
    "Profile",
    "Reads",
    "ReadsMany",
    "Supervision",
    "System",
    "Telemetry",
    "Tensor",
    "Timer",
    "Updates",
    "World",
    "Writes",
    "__version__",
    "as_completed",
    "dnn",
    "elementwise",
    "gather",
    "libraries",
    "on_worker_start",
    "operation",
    "parallel",
    "profile",
    "replay",
    "requests",
    "serve",
    "serving",
    "sparse",
]
__all__ += _errors.__all__


def __dir__() -> list[str]:
    return [*__all__, "torch"]
