"""`device.einsum`: NumPy's notation for `tensors.einsum`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal

from ._core import Device, Future, Tensor

if TYPE_CHECKING:
    from ._core import TensorLike


def _with_result(modes: str) -> str:
    """The modes with the result that NumPy takes where none is given: those named once, sorted,
    behind the ellipsis."""
    if "->" in modes:
        return modes
    once = sorted(m for m in set(modes) - set(", .") if modes.count(m) == 1)
    return f"{modes}->{'...' if '...' in modes else ''}{''.join(once)}"


def _named_extents(names: str, shape: tuple[int, ...]) -> Iterator[tuple[str | int, int]]:
    """The extents of an operand by letter, and of its ellipsis by the place before its end."""
    before, dots, behind = names.partition("...")
    if not dots:
        yield from zip(names, shape, strict=False)
        return
    end = max(len(shape) - len(behind), len(before))
    yield from zip(before, shape, strict=False)
    yield from zip(behind, shape[end:], strict=False)
    for at in range(len(before), end):
        yield end - at, shape[at]


def _empty_result(device: Device, modes: str, operands: tuple[TensorLike, ...]) -> Tensor:
    """The result's tensor. If the operands are invalid, the request refuses them with any shape."""
    lists, _, result = modes.replace(" ", "").partition("->")
    extents: dict[str | int, int] = {}
    for names, operand in zip(lists.split(","), operands, strict=False):
        for name, extent in _named_extents(names, operand.shape):
            extents[name] = extent if extents.get(name, 1) == 1 else extents[name]
    count = max((name for name in extents if isinstance(name, int)), default=0)
    before, dots, behind = result.partition("...")
    order = [*before, *(range(count, 0, -1) if dots else ()), *behind]
    return device.empty(tuple(extents.get(name, 1) for name in order), operands[0].dtype)


def einsum(
    self: Device,
    modes: str,
    /,
    *operands: TensorLike,
    out: TensorLike | None = None,
    alpha: complex = 1,
    math: Literal["strict", "tf32", "bf16x9"] = "strict",
    **options: Any,
) -> Future[Tensor]:
    """Contracts tensors whose dimensions have names, in the best order, as one request.

        scores = gpu.einsum("bqhd,bkhd->bhqk", query, key).result()

    Arguments:
        modes: a list of letters for each operand and, behind "->", for the result; without an
            arrow the result has those that are named once, sorted. Letters that the result lacks
            are summed over. An ellipsis, "...ij,...jk->...ik", stands for dimensions without names,
            which are broadcast together
        operands: of one type, f32 f64 f16 bf16 c64 c128 i32 or i64. Sums of integers wrap
        out: takes the result. Left out, it is allocated
        alpha: factor of the sums
        math: "strict", "tf32" or "bf16x9"

    Options of every request: deadline, run_limit, quarantine, tag.

    Returns a Future of the result.
    """
    if not operands:
        raise TypeError("einsum takes at least one operand")
    modes = _with_result(modes)
    d = _empty_result(self, modes, operands) if out is None else out
    return self.tensors.einsum(
        modes=modes, operands=list(operands), d=d, alpha=alpha, math=math, **options
    )
