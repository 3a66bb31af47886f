"""Attention in two contractions over dimensions that have names, beside NumPy."""

import numpy as np
import troupe

rng = np.random.default_rng(1)
q, k, v = rng.standard_normal((3, 2, 16, 4, 8), dtype="f4")  # sequence, position, head, within

# region: attention
with troupe.System() as system:
    gpu = system.device(0)
    query, key, value = gpu.tensor(q), gpu.tensor(k), gpu.tensor(v)

    scores = gpu.einsum("bqhd,bkhd->bhqk", query, key, alpha=8**-0.5)
    scores = gpu.elementwise.softmax(scores)
    out = gpu.einsum("bhqk,bkhd->bqhd", scores, value)
    # endregion: attention

    expected = np.einsum("bqhd,bkhd->bhqk", q, k) * 8**-0.5
    expected = np.exp(expected - expected.max(-1, keepdims=True))
    expected /= expected.sum(-1, keepdims=True)
    expected = np.einsum("bhqk,bkhd->bqhd", expected, v)
    print("the same as NumPy's:", np.allclose(out.numpy(), expected, atol=1e-5))

    # Several operands in one request, in the order that takes the fewest operations.
    a, b, c = rng.standard_normal((3, 32, 32))
    chain = gpu.einsum("ij,jk,kl->il", gpu.tensor(a), gpu.tensor(b), gpu.tensor(c))
    print("a chain of three:", np.allclose(chain.numpy(), a @ b @ c))
