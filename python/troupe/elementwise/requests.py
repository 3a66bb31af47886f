"""`device.map`, `rows` and `reduce`: functions sent with their tensors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._core import Device, Function, Future, Tensor, _map, _reduce, _rows
from .tracing import traced

if TYPE_CHECKING:
    from .._core import TensorLike


def _function_of(f: Function | Callable[..., Any], inputs: Sequence[Any]) -> Function:
    return f if isinstance(f, Function) else traced(f, len(inputs), _complex_ones(inputs))


def _complex_ones(inputs: Sequence[Any]) -> int:
    """A bit for each input that is complex."""
    bits = 0
    for i, one in enumerate(inputs):
        # A number's type, Python's or NumPy's, has such a name.
        is_tensor = isinstance(one, (Tensor, Future))
        kind = getattr(one, "dtype", "") if is_tensor else type(one).__name__
        if kind in ("c64", "c128", "complex", "complex64", "complex128"):
            bits |= 1 << i
    return bits


def map(
    self: Device,
    f: Function | Callable[..., Any],
    /,
    *inputs: TensorLike | float,
    out: TensorLike | Sequence[TensorLike | None] | None = None,
    dtype: Any = None,
    **options: Any,
) -> Future[Any]:
    """Applies a function to each element of some tensors, in one pass over memory.

    Arguments:
        f: a troupe.elementwise.Function, or a Python function, which is traced: called once with
            Expressions in place of elements, a Complex for complex ones
        inputs: tensors, which are broadcast as in NumPy, and numbers, which are constants
        out: takes the result, and may be an input; for several outputs a tuple. Left out, it is
            allocated
        dtype: the element type of what is allocated; for several outputs a type for all or a tuple.
            Left out, that of the inputs: of different ones what holds both, of comparisons bool

    Options of every request: deadline, run_limit, quarantine, tag.

    Returns a Future of the output, or of a tuple of the outputs.
    """
    what = _function_of(f, inputs)
    return _map(self, what, inputs, out, dtype, options)


def rows(
    self: Device,
    f: Function | Callable[..., Any],
    /,
    *inputs: TensorLike | float,
    axis: int | Sequence[int] = -1,
    keepdims: bool = False,
    out: TensorLike | Sequence[TensorLike | None] | None = None,
    dtype: Any = None,
    **options: Any,
) -> Future[Any]:
    """Applies a function with row operations, such as row_sum, to each row: softmax, reductions.

    Arguments:
        axis: the dimensions that make a row
        keepdims: what is the same for a whole row has one element for it; True keeps the row's
            dimensions, with extent 1
        f, inputs, out, dtype: as in device.map

    Options of every request: deadline, run_limit, quarantine, tag.

    Returns a Future of the output, or of a tuple of the outputs.
    """
    what = _function_of(f, inputs)
    return _rows(self, what, inputs, axis, keepdims, out, dtype, options)


def reduce(
    self: Device,
    op: str,
    /,
    *inputs: TensorLike | float,
    before: Function | Callable[..., Any] | None = None,
    after: Function | Callable[..., Any] | None = None,
    axis: int | Sequence[int] | None = None,
    keepdims: bool = False,
    out: TensorLike | Sequence[TensorLike | None] | None = None,
    dtype: Any = None,
    **options: Any,
) -> Future[Any]:
    """Reduces along axes, in one pass over memory: after(op(before(inputs))).

        norm = gpu.reduce("sum", x, before=lambda x: x * x, after=ew.sqrt, axis=-1)

    Arguments:
        op: "sum", "product", "minimum", "maximum", "argmin", "argmax", "mean", "any" or "all"
        before: a function of an element of each input, as in device.map, whose outputs are reduced;
            left out, the inputs are
        after: a function of the reduced values
        axis: the dimensions that are reduced; left out, all are
        keepdims: keeps them, with extent 1
        inputs, out, dtype: as in device.map

    Options of every request: deadline, run_limit, quarantine, tag.

    Returns a Future of the output, or of a tuple of the outputs.
    """
    first = None if before is None else _function_of(before, inputs)
    if after is None or isinstance(after, Function):
        last = after
    elif first is None:
        last = _function_of(after, inputs)
    else:
        last = traced(after, first.outputs, first._complex_outputs)
    return _reduce(self, op, inputs, first, last, axis, keepdims, out, dtype, options)
