"""Products of matrices in every order, with gaps, repeated batches and extents of 0 and 1."""

import itertools

import numpy as np
import pytest
import troupe


def forms(gpu, x):
    """The same matrix in several layouts, with NaNs between its elements."""
    wide = np.full((x.shape[0], x.shape[1] * 2 + 3), np.nan, x.dtype)
    wide[:, 1 : 1 + x.shape[1]] = x
    every = np.full((x.shape[0] * 2, max(1, x.shape[1] * 2)), np.nan, x.dtype)
    every[::2, ::2][:, : x.shape[1]] = x
    return {
        "row": gpu.tensor(x),
        "column": gpu.tensor(np.ascontiguousarray(x.T)).T,
        "gap": gpu.tensor(wide)[:, 1 : 1 + x.shape[1]],
        "steps": gpu.tensor(every)[::2, ::2][:, : x.shape[1]],
    }


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(
    ("m", "k", "n"), [(1, 5, 1), (5, 1, 5), (3, 4, 1), (4, 5, 6), (2, 0, 3), (0, 4, 3)]
)
def test_layouts(gpu, rng, dtype, m, k, n):
    a, b = (rng.standard_normal(extents).astype(dtype) for extents in ((m, k), (k, n)))
    for one, other in itertools.product(forms(gpu, a).items(), forms(gpu, b).items()):
        t = gpu.tensor(a).dtype
        for c in (gpu.empty((m, n), t), gpu.empty((n, m), t).T):
            try:
                found = gpu.blas.gemm(a=one[1], b=other[1], c=c).result().numpy()
            except troupe.LayoutUnsupported:
                assert "steps" in (one[0], other[0])
                continue
            np.testing.assert_allclose(found, a @ b, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("repeated", ["", "a", "b", "ab"])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_batches(gpu, rng, repeated, n):
    a, b = rng.standard_normal((n, 3, 4)), rng.standard_normal((n, 4, 5))
    if not repeated:
        c = gpu.empty((n, 3, 5), "f64")
        c = gpu.blas.gemm_strided_batched(a=gpu.tensor(a), b=gpu.tensor(b), c=c).result()
        np.testing.assert_allclose(c.numpy(), a @ b, rtol=1e-12, atol=1e-12)
    elif n > 0:
        a, b = a[:1] if "a" in repeated else a, b[:1] if "b" in repeated else b
        c = gpu.einsum("bij,bjk->bik", gpu.tensor(a), gpu.tensor(b)).result().numpy()
        np.testing.assert_allclose(c, np.broadcast_to(a @ b, c.shape), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("step", [1, 2, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_vectors_with_steps(gpu, rng, step, turned):
    a, x, y = (rng.standard_normal(extents) for extents in ((5, 4), 4 * step, 5 * step))
    t = gpu.tensor(np.ascontiguousarray(a.T)).T if turned else gpu.tensor(a)
    out = gpu.tensor(y)
    gpu.blas.gemv(a=t, x=gpu.tensor(x)[::step], y=out[::step], alpha=2, beta=0.5).result()
    y[::step] = 2 * a @ x[::step] + 0.5 * y[::step]
    np.testing.assert_allclose(out.numpy(), y, rtol=1e-12, atol=1e-12)
