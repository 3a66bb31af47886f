"""A network whose matrices are cut between two devices: its logits are those of one device."""

import os
import signal
from typing import Any

import numpy as np
import numpy.typing as npt
import troupe
from troupe import parallel

ROWS, WIDTH, HIDDEN, CLASSES, PASSES = 32, 64, 512, 100, 20
OnRanks = list[Any]  # one tensor of each rank
rng = np.random.default_rng(1)
inputs, *weights = (
    (rng.standard_normal(shape) / np.sqrt(shape[-1])).astype("f4")
    for shape in (
        (ROWS, WIDTH),
        (HIDDEN, WIDTH),
        (HIDDEN, WIDTH),
        (HIDDEN, WIDTH),
        (HIDDEN, CLASSES),
    )
)


# region: linear
def column_linear(world: troupe.World, x: OnRanks, w: OnRanks) -> OnRanks:
    """gelu(x · wᵀ), of which each rank computes some of the columns: it has these rows of w."""
    return [
        gpu.blaslt.matmul(x_, w_.transpose(), epilogue="gelu")
        for gpu, x_, w_ in zip(world.devices, x, w, strict=True)
    ]


def row_linear(world: troupe.World, x: OnRanks, w: OnRanks) -> OnRanks:
    """x · w, where each rank has some of x's columns and these rows of w; the sums are added."""
    parts = [gpu.blaslt.matmul(x_, w_) for gpu, x_, w_ in zip(world.devices, x, w, strict=True)]
    world.collective.all_reduce(x=parts, y=parts)
    return parts


# endregion: linear


def scatter(world: troupe.World, w: npt.NDArray[np.float32]) -> OnRanks:
    x = [world.devices[0].tensor(w), *[None] * (len(world) - 1)]
    return world.collective.scatter(x=x).result()


def logits(world: troupe.World, *, kill: bool = False) -> npt.NDArray[np.float32]:
    up, down, wide, head = (scatter(world, w) for w in weights)
    on_ranks = parallel.replicate(world, [world.devices[0].tensor(inputs)]).result()
    x = [of_rank[0] for of_rank in on_ranks]
    found: list[Any] = []
    for step in range(PASSES):
        h = row_linear(world, column_linear(world, x, up), down)
        if kill and step == PASSES // 2 and world.devices[-1].worker_pid:
            os.kill(world.devices[-1].worker_pid, signal.SIGKILL)
        found.append(row_linear(world, column_linear(world, h, wide), head)[-1])
    return np.stack([one.numpy() for one in found])


with troupe.System() as system:
    both = system.world([system.device(i, backend="cpu") for i in range(2)])
    on_two, disturbed = logits(both), logits(both, kill=True)
    on_one = logits(system.world(both.devices[:1]))
    print("with a killed worker the same to the bit:", np.array_equal(on_two, disturbed))
    print("as one device has them:", np.allclose(on_two, on_one, atol=1e-4))
