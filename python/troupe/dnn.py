"""Parts of a network as computations of your own, each of which is one request.

    import troupe.dnn as nn

    y = gpu.compute(lambda x, w, b, r: nn.gelu(x @ w + b) + r, x, w, b, r).result()

    block = nn.computation(lambda q, k, v: nn.softmax(q @ nn.transpose(k, (0, 2, 1)) / 8) @ v)
    o = gpu.compute(block, q, k, v)     # or await

A function is called once, with `Node`s in place of tensors. What it does with them becomes a
computation; nothing of Python runs on the device. Functions of elements broadcast as in NumPy and
are computed in f32, or f64 for f64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._core import (
    Computation,
    Device,
    Future,
    Node,
    _compute,
    _node,
    _node_cast,
    _node_convolution,
    _node_norm,
    _node_reduce,
    _node_transpose,
    _trace_computation,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._core import TensorLike, _Computable

    Operand = Node | float
    Axes = int | Sequence[int]

__all__ = [
    "Computation",
    "Node",
    "cast",
    "computation",
    "convolution",
    "erf",
    "exp",
    "gelu",
    "gelu_tanh",
    "layer_norm",
    "log",
    "matmul",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "relu",
    "rms_norm",
    "rsqrt",
    "sigmoid",
    "silu",
    "softmax",
    "softplus",
    "sqrt",
    "sum",
    "tanh",
    "transpose",
    "where",
]


def computation(f: Computation | _Computable, inputs: int | None = None) -> Computation:
    """Traces a Python function: calls it once with Nodes, and keeps what it computes.

    It returns a Node or a tuple of Nodes. inputs: how many Nodes it is called with; else as many as
    it has parameters without default. Also a decorator.
    """
    if isinstance(f, Computation):
        return f
    from .elementwise.tracing import count_of

    return _trace_computation(f, count_of(f) if inputs is None else inputs)


def compute(
    self: Device,
    f: Computation | _Computable,
    /,
    *inputs: TensorLike,
    out: TensorLike | Sequence[TensorLike | None] | None = None,
    dtype: Any = None,
    intermediate: str = "f32",
    math: str = "strict",
    engine: str = "automatic",
    tuning: str = "heuristic",
    **options: Any,
) -> Future[Any]:
    """Computes a part of a network, written as a function of tensors, as one request.

    Arguments:
        f: a troupe.dnn.Computation, or a Python function, which is traced with every call: called
            with Nodes in place of tensors
        out: takes the result; for several outputs a tuple. Left out, it is allocated
        dtype: the element type of what is allocated; for several outputs a type for all or a tuple.
            Left out, that of the inputs where they have one, else f32
        intermediate: in which real values may be kept between nodes: "f32", "f16" or "bf16"
        math: "tf32" permits it for products of f32
        engine: how a GPU computes: "automatic", "pieces", or "plan", which waits for cuDNN's plan
        tuning: "timed" takes the fastest of the engines for a plan, which takes longer to make

    Options of every request: deadline, run_limit, quarantine, tag.

    Returns a Future of the output, or of a tuple of the outputs.
    """
    what = f if isinstance(f, Computation) else _trace_computation(f, len(inputs))
    return _compute(
        self,
        what,
        inputs,
        out,
        dtype,
        intermediate,
        math,
        engine,
        tuning,
        options,
    )


def matmul(a: Node, b: Node) -> Node:
    """[..., m, k] · [..., k, n]; a @ b is the same. What is before the last two is broadcast."""
    return a @ b


def convolution(
    x: Node,
    w: Node,
    *,
    stride: Axes = (),
    dilation: Axes = (),
    padding: Axes = (),
    groups: int = 1,
) -> Node:
    """x [n, c, in…] with the filter w [k, c / groups, filter…], as dnn.convolution_forward."""
    return _node_convolution(x, w, stride, dilation, padding, groups)


def layer_norm(
    x: Node,
    weight: Operand | None = None,
    bias: Operand | None = None,
    *,
    eps: float = 1e-5,
    dimensions: int = 1,
) -> Node:
    """Over the last dimensions: (x - mean) / sqrt(variance + eps) * weight + bias."""
    return _node_norm(True, x, weight, bias, eps, dimensions)


def rms_norm(
    x: Node, weight: Operand | None = None, *, eps: float = 1e-5, dimensions: int = 1
) -> Node:
    """Over the last dimensions: x / sqrt(mean of x * x + eps) * weight."""
    return _node_norm(False, x, weight, None, eps, dimensions)


def transpose(x: Node, order: Sequence[int]) -> Node:
    """Dimension d of the result is dimension order[d] of x. Moves nothing."""
    return _node_transpose(x, list(order))


def cast(x: Operand, dtype: Any) -> Node:
    """Rounds to an element type."""
    return _node_cast(x, dtype)


def sum(x: Node, axis: Axes) -> Node:
    """Along axes, which stay with extent 1."""
    return _node_reduce("sum", x, axis)


def mean(x: Node, axis: Axes) -> Node:
    """Along axes, which stay with extent 1."""
    return _node_reduce("mean", x, axis)


def max(x: Node, axis: Axes) -> Node:
    """Along axes, which stay with extent 1; `maximum` is that of two Nodes."""
    return _node_reduce("maximum", x, axis)


def min(x: Node, axis: Axes) -> Node:
    """Along axes, which stay with extent 1; `minimum` is that of two Nodes."""
    return _node_reduce("minimum", x, axis)


def softmax(x: Node, axis: Axes = -1) -> Node:
    """exp(x - max) / sum, along axes."""
    e = exp(x - max(x, axis))
    return e / sum(e, axis)


def relu(x: Operand) -> Node:
    """x where it is positive, else 0."""
    return _node("relu", x)


def gelu(x: Operand) -> Node:
    """x * Phi(x), by erf."""
    return _node("gelu", x)


def gelu_tanh(x: Operand) -> Node:
    """The approximation of gelu by tanh."""
    return _node("gelu_tanh", x)


def silu(x: Operand) -> Node:
    """x * sigmoid(x)."""
    return _node("silu", x)


def sigmoid(x: Operand) -> Node:
    """1 / (1 + exp(-x))."""
    return _node("sigmoid", x)


def softplus(x: Operand) -> Node:
    """log(1 + exp(x))."""
    return _node("softplus", x)


def tanh(x: Operand) -> Node:
    """The hyperbolic tangent."""
    return _node("tanh", x)


def exp(x: Operand) -> Node:
    """e to the power of x."""
    return _node("exp", x)


def log(x: Operand) -> Node:
    """The natural logarithm."""
    return _node("log", x)


def sqrt(x: Operand) -> Node:
    """The square root."""
    return _node("sqrt", x)


def rsqrt(x: Operand) -> Node:
    """1 / sqrt(x)."""
    return _node("rsqrt", x)


def erf(x: Operand) -> Node:
    """The error function."""
    return _node("erf", x)


def maximum(a: Operand, b: Operand) -> Node:
    """The larger one; NaN if either is."""
    return _node("maximum", a, b)


def minimum(a: Operand, b: Operand) -> Node:
    """The smaller one; NaN if either is."""
    return _node("minimum", a, b)


def where(condition: Operand, a: Operand, b: Operand) -> Node:
    """a where the condition holds, else b."""
    return _node("select", condition, a, b)
