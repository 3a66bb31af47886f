"""Pooling, batch norm and resampling where windows, places and numbers are at their edges."""

import math

import numpy as np
import pytest
import troupe


def channels_last(gpu, x, dtype):
    order = (0, *range(2, x.ndim), 1)
    t = gpu.tensor(np.ascontiguousarray(x.transpose(order)), dtype)
    return t.permute(*np.argsort(order).tolist())


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("places", ["u8", "i32"])
@pytest.mark.parametrize("fill", [-np.inf, np.nan, np.inf])
@pytest.mark.parametrize("last", [False, True])
def test_a_window_of_one_value_has_its_first_place(gpu, dtype, places, fill, last):
    x = np.full((1, 8, 4, 6), fill, dtype)
    t = channels_last(gpu, x, dtype) if last else gpu.tensor(x)
    y, p = gpu.empty((1, 8, 2, 3), t.dtype), gpu.empty((1, 8, 2, 3), places)
    gpu.dnn.max_pool_forward(x=t, y=y, places=p, window=[2]).result()
    np.testing.assert_array_equal(y.numpy(), np.full((1, 8, 2, 3), fill, dtype))
    np.testing.assert_array_equal(p.numpy(), 0)
    dx, dy = gpu.empty(x.shape, y.dtype), gpu.tensor(np.ones((1, 8, 2, 3), dtype))
    gpu.dnn.max_pool_backward(dy=dy, places=p, dx=dx, window=[2]).result()
    expected = np.zeros_like(x)
    expected[:, :, ::2, ::2] = 1
    np.testing.assert_array_equal(dx.numpy(), expected)


def windows(n, window, stride, padding):
    """How many there are with ceil_mode: none begins behind the image and its front padding."""
    out = math.ceil((n + 2 * padding - window) / stride) + 1
    while out > 0 and (out - 1) * stride >= n + padding:
        out -= 1
    return out


@pytest.mark.parametrize("window", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize("padding", [0, 1])
def test_extents_with_ceil_mode(gpu, window, stride, padding):
    if padding > window // 2:
        return
    how = {"window": [window], "stride": [stride], "padding": [padding], "ceil_mode": True}
    for n in range(1, 8):
        x = gpu.tensor(np.arange(1, n + 1, dtype="f4").reshape(1, 1, n))
        out = windows(n, window, stride, padding)
        if out >= 1:
            y = gpu.empty((1, 1, out))
            gpu.dnn.max_pool_forward(x=x, y=y, **how).result()
            last = [min(o * stride - padding + window, n) for o in range(out)]
            np.testing.assert_array_equal(y.numpy()[0, 0], last)
        with pytest.raises(troupe.ArgumentFailure):
            gpu.dnn.max_pool_forward(x=x, y=gpu.empty((1, 1, max(out, 0) + 1)), **how).result()


@pytest.mark.parametrize(
    ("dtype", "mean", "most"), [("f32", 0, 1e-6), ("f32", 1e4, 2e-6), ("f64", -1e9, 1e-12)]
)
@pytest.mark.parametrize("last", [False, True])
def test_batch_norm_far_from_zero(gpu, rng, dtype, mean, most, last):
    x = (mean + 0.1 * rng.standard_normal((3, 5, 8, 9))).astype(dtype.replace("f", "float"))
    t = channels_last(gpu, x, dtype) if last else gpu.tensor(x)
    y, m, r = gpu.empty(x.shape, dtype), gpu.empty(5, dtype), gpu.empty(5, dtype)
    rm, rv = gpu.full(5, 1.0, dtype), gpu.full(5, 2.0, dtype)
    gpu.dnn.batch_norm_training(
        x=t, y=y, mean=m, rstd=r, running_mean=rm, running_variance=rv, eps=1e-5, momentum=0.25
    ).result()
    apart = x.astype(np.longdouble) - mean
    means, variances = apart.mean((0, 2, 3), keepdims=True), apart.var((0, 2, 3), keepdims=True)
    rstd = 1 / np.sqrt(variances + np.longdouble(1e-5))
    expected = ((apart - means) * rstd).astype("f8")
    np.testing.assert_allclose(y.numpy(), expected, rtol=0, atol=8 * most)
    np.testing.assert_allclose(r.numpy(), rstd.ravel().astype("f8"), rtol=most)
    np.testing.assert_allclose(m.numpy(), means.ravel().astype("f8") + mean, rtol=most, atol=most)
    running = 1.5 + 0.25 * variances.ravel() * 216 / 215
    np.testing.assert_allclose(rv.numpy(), running.astype("f8"), rtol=most)


@pytest.mark.parametrize("kind", ["linear", "linear_corners"])
@pytest.mark.parametrize("extent", [4, 7])
def test_a_neighbour_of_weight_zero_is_not_read(gpu, kind, extent):
    x = np.array([[[1.0, np.inf, 3, 4]]])
    y, dx = gpu.empty((1, 1, extent), "f64"), gpu.empty((1, 1, 4), "f64")
    gpu.dnn.resample_forward(x=gpu.tensor(x), y=y, interpolation=kind).result()
    expected = x if extent == 4 else {
        "linear": [1, np.inf, np.inf, np.inf, 3 + 1 / 14, 3 + 9 / 14, 4],
        "linear_corners": [1, np.inf, np.inf, np.inf, 3, 3.5, 4],
    }[kind]  # fmt: skip
    np.testing.assert_allclose(y.numpy(), np.reshape(expected, (1, 1, extent)))
    if extent == 4:
        gpu.dnn.resample_backward(dy=gpu.tensor(x), dx=dx, interpolation=kind).result()
        np.testing.assert_array_equal(dx.numpy(), x)


@pytest.mark.parametrize(
    ("of", "expected"),
    [
        (
            {"interpolation": "cubic", "scale": [2]},
            [
                0.47265625,
                0.76953125,
                1.24609375,
                1.875,
                2.28125,
                2.91015625,
                3.38671875,
                3.68359375,
            ],
        ),
        ({"interpolation": "cubic", "scale": [0.8]}, [1.47119141, 2.78125, 4.08251953]),
        # Its elements beyond the image count in ONNX, and neither here nor in PyTorch.
        (
            {"interpolation": "linear", "scale": [0.6], "antialias": True},
            [3.142857, 4.7142857],
        ),
    ],
)
def test_resampled_rows_are_those_that_onnx_publishes(gpu, of, expected):
    """The first rows of its operator Resize, whose scale is not out / in; y is left out."""
    x = gpu.tensor(np.arange(1, 17, dtype="f4").reshape(1, 1, 4, 4))
    y = gpu.dnn.resample_forward(x=x, **of).result()
    assert y.shape == (1, 1, len(expected), len(expected))
    np.testing.assert_allclose(y.numpy()[0, 0, 0], expected, rtol=1e-6)
