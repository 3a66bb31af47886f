"""Tensors that are made of a value, a range, or other tensors."""

from __future__ import annotations

from .._core import Device, Future, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from .._core import TensorLike


def full(self: Device, shape: Any, value: complex, dtype: Any = "f32") -> Tensor:
    """A tensor with the same value everywhere."""
    made = self.empty(shape, dtype)
    self.memory.fill(to=made, value=value)
    return made


def ones(self: Device, shape: Any, dtype: Any = "f32") -> Tensor:
    """A tensor of ones."""
    return full(self, shape, 1, dtype)


def arange(
    self: Device, start: float, stop: float | None = None, step: float = 1, dtype: Any = None
) -> Tensor:
    """The numbers from start on, step apart, below stop; arange(stop) begins at 0.

    Their type is dtype; left out, i64 where all three are integers, else f32. They are computed on
    the device, each as start + i * step.
    """
    import math
    import operator

    from ..elementwise import index

    if stop is None:
        start, stop = 0, start
    if step == 0:
        raise ValueError("arange: step must not be 0")
    try:
        # Exact, which a division of floats is not.
        start, stop, step = (operator.index(one) for one in (start, stop, step))  # type: ignore[arg-type]
        count = max(0, -((start - stop) // step))
        dtype = dtype or "i64"
    except TypeError:
        count = max(0, math.ceil((stop - start) / step))
        dtype = dtype or "f32"
    made = self.empty(count, dtype)
    if count:
        self.map(lambda: start + index() * step, out=made)
    return made


def concatenate(
    self: Device, tensors: Sequence[TensorLike], axis: int = 0, out: TensorLike | None = None
) -> Tensor:
    """Copies tensors behind each other along an axis that they have.

    Their other extents and their types have to be equal. out takes the result; left out, it is
    allocated. The tensors may be results that are still being computed.
    """
    parts = list(tensors)
    first = _first(parts, "concatenate")
    rank = first.ndim
    if not -rank <= axis < rank:
        raise ValueError(
            f"concatenate: axis must be one of the {rank} dimensions; it is {axis}. stack() puts "
            "tensors along a new one"
        )
    axis %= rank
    for i, one in enumerate(parts):
        if _without(one.shape, axis) != _without(first.shape, axis):
            raise ValueError(
                f"concatenate: all extents but that of axis {axis} must be equal; tensor 0 is "
                f"{list(first.shape)}, tensor {i} is {list(one.shape)}"
            )
    shape = list(first.shape)
    shape[axis] = sum(one.shape[axis] for one in parts)
    made = _target(self, out, shape, first, "concatenate")
    begin = 0
    for one in parts:
        end = begin + one.shape[axis]
        _copy(self, one, made[(slice(None),) * axis + (slice(begin, end),)])
        begin = end
    return made


def stack(
    self: Device, tensors: Sequence[TensorLike], axis: int = 0, out: TensorLike | None = None
) -> Tensor:
    """Copies tensors of one shape and type beside each other, along a new axis.

    out takes the result; left out, it is allocated.
    """
    parts = list(tensors)
    first = _first(parts, "stack")
    rank = first.ndim + 1
    if not -rank <= axis < rank:
        raise ValueError(
            f"stack: axis must be one of the {rank} dimensions of the result; it is {axis}"
        )
    axis %= rank
    for i, one in enumerate(parts):
        if one.shape != first.shape:
            raise ValueError(
                f"stack: all tensors must have one shape; tensor 0 is {list(first.shape)}, tensor "
                f"{i} is {list(one.shape)}"
            )
    shape = [*first.shape[:axis], len(parts), *first.shape[axis:]]
    made = _target(self, out, shape, first, "stack")
    for i, one in enumerate(parts):
        _copy(self, one, made[(slice(None),) * axis + (i,)])
    return made


def _first(parts: list[Any], name: str) -> Any:
    if not parts:
        raise ValueError(f"{name}: at least one tensor must be given")
    for i, one in enumerate(parts):
        if not isinstance(one, (Tensor, Future)):
            raise TypeError(
                f"{name}: tensors[{i}] must be a troupe.Tensor; it is a {type(one).__name__}"
            )
        if one.dtype != parts[0].dtype:
            raise TypeError(
                f"{name}: all tensors must have one type; tensor 0 is {parts[0].dtype}, tensor {i} "
                f"is {one.dtype}: device.tensor(tensor, dtype) converts one"
            )
    return parts[0]


def _target(device: Device, out: Any, shape: list[int], first: Any, name: str) -> Tensor:
    if out is None:
        return device.empty(shape, first.dtype)
    if list(out.shape) != shape or out.dtype != first.dtype:
        raise ValueError(
            f"{name}: out must be {first.dtype}{shape}; it is {out.dtype}{list(out.shape)}"
        )
    made: Tensor = out._written if isinstance(out, Future) else out
    return made


def _copy(device: Device, source: Any, to: Tensor) -> None:
    """Copies one part. Raises what is refused by now; what fails later taints the whole."""
    copied = device._copy(source, to)
    if copied.done():
        copied.result()


def _without(shape: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return shape[:axis] + shape[axis + 1 :]
