"""Losses, log Σ exp and norms of rows with infinities, and with numbers far out."""

import numpy as np
import pytest
import troupe.elementwise as ew


def log_softmax(x):
    top = x.max(-1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(-1, keepdims=True))


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 1.0])
@pytest.mark.parametrize("ignored", [-100, 255, 0])
def test_cross_entropy_of_ignored_rows_is_zero(gpu, rng, smoothing, ignored):
    x, d = rng.standard_normal((6, 3)) * 4, rng.standard_normal(6)
    targets = np.array([0, 1, ignored, 2, ignored, 1], "i4")
    how = {"label_smoothing": smoothing, "ignore_index": ignored}
    logits, t = gpu.tensor(x), gpu.tensor(targets)
    loss = gpu.elementwise.cross_entropy(logits=logits, targets=t, **how).result()
    kept = targets != ignored
    hot = np.zeros((6, 3))
    hot[np.arange(6)[kept], targets[kept]] = 1
    logs = log_softmax(x)
    weights = np.where(kept[:, None], (1 - smoothing) * hot + smoothing / 3, 0)
    np.testing.assert_allclose(loss.numpy(), -(weights * logs).sum(-1), rtol=1e-12, atol=1e-12)
    g = gpu.elementwise.cross_entropy_backward(
        logits=logits, targets=t, dloss=gpu.tensor(d), **how
    ).result()
    expected = d[:, None] * np.where(kept[:, None], np.exp(logs) - weights, 0)
    np.testing.assert_allclose(g.numpy(), expected, rtol=1e-10, atol=1e-12)


def test_cross_entropy_at_infinities(gpu):
    def loss(x, targets, dtype="f32"):
        t = gpu.tensor(np.array(targets, "i8"))
        asked = gpu.elementwise.cross_entropy(logits=gpu.tensor(np.array(x), dtype), targets=t)
        return asked.result().numpy()

    np.testing.assert_array_equal(loss(np.full((2, 9), np.nan), [-100, -100]), 0)
    assert np.isnan(loss(np.zeros((3, 3)), [-4, 3, 2**40])).all()
    masked = [[0.5, -np.inf, 1.5], [-np.inf, 3, -np.inf]]
    np.testing.assert_allclose(loss(masked, [2, 1]), [np.log1p(np.exp(-1.0)), 0], rtol=1e-6)
    far = [[88.0, -88, 0], [3e38, -3e38, 0], [-3e38, -3e38, -3e38]]
    np.testing.assert_allclose(loss(far, [1, 0, 2]), [176, 0, np.log(3)], rtol=1e-6)


@pytest.mark.parametrize(("dtype", "most"), [("f64", 1e-13), ("f32", 1e-5), ("bf16", 6e-2)])
@pytest.mark.parametrize("n", [2, 17, 1025])
def test_softmax_of_masked_rows(gpu, rng, dtype, most, n):
    x = gpu.tensor(rng.standard_normal((4, n)) * 10, dtype).numpy().astype("f8")
    x[0, 1:] = x[1, : n // 2] = -np.inf
    expected = log_softmax(x)
    y = gpu.elementwise.log_softmax(x=gpu.tensor(x, dtype)).result().numpy().astype("f8")
    np.testing.assert_allclose(y, expected, rtol=most, atol=most)
    p = gpu.elementwise.softmax(x=gpu.tensor(x, dtype)).result().numpy().astype("f8")
    np.testing.assert_allclose(p, np.exp(expected), rtol=2 * most, atol=most)


@pytest.mark.parametrize("axis", [0, 1])
def test_log_softmax_far_apart(gpu, axis):
    x = np.array([[3e38, -3e38, 3e38], [1e30, -1e30, 0], [-3e38, -3e38, -3e38]], "f4")
    y = gpu.elementwise.log_softmax(x=gpu.tensor(x), axis=axis).result().numpy()
    with np.errstate(over="ignore"):
        expected = log_softmax(x.astype("f8").swapaxes(-1, axis)).swapaxes(-1, axis).astype("f4")
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_log_sum_exp_of_ones_own(gpu):
    f = ew.function(lambda x: ew.row_max(x) + ew.log(ew.row_sum(ew.exp(x - ew.row_max(x)))))
    x = np.array([[1000.0, 1000.0], [-1000, -1001], [1e308, 1e308]])
    expected = [1000 + np.log(2), -1000 + np.log1p(np.exp(-1.0)), 1e308]
    np.testing.assert_allclose(gpu.rows(f, gpu.tensor(x)).result().numpy().ravel(), expected)


NORMS = ["layer_norm", "rms_norm", "group_norm", "instance_norm", "l2_normalize"]


@pytest.mark.parametrize("name", NORMS)
@pytest.mark.parametrize(
    ("dtype", "values"),
    [
        ("f16", [0, 1e-6, 2e3, 3e4]),
        ("bf16", [0, 1e-30, 1e15, 1.5e38]),
        ("f32", [0, 1e-30, 1e-14, 1e15, 1.5e38]),
        ("f64", [0, 1e-200, 1e100]),
    ],
)
def test_norms_of_small_and_large_rows(gpu, name, dtype, values):
    for value in values:
        row = np.array([[[1.0, -1, 1, -1, 0.5, -0.5]]]) * value
        x = gpu.tensor(row, dtype)
        groups = {"groups": 1} if name == "group_norm" else {}
        y = getattr(gpu.elementwise, name)(x=x, **groups).result().numpy().astype("f8")
        xs = x.numpy().astype(np.longdouble)
        eps = np.longdouble(1e-6 if name == "rms_norm" else 1e-5)
        if name == "l2_normalize":
            expected = xs / max(np.sqrt((xs**2).sum()), np.longdouble(1e-12))
        else:
            centred = xs if name == "rms_norm" else xs - xs.mean()
            expected = centred / np.sqrt((centred**2).mean() + eps)
        most = {"f16": 2e-3, "bf16": 1e-2, "f32": 2e-6, "f64": 1e-12}[dtype]
        np.testing.assert_allclose(y, expected.astype("f8"), rtol=most, atol=most)


@pytest.mark.parametrize("name", NORMS)
def test_norms_beyond_the_squares_of_f64_are_nan(gpu, name):
    x = gpu.tensor(np.array([[[1e155, -1e155]], [[3.0, -3.0]]]))
    groups = {"groups": 1} if name == "group_norm" else {}
    y = getattr(gpu.elementwise, name)(x=x, **groups).result().numpy()
    assert np.isnan(y[0]).all()
    expected = np.sqrt([0.5, 0.5]) if name == "l2_normalize" else [1, 1]
    np.testing.assert_allclose(np.abs(y[1, 0]), expected, rtol=1e-5)


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize("value", [0.0, 0.01, 1e30])
def test_gradient_of_l2_normalize(gpu, dtype, value):
    x = gpu.tensor(np.full((4, 2), value), dtype)
    d = np.array([[1.0, 0.5]] * 4)
    g = gpu.elementwise.l2_normalize_backward(x=x, dy=gpu.tensor(d, dtype)).result().numpy()
    xs = x.numpy().astype("f8")
    length = np.maximum(np.sqrt((xs**2).sum(-1, keepdims=True)), 1e-12)
    y = xs / length
    expected = (d - y * (y * d).sum(-1, keepdims=True)) / length
    np.testing.assert_allclose(g, expected, rtol=1e-5)
