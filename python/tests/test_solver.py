"""The solver beside numpy.linalg: every request by keyword, with the results that it makes."""

import numpy as np
import pytest
import troupe

TYPES = ["f4", "f8", "c8", "c16"]


def drawn(rng, shape, dtype):
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def hermitian(rng, shape, dtype, definite=False):
    x = drawn(rng, shape, dtype)
    h = (x + x.conj().swapaxes(-1, -2)) / 2
    return (h + 3 * shape[-1] * np.eye(shape[-1])).astype(dtype) if definite else h


def near(actual, expected, dtype, scale=200):
    eps = np.finfo(dtype).eps * scale
    np.testing.assert_allclose(actual, expected, rtol=eps, atol=eps * np.abs(expected).max())


@pytest.mark.parametrize("dtype", TYPES)
def test_lu(gpu, rng, dtype):
    a, b = drawn(rng, (3, 6, 6), dtype), drawn(rng, (3, 6, 2), dtype)
    ta, tb = gpu.tensor(a), gpu.tensor(b)
    near(gpu.solver.gesv(a=ta, b=tb).result().numpy(), np.linalg.solve(a, b), dtype, 5000)
    lu, pivots = gpu.solver.getrf(a=ta).result()
    assert (pivots.shape, pivots.dtype) == ((3, 6), "i64")
    x = gpu.solver.getrs(lu=lu, pivots=pivots, b=tb, op_a="transpose").result()
    near(x.numpy(), np.linalg.solve(a.swapaxes(1, 2), b), dtype, 5000)
    near(gpu.solver.getri(lu=lu, pivots=pivots).result().numpy(), np.linalg.inv(a), dtype, 5000)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_refined(gpu, rng, dtype):
    a, b = hermitian(rng, (9, 9), dtype, definite=True), drawn(rng, (9, 1), dtype)
    x = gpu.solver.gesv_refined(a=gpu.tensor(a), b=gpu.tensor(b)).result()
    near(x.numpy(), np.linalg.solve(a, b), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("uplo", ["lower", "upper"])
def test_cholesky(gpu, rng, dtype, uplo):
    a, b = hermitian(rng, (5, 5), dtype, definite=True), drawn(rng, (5, 3), dtype)
    ta, tb = gpu.tensor(a), gpu.tensor(b)
    factor = gpu.solver.potrf(a=ta, uplo=uplo).result()
    lower = np.linalg.cholesky(a)
    near(factor.numpy(), lower if uplo == "lower" else lower.conj().T, dtype)
    near(gpu.solver.potri(factor=factor, uplo=uplo).result().numpy(), np.linalg.inv(a), dtype)
    for x in (
        gpu.solver.potrs(factor=factor, b=tb, uplo=uplo).result(),
        gpu.solver.posv(a=ta, b=tb, uplo=uplo).result(),
    ):
        near(x.numpy(), np.linalg.solve(a, b), dtype)
    inverse = gpu.solver.trtri(a=factor, uplo=uplo).result()
    near(inverse.numpy(), np.linalg.inv(factor.numpy()), dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (2, 5, 5)])
def test_qr(gpu, rng, dtype, shape):
    a = drawn(rng, shape, dtype)
    qr, tau = gpu.solver.geqrf(a=gpu.tensor(a)).result()
    q = gpu.solver.orgqr(qr=qr, tau=tau).result()
    r = np.triu(qr.numpy())[..., : min(shape[-2:]), :]
    near(q.numpy() @ r, a, dtype)
    full = gpu.solver.orgqr(qr=qr, tau=tau, basis="full").result().numpy()
    near(full, np.linalg.qr(a, mode="complete")[0], dtype)
    x = drawn(rng, (*shape[:-1], 3), dtype)
    y = gpu.solver.ormqr(qr=qr, tau=tau, x=gpu.tensor(x), op_q="conjugate_transpose").result()
    near(y.numpy(), full.conj().swapaxes(-1, -2) @ x, dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("driver", ["qr", "svd"])
def test_least_squares(gpu, rng, dtype, driver):
    for m, n in [(8, 3), (3, 8)]:
        a, b = drawn(rng, (m, n), dtype), drawn(rng, (m, 2), dtype)
        x = gpu.solver.gels(a=gpu.tensor(a), b=gpu.tensor(b), driver=driver).result()
        near(x.numpy(), np.linalg.lstsq(a, b, rcond=None)[0], dtype, 2000)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("driver", ["automatic", "qr", "jacobi", "polar"])
def test_svd(gpu, rng, dtype, driver):
    a = drawn(rng, (2, 5, 8), dtype)
    t = gpu.tensor(a)
    s, u, vh = gpu.solver.svd(a=t, driver=driver).result()
    near(s.numpy(), np.linalg.svd(a)[1], dtype)
    near(u.numpy() * s.numpy()[:, None, :] @ vh.numpy(), a, dtype)
    s, u, vh = gpu.solver.svd(a=t, driver=driver, vectors="full").result()
    assert (u.shape, vh.shape) == ((2, 5, 5), (2, 8, 8))
    near(gpu.solver.svd(a=t, driver=driver, vectors="none").result().numpy(), s.numpy(), dtype)


@pytest.mark.parametrize("driver", ["randomised", "approximate"])
def test_largest_singular_values(gpu, rng, driver):
    a = rng.standard_normal((60, 4)) @ rng.standard_normal((4, 30))
    s = gpu.empty(4, "f64")
    u, vh = gpu.empty((60, 4), "f64"), gpu.empty((4, 30), "f64")
    gpu.solver.svd(a=gpu.tensor(a), s=s, u=u, vh=vh, driver=driver).result()
    near(s.numpy(), np.linalg.svd(a)[1][:4], "f8")
    near(u.numpy() * s.numpy() @ vh.numpy(), a, "f8")


@pytest.mark.parametrize("dtype", TYPES)
def test_eigh(gpu, rng, dtype):
    a, b = hermitian(rng, (3, 6, 6), dtype), hermitian(rng, (3, 6, 6), dtype, definite=True)
    t = gpu.tensor(a)
    w, v = gpu.solver.eigh(a=t).result()
    near(w.numpy(), np.linalg.eigvalsh(a), dtype)
    near(a @ v.numpy(), v.numpy() * w.numpy()[:, None, :], dtype)
    some = gpu.empty((3, 2), w.dtype)
    gpu.solver.eigh(a=t, w=some, vectors=False, range="indices", first=3).result()
    near(some.numpy(), w.numpy()[:, 3:5], dtype)
    w, v = gpu.solver.eigh_generalised(a=t, b=gpu.tensor(b)).result()
    near(a @ v.numpy(), b @ v.numpy() * w.numpy()[:, None, :], dtype, 2000)


@pytest.mark.parametrize("dtype", TYPES)
def test_eig(gpu, rng, dtype):
    a = drawn(rng, (7, 7), dtype)
    w, vr, vl = gpu.solver.eig(a=gpu.tensor(a), left=True).result()
    assert w.dtype == vr.dtype == ("c64" if dtype in ("f4", "c8") else "c128")
    near(np.sort_complex(w.numpy()), np.sort_complex(np.linalg.eigvals(a)), dtype, 2000)
    near(a @ vr.numpy(), vr.numpy() * w.numpy(), dtype, 2000)
    near(vl.numpy().conj().T @ a, w.numpy()[:, None] * vl.numpy().conj().T, dtype, 2000)


@pytest.mark.parametrize("request_name", ["sparse_cholesky", "sparse_lu", "sparse_qr"])
@pytest.mark.parametrize("index", ["i4", "i8"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_sparse(gpu, rng, request_name, index, dtype):
    n = 50
    a = np.diag(np.full(n, 4.0)) - np.diag(np.ones(n - 1), 1) - np.diag(np.ones(n - 1), -1)
    b = rng.standard_normal((n, 2)).astype(dtype)
    rows, columns = np.nonzero(a)
    offsets = np.searchsorted(rows, np.arange(n + 1)).astype(index)
    x = getattr(gpu.solver, request_name)(
        offsets=gpu.tensor(offsets), columns=gpu.tensor(columns.astype(index)),
        values=gpu.tensor(a[rows, columns].astype(dtype)), b=gpu.tensor(b),
        x=gpu.empty((n, 2), "f32" if dtype == "f4" else "f64"),
    ).result()  # fmt: skip
    near(x.numpy(), np.linalg.solve(a, b), dtype)


def test_a_matrix_without_an_answer_fails(gpu):
    a = np.stack([np.eye(3), np.diag([1.0, 0, 1]), np.diag([1.0, 1, -1])])
    t, b, x = gpu.tensor(a), gpu.tensor(np.ones((3, 3, 1))), gpu.empty((3, 3, 1), "f64")
    info = gpu.empty(3, "i32")
    with pytest.raises(troupe.Numerical, match="matrix 1: singular: pivot 2 is zero"):
        gpu.solver.gesv(a=t, b=b, x=x, info=info).result()
    assert info.numpy().tolist() == [0, 2, 0]
    assert x.numpy()[2, :, 0].tolist() == [1, 1, -1]
    with pytest.raises(troupe.Numerical, match="matrix 1: not positive definite: leading minor 2"):
        gpu.solver.potrf(a=t).result()
    # Without `info` the caller cannot tell which solutions are good, so x is tainted.
    with pytest.raises(troupe.Numerical):
        gpu.solver.gesv(a=t, b=b, x=x).result()
    with pytest.raises(troupe.TaintedBuffer, match="solver.gesv"):
        x.numpy()


PLACES = [(0, 0), (1, 0), (0, 1), (2, 2), (1, 2)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan])
@pytest.mark.parametrize("place", PLACES)
def test_what_iterates_refuses_what_is_not_finite(gpu, dtype, value, place):
    a, h, beside = (np.ones((3, 3), dtype) for _ in range(3))
    a[place] = h[max(place), min(place)] = value
    t, right = gpu.tensor(a), gpu.tensor(np.ones((3, 1), dtype))
    solver = gpu.solver
    asked = [solver.svd(a=t, driver=driver) for driver in ("automatic", "qr", "jacobi", "polar")]
    asked += [solver.gels(a=t, b=right, driver=driver) for driver in ("qr", "svd")]
    asked += [solver.eig(a=t), solver.eigh(a=gpu.tensor(h))]
    for one in asked:
        with pytest.raises(troupe.Numerical, match="not finite"):
            one.result()
    if place[0] != place[1]:  # the other triangle is not read
        beside[min(place), max(place)] = value
        w = gpu.solver.eigh(a=gpu.tensor(beside), vectors=False).result()
        np.testing.assert_allclose(w.numpy(), [0, 0, 3], atol=1e-5)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("value", [np.inf, np.nan])
@pytest.mark.parametrize("name", ["gesv", "gesv_refined"])
def test_what_does_not_iterate_gives_no_finite_wrong_number(gpu, on_gpu, dtype, value, name):
    if on_gpu and np.isnan(value):
        pytest.skip("cuSOLVER may give finite numbers: docs/libraries/solver.md")
    if name == "gesv_refined" and dtype in ("f4", "c8"):
        return
    a = np.eye(3, dtype=dtype) * 2
    a[2, 0] = value
    try:
        ask = getattr(gpu.solver, name)
        x = ask(a=gpu.tensor(a), b=gpu.tensor(np.ones((3, 1), dtype))).result().numpy()
    except troupe.Numerical:
        return
    right = np.isclose(x[:, 0], [0.5, 0.5, 0.5]) & [True, True, False]
    assert (right | ~np.isfinite(x[:, 0]) | ((x[:, 0] == 0) & np.isinf(value))).all()


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("smallest", [0.5, 1e-6])
@pytest.mark.parametrize("n", [2, 40])
def test_values_follow_the_scale_of_their_matrix(gpu, rng, dtype, smallest, n):
    q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    a = (q * np.geomspace(1, smallest, n)) @ q.T
    a = ((a + a.T) / 2).astype(dtype).astype("f8")
    values = np.linalg.eigvalsh(a)
    bound = 40 * n * np.finfo(dtype).eps
    for power in [-80, 0, 120] if dtype == "f4" else [-900, 0, 1000]:
        t = gpu.tensor(np.ldexp(a, power).astype(dtype))

        def expect(w, wanted, off=1, power=power):
            found = np.ldexp(np.sort(w.numpy().real).astype("f8"), -power)
            np.testing.assert_allclose(found, np.sort(wanted), rtol=0, atol=off * bound)

        for driver in ("automatic", "jacobi"):
            w, v = gpu.solver.eigh(a=t, driver=driver).result()
            expect(w, values)
            v = v.numpy().astype("f8")
            np.testing.assert_allclose(v.T @ v, np.eye(n), atol=bound)
        expect(gpu.solver.eigh(a=t, vectors=False).result(), values)
        for driver in ("automatic", "qr", "jacobi"):
            s, u, vh = gpu.solver.svd(a=t, driver=driver).result()
            expect(s, np.abs(values))
            scaled = u.numpy().astype("f8") * np.ldexp(s.numpy().astype("f8"), -power)
            np.testing.assert_allclose(scaled @ vh.numpy().astype("f8"), a, atol=2 * bound)
        expect(gpu.solver.eig(a=t, right=False).result(), values, 3)


@pytest.mark.parametrize(
    ("dtype", "power"), [("f8", -1000), ("f8", 1000), ("f4", 120), ("f4", -120)]
)
def test_systems_follow_the_scale_of_their_matrix(gpu, dtype, power):
    a, x = np.array([[4.0, 1, 0], [1, 3, 1], [0, 1, 2]]), np.array([[1.0], [-2], [3]])
    t, right = (gpu.tensor(np.ldexp(part, power).astype(dtype)) for part in (a, a @ x))
    asked = [gpu.solver.gesv(a=t, b=right), gpu.solver.posv(a=t, b=right)]
    asked += [gpu.solver.gels(a=t, b=right, driver=driver) for driver in ("qr", "svd")]
    asked += [gpu.solver.gesv_refined(a=t, b=right)] if dtype == "f8" else []
    for one in asked:
        np.testing.assert_allclose(one.result().numpy(), x, rtol=1e-4 if dtype == "f4" else 1e-12)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rcond", [-1, 1e-3])
def test_least_squares_without_full_rank_are_the_shortest(gpu, dtype, rcond):
    reported = np.array(
        [[0.0, 1, 0, 1, 2, 0], [0, 2, 0, 0, 1, 0], [1, 0, 1, 0, 0, 4], [0, 0, 0, 2, 3, 0]]
    ).T
    cases = [(reported, 4), (reported.T, 4), (np.arange(1.0, 10).reshape(3, 3), 2)]
    for a, right_rank in [*cases, (np.zeros((3, 2)), 0), (np.ones((2, 5)), 1)]:
        m, n = a.shape
        right_rank = min(right_rank, np.linalg.matrix_rank(a))
        x, rank = gpu.empty((n, 2), gpu.tensor(a.astype(dtype)).dtype), gpu.empty((), "i32")
        gpu.solver.gels(
            a=gpu.tensor(a.astype(dtype)), b=gpu.tensor(np.eye(m)[:, :2].astype(dtype)), x=x,
            rank=rank, driver="svd", rcond=rcond,
        ).result()  # fmt: skip
        assert int(rank.item()) == right_rank
        inverse = np.linalg.pinv(a, rcond=1e-10)
        off = 2e4 * np.finfo(dtype).eps * (1 + np.abs(inverse).max())
        np.testing.assert_allclose(x.numpy(), inverse[:, :2], atol=off)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_least_squares_by_qr_name_a_zero(gpu, dtype):
    a = np.array([[1.0, 0], [1, 0], [1, 0]], dtype)
    with pytest.raises(troupe.Numerical, match="rank deficient: diagonal element 2"):
        gpu.solver.gels(a=gpu.tensor(a), b=gpu.tensor(np.ones((3, 1), dtype))).result()


@pytest.mark.parametrize("extents", [(0, 3, 2), (3, 0, 2), (3, 3, 0), (0, 0, 0)])
@pytest.mark.parametrize("driver", ["qr", "svd"])
def test_least_squares_of_nothing_are_zero(gpu, extents, driver):
    m, n, sides = extents
    x = gpu.full((n, sides), 5, "f64")
    a, b = gpu.zeros((m, n), "f64"), gpu.zeros((m, sides), "f64")
    gpu.solver.gels(a=a, b=b, x=x, driver=driver).result()
    np.testing.assert_array_equal(x.numpy(), 0)
