"""Arrays for a device, without a wait of the event loop."""

from __future__ import annotations

from typing import Any

import troupe


def sent_to(gpu: troupe.Device, array: Any) -> troupe.Tensor:
    """On its way to the device: what uses it waits there, and not the caller, as in `gpu.tensor`."""
    made = gpu.empty(array.shape, array.dtype)
    gpu.copy(array, made)
    return made
