"""Batches in front of a model, for asyncio.

    async def run(items):                       # a batch: answers in the same order
        return (await gpu.vision.embed(np.stack(items))).numpy()

    embed = troupe.serving.Batcher(run, items=32, deadline=0.2)
    vector = await embed(image, tenant="a")     # from any task of the loop

A batch begins when there is room for it, and grows while others run. When a batch fails, it is run
again in pieces: only the item that is the reason fails. The guide to serving says what decides.
"""

from .batcher import Batcher
from .canaries import canaries, cosine
from .cascade import Cascade, Staged
from .experts import Experts, Mixed
from .items import Batch, Refused
from .packing import Packed, pack
from .replicas import Replicas
from .sequences import Sequences
from .swap import Swap, Versioned

__all__ = [
    "Batch", "Batcher", "Cascade", "Experts", "Mixed", "Packed", "Refused", "Replicas", "Sequences",
    "Staged", "Swap", "Versioned", "canaries", "cosine", "pack",
]  # fmt: skip
