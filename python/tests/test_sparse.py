"""Sparse matrices beside NumPy and scipy.sparse: in, out, products and conversions."""

import numpy as np
import pytest
import troupe
from troupe import sparse

TYPES = ["f4", "f8", "c8", "c16"]


class Scipy:
    """The attributes of a csr matrix that `from_scipy` reads, for when scipy is not installed."""

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


@pytest.mark.parametrize("dtype", ["f2", *TYPES])
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_duplicates_are_added_up_everywhere(gpu, dtype, format):
    rows = gpu.tensor(np.array([0, 0, 0, 0, 2, 2], "i4"))
    columns = gpu.tensor(np.array([1, 0, 1, 1, 2, 2], "i4"))
    values = gpu.tensor(np.array([1, 5, 2, 4, 3, 3], dtype))
    expected = np.array([[5, 7, 0], [0, 0, 0], [0, 0, 6]], dtype)
    a = sparse.SparseMatrix(gpu, "coo", (3, 3), columns, values, row_indices=rows)
    a = a if format == "coo" else a.converted(format)
    assert a.values.shape == (6,)
    np.testing.assert_array_equal(a.dense().numpy(), expected)
    np.testing.assert_array_equal(
        a.spmm(gpu.tensor(np.eye(3, dtype=dtype))).result().numpy(), expected
    )
    if format != "coo":
        np.testing.assert_array_equal(a.spgemm(a).dense().numpy(), expected @ expected)
    with pytest.raises(troupe.InvalidArgument, match="occurs twice|comes behind"):
        a.validate().result()


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


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("uplo", ["lower", "upper"])
@pytest.mark.parametrize("diag", ["unit", "non_unit"])
@pytest.mark.parametrize("op", ["none", "transpose", "conjugate_transpose"])
@pytest.mark.parametrize("stored", ["triangle", "all", "no diagonal"])
def test_solves_read_one_triangle(gpu, rng, dtype, uplo, diag, op, stored):
    if stored == "no diagonal" and diag == "non_unit":
        return
    n, part = 12, np.tril if uplo == "lower" else np.triu
    a = drawn(rng, (n, n), dtype)
    np.fill_diagonal(a, 4 + rng.random(n))
    beside = -1 if uplo == "lower" else 1
    kept = {"triangle": part(a), "all": a, "no diagonal": part(a, beside)}[stored]
    on_diagonal = np.eye(n) if diag == "unit" else np.diag(np.diag(a))
    read = (part(a, beside) + on_diagonal).astype("c16")
    read = {"none": read, "transpose": read.T, "conjugate_transpose": read.conj().T}[op]
    b = rng.standard_normal((n, 3)).astype(dtype)
    expected = np.linalg.solve(read, 2 * b.astype("c16"))
    eps = np.finfo(dtype).eps * 1000 * (np.abs(expected).max() + 1)
    csr = sparse.from_scipy(gpu, Scipy(kept))
    for m in (csr, csr.converted("csc")):
        options = {"uplo": uplo, "diag": diag, "op_a": op, "alpha": 2}
        x = m.spsm(gpu.tensor(b), **options).result().numpy()
        np.testing.assert_allclose(x, expected, rtol=0, atol=eps)
        x = m.spsv(gpu.tensor(b[:, 1].copy()), **options).result().numpy()
        np.testing.assert_allclose(x, expected[:, 1], rtol=0, atol=eps)


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("stored", [True, False])
def test_a_zero_on_the_diagonal_is_named(gpu, format, stored):
    a = np.tril(np.ones((5, 5)))
    a[3, 3] = 0 if not stored else 7
    m = sparse.from_scipy(gpu, Scipy(a))
    values = m.values.numpy()
    values[values == 7] = 0
    m = sparse.SparseMatrix(gpu, "csr", (5, 5), m.indices, gpu.tensor(values), offsets=m.offsets)
    with pytest.raises(troupe.Numerical, match="row 3 is zero"):
        m.converted(format).spsv(gpu.tensor(np.ones(5))).result()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
def test_sums_parts_and_transposes(gpu, rng, dtype, format):
    dense = drawn(rng, (12, 9), dtype), drawn(rng, (12, 9), dtype)
    a, b = (sparse.from_dense(gpu, gpu.tensor(one), format) for one in dense)
    made = a.add(b, 2, -0.5)
    assert made.format == format
    made.validate().result()
    near(made.dense().numpy(), 2 * dense[0] - dense[1] / 2, dtype)
    np.testing.assert_array_equal(a.transpose().dense().numpy(), dense[0].T)
    np.testing.assert_array_equal(a.transpose().transpose().dense().numpy(), dense[0])
    for part in (slice(2, 7), (slice(3, None), slice(-4, -1)), (slice(None), slice(0, 0))):
        np.testing.assert_array_equal(a[part].dense().numpy(), dense[0][part])
    for part in (3, slice(0, 8, 2), (slice(1), 2)):
        with pytest.raises(TypeError, match="has parts"):
            a[part]
    with pytest.raises(troupe.ShapeMismatch, match=r"b is \[9, 12\], but a is \[12, 9\]"):
        a.add(b.transpose())


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_matrix_market(gpu, rng, tmp_path, dtype):
    dense = drawn(rng, (7, 5), dtype)
    file = tmp_path / "a.mtx"
    sparse.from_dense(gpu, gpu.tensor(dense), "csc").write_matrix_market(file)
    a = sparse.read_matrix_market(gpu, file, dtype)
    a.validate().result()
    assert (a.format, a.shape) == ("csr", (7, 5))
    np.testing.assert_array_equal(a.dense().numpy(), dense)
    file.write_text("%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 3\n")
    both = sparse.read_matrix_market(gpu, str(file), "f4", "i64").dense().numpy()
    np.testing.assert_array_equal(both, [[0, 3], [3, 0]])
    file.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 3\n")
    with pytest.raises(troupe.InvalidArgument, match="line 3"):
        sparse.read_matrix_market(gpu, file)
    with pytest.raises(troupe.InvalidArgument, match="cannot be opened"):
        sparse.read_matrix_market(gpu, tmp_path / "none.mtx")
