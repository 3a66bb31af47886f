"""Graphs: requests that are recorded once and sent as one."""

from __future__ import annotations

import contextlib

from .._core import Graph, _record, _run_graph

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from .._core import Device, Future, GraphReplies, Tensor


class Branch:
    """The bodies of a condition, while they are recorded."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def next(self) -> None:
        """Ends a body: what follows is recorded into the next."""
        self._graph._next()

    # The second body of run_if.
    otherwise = next


def record(self: Device, name: str) -> Graph:
    """Records this thread's requests to this device instead of sending them.

    with gpu.record("step") as step:
        h = gpu.blas.gemm(a=x, b=w)
        norm = gpu.blas.nrm2(x=h[0])
    replies = gpu.run(step).result()
    print(replies[norm])

    Results of recorded requests are tensors at once; they have content once the graph has run.
    Whatever is no request, such as numpy(), raises InvalidArgument in the block.
    """
    return _record(self, name)


def run(
    self: Device,
    graph: Graph,
    *,
    deadline: float | None = None,
    run_limit: float | None = None,
    quarantine: bool = True,
    tag: int = 0,
    **parameters: Tensor | Future[Tensor] | complex,
) -> Future[GraphReplies]:
    """Sends the requests of a graph as one request; keywords are its parameters.

    In the block of another graph, its requests are recorded into that one.
    """
    return _run_graph(self, graph, parameters, deadline, run_limit, quarantine, tag)


@contextlib.contextmanager
def repeat_while(self: Graph, condition: Any, at_most: int = 1_000_000) -> Iterator[None]:
    """Repeats what is recorded in the block while the condition, a tensor of one element, is not 0.

    Numerical ends a run in which it still holds after at_most rounds.
    """
    self._begin_repeat(condition, at_most)
    yield
    self._end()


@contextlib.contextmanager
def run_if(self: Graph, condition: Any) -> Iterator[Branch]:
    """Runs what is recorded in the block if the condition is not 0.

    with step.run_if(flag) as branch:
        ...
        branch.otherwise()
        ...
    """
    self._begin_if(condition)
    yield Branch(self)
    self._end()


@contextlib.contextmanager
def choose(self: Graph, index: Any) -> Iterator[Branch]:
    """Runs the body with the number in index, none if there is no such body.

    with step.choose(index) as branch:
        ...
        branch.next()
        ...
    """
    self._begin_choose(index)
    yield Branch(self)
    self._end()


for _function in (repeat_while, run_if, choose):
    setattr(Graph, _function.__name__, _function)
