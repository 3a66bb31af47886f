"""Reductions between functions of one's own, beside NumPy."""

import numpy as np
import pytest
import troupe
import troupe.elementwise as ew

REDUCTIONS = {
    "sum": np.sum,
    "product": np.prod,
    "minimum": np.min,
    "maximum": np.max,
    "argmin": np.argmin,
    "argmax": np.argmax,
    "mean": np.mean,
    "any": np.any,
    "all": np.all,
}


@pytest.mark.parametrize("axis", [None, -1, 0])
@pytest.mark.parametrize("op", REDUCTIONS)
def test_reduce(gpu, rng, op, axis):
    a = rng.standard_normal((4, 5)) * (rng.random((4, 5)) < 0.7)
    x = gpu.tensor(a)
    expected = REDUCTIONS[op](a, axis)
    y = gpu.reduce(op, x, axis=axis).result()
    assert y.shape == np.shape(expected)
    assert y.dtype == ("i64" if "arg" in op else "bool" if op in ("any", "all") else "f64")
    np.testing.assert_allclose(y.numpy(), expected)
    kept = gpu.reduce(op, x, axis=axis, keepdims=True, dtype="f64").result()
    np.testing.assert_allclose(kept.numpy(), REDUCTIONS[op](a, axis, keepdims=True))
    assert gpu.reduce(op, x, axis=axis, out=y).result() is y


@pytest.mark.parametrize("dtype", ["i8", "u16", "i32", "i64", "u64", "bool"])
def test_extremes_of_nothing_are_the_limits_of_the_type(gpu, dtype):
    nothing = gpu.zeros((2, 0), dtype)
    numpys = nothing.numpy().dtype
    least, most = (False, True) if dtype == "bool" else (np.iinfo(numpys).min, np.iinfo(numpys).max)
    for op, limit in (("maximum", least), ("minimum", most)):
        y = gpu.reduce(op, nothing, axis=1, dtype=dtype).result().numpy()
        np.testing.assert_array_equal(y, np.array([limit, limit], numpys))
    assert gpu.reduce("all", nothing).result().item() and not gpu.reduce("any", nothing).result().item()  # fmt: skip


@pytest.mark.parametrize("op", ["maximum", "minimum", "argmax", "argmin", "sum", "product", "mean"])
def test_reductions_of_u64(gpu, op):
    a = np.array([2**63, 1, 2**64 - 1, 5], "u8")
    y = gpu.reduce(op, gpu.tensor(a)).result()
    with np.errstate(over="ignore"):
        expected = REDUCTIONS[op](a) if op != "mean" else a.astype("f8").mean()
    assert y.dtype == ("f64" if op == "mean" else "i64" if "arg" in op else "u64")
    assert y.item() == expected


def test_reduce_between_functions(gpu, rng):
    a, b = rng.standard_normal((6, 7)), rng.standard_normal(7)
    x, y = gpu.tensor(a), gpu.tensor(b)
    norm = gpu.reduce("sum", x, before=lambda x: x * x, after=ew.sqrt, axis=-1).result()
    np.testing.assert_allclose(norm.numpy(), np.linalg.norm(a, axis=-1))
    covariance = gpu.reduce(
        "mean",
        x,
        y,
        before=lambda x, y: (x, y, x * y),
        after=lambda x, y, xy: xy - x * y,
        axis=1,
    ).result()
    np.testing.assert_allclose(covariance.numpy(), (a * b).mean(1) - a.mean(1) * b.mean())
    scaled = gpu.reduce("sum", x, 3, before=lambda x, k: x * k).result()
    np.testing.assert_allclose(scaled.item(), 3 * a.sum())
    top, least = gpu.reduce("maximum", x, y, after=lambda a, b: (a + b, a - b)).result()
    np.testing.assert_allclose([top.item(), least.item()], [a.max() + b.max(), a.max() - b.max()])
    z = gpu.tensor(a[0] + 2j * b)
    assert gpu.reduce("mean", z).result().dtype == "c128"
    np.testing.assert_allclose(gpu.reduce("sum", z).result().item(), (a[0] + 2j * b).sum())


def test_reduce_refuses_what_does_not_fit(gpu):
    x = gpu.zeros((2, 3))
    for wrong, error, text in (
        (lambda: gpu.reduce("total", x), TypeError, "'sum', 'product'"),
        (lambda: gpu.reduce("sum", x, axis=2), troupe.InvalidArgument, "axes is"),
        (lambda: gpu.reduce("sum", x, axis=()), TypeError, "None means all"),
        (lambda: gpu.reduce("sum"), troupe.InvalidArgument, "0 inputs"),
        (lambda: gpu.reduce("maximum", gpu.zeros(2, "c64")), troupe.TypeMismatch, "sums and means"),
        (lambda: gpu.reduce("sum", x, out=gpu.zeros(3), axis=1), troupe.ShapeMismatch, "must be"),
    ):
        with pytest.raises(error, match=text):
            wrong().result()
