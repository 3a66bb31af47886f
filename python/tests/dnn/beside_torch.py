"""Helpers of the sweeps beside PyTorch: tensors drawn for both, and tolerances of results."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")
# Units in the last place of the type, for sums of numbers of about 1.
ROUNDING = {"f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}


def where():
    return "cuda" if torch.cuda.is_available() else "cpu"


def in_torch(tensor):
    """A tensor's elements as a PyTorch tensor in f64."""
    return torch.from_numpy(np.ascontiguousarray(tensor.numpy().astype("f8"))).to(where())


def drawn(rng, gpu, dtype, *shape):
    """A tensor, and what it holds as one of PyTorch in f64."""
    rounded = gpu.tensor(rng.standard_normal(shape).astype("f4"), dtype)
    return rounded, in_torch(rounded)


def assert_close(ours, expected, dtype, terms, what):
    expected = expected.detach().cpu().numpy()
    # A result's own rounding, and that of its sum.
    bound = ROUNDING[dtype] * np.abs(expected) + 2.0**-20 * terms
    if dtype != "f32":
        bound += ROUNDING[dtype] * max(1.0, np.sqrt(terms)) / 2
    off = np.abs(ours.numpy().astype("f8") - expected) - bound
    assert np.isfinite(off).all(), what
    assert off.max(initial=-1) <= 0, (what, off.max())
