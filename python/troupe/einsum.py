"""`device.einsum`: NumPy's notation for `tensors.einsum`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ._core import Device, Future, Tensor

if TYPE_CHECKING:
    from ._core import TensorLike


def _with_result(modes: str) -> str:
    """The modes with the result that NumPy takes where none is given: those named once, sorted."""
    if "->" in modes:
        return modes
    once = sorted(m for m in set(modes) - {",", " "} if modes.count(m) == 1)
    return f"{modes}->{''.join(once)}"


def _empty_result(device: Device, modes: str, operands: tuple[TensorLike, ...]) -> Tensor:
    """The result's tensor. If the operands are invalid, the request refuses them with any shape."""
    lists, _, result = modes.replace(" ", "").partition("->")
    extents: dict[str, int] = {}
    for names, operand in zip(lists.split(","), operands, strict=False):
        for name, extent in zip(names, operand.shape, strict=False):
            extents[name] = extent if extents.get(name, 1) == 1 else extents[name]
    return device.empty(tuple(extents.get(name, 1) for name in result), operands[0].dtype)


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
            are summed over
        operands: of one type, f32 f64 f16 bf16 c64 or c128
        out: takes the result. Left out, it is allocated
        alpha: factor of the sums
        math: "strict", "tf32" or "bf16x9"

    Options of every request: deadline, run_limit, quarantine.

    Returns a Future of the result.
    """
    if not operands:
        raise TypeError("einsum takes at least one operand")
    modes = _with_result(modes)
    d = _empty_result(self, modes, operands) if out is None else out
    return self.tensors.einsum(
        modes=modes, operands=list(operands), d=d, alpha=alpha, math=math, **options
    )
