"""Sparse matrices beside NumPy and scipy.sparse: in, out, products and conversions."""

import numpy as np
import pytest
import troupe
from troupe import sparse

TYPES = ["f4", "f8", "c8", "c16"]


class Scipy:
    """What `from_scipy` looks at of a matrix in csr, where scipy is not installed."""

    format = "csr"
    has_sorted_indices = True

    def __init__(self, dense):
        self.shape = dense.shape
        rows, self.indices = (part.astype("i4") for part in np.nonzero(dense))
        self.data = dense[rows, self.indices]
        self.indptr = np.searchsorted(rows, np.arange(len(dense) + 1)).astype("i4")


def drawn(rng, shape, dtype):
    x = rng.standard_normal(shape) * (rng.random(shape) < 0.3)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * x
    return x.astype(dtype)


def near(actual, expected, dtype):
    eps = np.finfo(dtype).eps * 100
    np.testing.assert_allclose(actual, expected, rtol=eps, atol=eps * (np.abs(expected).max() + 1))


@pytest.mark.parametrize("dtype", TYPES)
def test_products(gpu, rng, dtype):
    dense = drawn(rng, (30, 20), dtype)
    a = sparse.from_scipy(gpu, Scipy(dense))
    a.validate().result()
    x = rng.standard_normal(20).astype(dtype)
    near(a.spmv(gpu.tensor(x)).result().numpy(), dense @ x, dtype)
    y = rng.standard_normal(30).astype(dtype)
    turned = a.spmv(gpu.tensor(y), op_a="conjugate_transpose").result()
    near(turned.numpy(), dense.conj().T @ y, dtype)
    b = rng.standard_normal((20, 4)).astype(dtype)
    near(a.spmm(gpu.tensor(b), alpha=2).result().numpy(), 2 * dense @ b, dtype)


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_conversions(gpu, rng, format):
    dense = drawn(rng, (12, 17), "f4")
    a = sparse.from_dense(gpu, gpu.tensor(dense), format)
    assert a.values.shape == (np.count_nonzero(dense),)
    np.testing.assert_array_equal(a.dense().numpy(), dense)
    for other in ("csr", "csc", "coo"):
        np.testing.assert_array_equal(a.converted(other).dense().numpy(), dense)
    with pytest.raises(troupe.CapacityExceeded, match="has room for 3"):
        sparse.from_dense(gpu, gpu.tensor(dense), format, capacity=3)


def test_a_bad_pattern_is_named(gpu, rng):
    a = sparse.from_scipy(gpu, Scipy(drawn(rng, (5, 8), "f8") + np.eye(5, 8)))
    wrong = a.indices.numpy()
    wrong[-1] = 8
    bad = sparse.SparseMatrix(gpu, "csr", a.shape, gpu.tensor(wrong), a.values, offsets=a.offsets)
    with pytest.raises(troupe.InvalidArgument, match=r"row 4: column 8 is outside \[0, 8\)"):
        bad.validate().result()


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "lil", "dia"])
def test_scipy(gpu, rng, format):
    sp = pytest.importorskip("scipy.sparse")
    dense = drawn(rng, (12, 18), "f8")
    a = sparse.from_scipy(gpu, sp.csr_array(dense).asformat(format), dtype="f4")
    a.validate().result()
    back = a.scipy()
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back.toarray(), dense.astype("f4"))


@pytest.mark.parametrize("format", ["csr", "csc"])
def test_products_and_solves_of_a_matrix(gpu, rng, format):
    sp = pytest.importorskip("scipy.sparse")
    dense = drawn(rng, (9, 7), "f8"), drawn(rng, (7, 5), "f8")
    a, b = (sparse.from_scipy(gpu, sp.csr_array(one).asformat(format)) for one in dense)
    near(a.spgemm(b, alpha=2).scipy().toarray(), 2 * dense[0] @ dense[1], "f8")
    lower = np.tril(drawn(rng, (8, 8), "f8"), -1) + np.diag(rng.uniform(2, 3, 8))
    triangle = sparse.from_scipy(gpu, sp.csr_array(lower).asformat(format))
    right = rng.standard_normal((8, 3))
    near(triangle.spsm(gpu.tensor(right)).result().numpy(), np.linalg.solve(lower, right), "f8")
    near(
        triangle.spsv(gpu.tensor(right[:, 0].copy())).result().numpy(),
        np.linalg.solve(lower, right[:, 0]),
        "f8",
    )
    with pytest.raises(TypeError, match=r"a\.spgemm\(b\) with another SparseMatrix"):
        a @ b
