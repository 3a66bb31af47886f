"""Mixtures of experts: each row goes through some of many small networks."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import troupe
from troupe import dnn

from ..errors import CapacityExceeded, ShapeMismatch

if TYPE_CHECKING:
    from troupe import Device, Tensor

_add_weighted = troupe.elementwise.function(lambda y, w, x: y + w * x)


@dataclass(frozen=True)
class Mixed:
    """Rows, and which of them were not computed by all the experts that the gate had chosen."""

    y: Tensor
    """[rows, width]. What was dropped counts as 0: add the input, as a residual."""
    dropped: Sequence[tuple[int, int]]
    """Rows and experts that had no room for them."""
    failed: Sequence[int]
    """Rows for which the gate gives NaN. Their y is NaN."""
    load: Sequence[int]
    """Rows of each expert."""


class Experts:
    """Sends each row to the experts that a gate chooses, and adds up what they give.

        experts = Experts(gpu, [(w_in, w_out), ...], gate=w_gate, top_k=2, capacity=1.25)
        mixed = await experts(x)          # x [rows, width]
        mixed.y, mixed.dropped, mixed.failed

    y = Σ p · (activation(x · w_in) · w_out) over the top_k experts with the largest x · gate, with the
    softmax of these as p. The rows of an expert are one packed product, so the work is that of dense
    products of as many rows.

    on: a device for each expert, with its weights; else all are on `device`. If the worker of one is
    lost, its rows wait for the next one, and the other experts go on.
    capacity: an expert takes capacity · rows · top_k / experts rows, the first ones; None: all.
    overflow: "drop" names the others in the answer, "refuse" raises CapacityExceeded.
    """

    def __init__(
        self,
        device: Device,
        weights: Sequence[tuple[Tensor, Tensor]],
        *,
        gate: Tensor,
        top_k: int = 2,
        capacity: float | None = 1.25,
        overflow: str = "drop",
        activation: Callable[[Any], Any] = dnn.gelu,
        on: Sequence[Device] | None = None,
    ) -> None:
        if not 1 <= top_k <= len(weights):
            raise ValueError(f"Experts: top_k is from 1 to {len(weights)}; it is {top_k}")
        if capacity is not None and not capacity > 0:
            raise ValueError(f"Experts: capacity must be positive; it is {capacity}")
        if overflow not in ("drop", "refuse"):
            raise ValueError(f"Experts: overflow is 'drop' or 'refuse', not {overflow!r}")
        if on is not None and len(on) != len(weights):
            raise ValueError(f"Experts: {len(on)} devices for {len(weights)} experts")
        self.device, self.gate = device, gate
        self._weights, self._on = list(weights), on or [device] * len(weights)
        self._top_k, self._capacity, self._overflow = top_k, capacity, overflow
        self.width = gate.shape[0]
        _check(self._weights, gate)
        self._expert = dnn.computation(lambda x, w, v: activation(x @ w) @ v)
        self._product = dnn.computation(lambda x, w: x @ w)

    async def __call__(self, x: Tensor) -> Mixed:
        import numpy as np

        if len(x.shape) != 2 or x.shape[1] != self.width:
            raise ShapeMismatch(f"Experts: x must be [rows, {self.width}]; it is {list(x.shape)}")
        rows = x.shape[0]
        logits = np.empty((rows, len(self._weights)), "f4")
        scores = self.device.compute(self._product, x, self.gate)
        if x.dtype != "f32":
            scores = self.device.map(lambda a: a, scores, dtype="f32")
        await self.device.copy(scores, logits)
        routed = _route(logits, self._top_k, self._room(rows))
        if routed.dropped and self._overflow == "refuse":
            row, expert = routed.dropped[0]
            text = f"Experts: expert {expert} has no room for row {row}"
            raise CapacityExceeded(f"{text}, nor for {len(routed.dropped) - 1} more")
        made = await asyncio.gather(
            *(self._of(e, x, ids) for e, ids in enumerate(routed.rows) if len(ids))
        )
        # One row of zeros behind them, for what was dropped.
        nothing = self.device.zeros((1, self._weights[0][1].shape[1]), x.dtype)
        all = self.device.concatenate([*made, nothing])
        y: Any = self.device.zeros((rows, nothing.shape[1]), x.dtype)
        for k in range(self._top_k):
            places = self.device.tensor(np.ascontiguousarray(routed.places[:, k]))
            share = self.device.tensor(np.ascontiguousarray(routed.shares[:, k : k + 1]), x.dtype)
            part = self.device.elementwise.gather_rows(all, places)
            y = self.device.map(_add_weighted, y, share, part)
        load = [len(ids) for ids in routed.rows]
        return Mixed(await y, routed.dropped, routed.failed, load)

    def _room(self, rows: int) -> int:
        if self._capacity is None:
            return rows
        return math.ceil(self._capacity * rows * self._top_k / len(self._weights))

    async def _of(self, expert: int, x: Tensor, ids: Any) -> Tensor:
        """What one expert gives for its rows, on the device of x."""
        there = self._on[expert]
        w_in, w_out = self._weights[expert]
        mine = self.device.elementwise.gather_rows(x, self.device.tensor(ids))
        if there is self.device:
            return await self.device.compute(self._expert, mine, w_in, w_out)  # type: ignore[no-any-return]
        sent = there.empty((len(ids), self.width), x.dtype)
        await there.copy(await mine, sent)
        y = await there.compute(self._expert, sent, w_in, w_out)
        back = self.device.empty(y.shape, x.dtype)
        await self.device.copy(y, back)
        return back


@dataclass(frozen=True)
class _Routed:
    rows: list[Any]  # the numbers of each expert's rows
    places: Any  # [rows, top_k]: in the experts' rows one after the other; the end: nowhere
    shares: Any  # [rows, top_k]
    dropped: list[tuple[int, int]]
    failed: list[int]


def _route(logits: Any, top_k: int, room: int) -> _Routed:
    import numpy as np

    count, experts = logits.shape
    bad = np.isnan(logits).any(1)
    chosen = np.argsort(-np.where(bad[:, None], 0, logits), axis=1, kind="stable")[:, :top_k]
    best = np.take_along_axis(logits, chosen, 1)
    with np.errstate(invalid="ignore"):
        powers = np.exp(best - best.max(1, keepdims=True, initial=-np.inf))
    shares = powers / powers.sum(1, keepdims=True)
    flat = np.where(np.repeat(bad, top_k), experts, chosen.reshape(-1))
    order = np.argsort(flat, kind="stable")  # by expert, then by row
    sizes = np.bincount(flat, minlength=experts + 1)
    starts = np.concatenate(([0], np.cumsum(sizes)))
    rank = np.empty(len(flat), np.int64)
    rank[order] = np.arange(len(flat)) - starts[flat[order]]
    kept = (rank < room) & (flat < experts)
    taken = np.minimum(sizes[:experts], room)
    begins = np.concatenate(([0], np.cumsum(taken)))
    places = np.full(len(flat), begins[-1], np.int32)
    places[kept] = (begins[flat[kept]] + rank[kept]).astype(np.int32)
    rows = [
        (order[starts[e] : starts[e] + taken[e]] // top_k).astype(np.int32) for e in range(experts)
    ]
    lost = np.nonzero(~kept & (flat < experts))[0]
    return _Routed(
        rows,
        places.reshape(count, top_k),
        np.where(bad[:, None], np.float32("nan"), shares).astype("f4"),
        [(int(i) // top_k, int(flat[i])) for i in lost],
        [int(i) for i in np.nonzero(bad)[0]],
    )


def _check(weights: Sequence[tuple[Tensor, Tensor]], gate: Tensor) -> None:
    width, experts = gate.shape
    if experts != len(weights):
        raise ShapeMismatch(f"Experts: gate is for {experts} experts; there are {len(weights)}")
    first = [one.shape for one in weights[0]]
    for i, (w_in, w_out) in enumerate(weights):
        shapes = [w_in.shape, w_out.shape]
        fits = len(w_in.shape) == len(w_out.shape) == 2 and w_in.shape[1] == w_out.shape[0]
        if not fits or w_in.shape[0] != width or shapes != first:
            text = " and ".join(str(list(one)) for one in shapes)
            raise ShapeMismatch(
                f"Experts: the weights of expert {i} are {text}; they must be [{width}, h] and "
                "[h, n], the same for all"
            )
        if {w_in.dtype, w_out.dtype} != {gate.dtype}:
            raise ShapeMismatch(f"Experts: expert {i} has {w_in.dtype}; the gate is {gate.dtype}")
