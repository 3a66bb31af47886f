"""Computations of one's own, beside NumPy: values, types, several outputs, refusals, text."""

import math

import numpy as np
import pytest
import troupe
import troupe.dnn as nn

rng = np.random.default_rng(2026)
np_erf = np.vectorize(math.erf, otypes=["f8"])
TOLERANCE = {"f4": 1e-5, "f2": 4e-3}


def drawn(*extents, dtype="f4"):
    return rng.standard_normal(extents).astype(dtype)


def gelu(x):
    return 0.5 * x * (1 + np_erf(x / np.sqrt(2)))


@pytest.mark.parametrize("dtype", ["f4", "f2"])
def test_a_layer_is_one_request(gpu, dtype):
    x, w, b, r = (
        drawn(9, 16, dtype=dtype),
        drawn(16, 5, dtype=dtype),
        drawn(5, dtype=dtype),
        drawn(9, 5, dtype=dtype),
    )
    given = [gpu.tensor(one) for one in (x, w, b, r)]
    y = gpu.compute(lambda x, w, b, r: nn.gelu(x @ w + b) + r, *given).result()
    wanted = gelu(x.astype("f8") @ w.astype("f8") + b) + r
    np.testing.assert_allclose(y.numpy(), wanted, atol=TOLERANCE[dtype] * 16, rtol=TOLERANCE[dtype])
    assert y.numpy().dtype == np.dtype(dtype)


def test_attention_from_its_parts(gpu):
    q, k, v = drawn(2, 7, 8), drawn(2, 9, 8), drawn(2, 9, 4)
    attention = nn.computation(
        lambda q, k, v: nn.softmax(q @ nn.transpose(k, (0, 2, 1)) / 8**0.5) @ v
    )
    o = gpu.compute(attention, *(gpu.tensor(one) for one in (q, k, v))).result().numpy()
    scores = q @ k.transpose(0, 2, 1) / 8**0.5
    p = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(o, p / p.sum(-1, keepdims=True) @ v, atol=1e-5)


def test_several_outputs_and_types(gpu):
    x = drawn(6, 10)

    def statistics(x):
        centered = x - nn.mean(x, -1)
        return nn.mean(x, -1), centered * nn.rsqrt(nn.mean(centered * centered, -1) + 1e-5), x < 0

    mean, unit, negative = gpu.compute(
        statistics, gpu.tensor(x), dtype=("f64", None, None)
    ).result()
    np.testing.assert_allclose(mean.numpy(), x.mean(-1, keepdims=True), atol=1e-6)
    assert mean.numpy().dtype == np.dtype("f8")
    np.testing.assert_allclose(
        unit.numpy(),
        (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
        atol=1e-5,
    )
    np.testing.assert_array_equal(negative.numpy(), x < 0)


def test_convolution_norm_and_out(gpu):
    x, w = drawn(2, 3, 8, 8), drawn(4, 3, 3, 3)
    y = gpu.empty((2, 4, 8, 8), "f32")
    block = nn.computation(
        lambda x, w: nn.layer_norm(nn.relu(nn.convolution(x, w, padding=1)), dimensions=3)
    )
    assert gpu.compute(block, gpu.tensor(x), gpu.tensor(w), out=y).result() is y
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    sums = sum(
        np.einsum("nchw,kc->nkhw", padded[:, :, i : i + 8, j : j + 8], w[:, :, i, j])
        for i in range(3)
        for j in range(3)
    )
    sums = np.maximum(sums, 0).reshape(2, -1)
    wanted = (sums - sums.mean(1, keepdims=True)) / np.sqrt(sums.var(1, keepdims=True) + 1e-5)
    np.testing.assert_allclose(y.numpy().reshape(2, -1), wanted, atol=1e-4)


def test_it_is_shown_and_compared():
    layer = nn.computation(lambda x, w, b: nn.silu(x @ w + b) * 2)
    assert str(layer) == "y0 = silu(matmul(x0, x1) + x2) * 2"
    assert repr(layer) == 'Computation("y0 = silu(matmul(x0, x1) + x2) * 2")'
    assert layer == nn.computation(lambda a, b, c: nn.silu(a @ b + c) * 2)
    assert layer != nn.computation(lambda a, b, c: nn.silu(a @ b + c) * 3)
    assert (layer.inputs, layer.outputs) == (3, 1)


def test_what_does_not_fit_is_refused_with_the_node(gpu):
    x, w = gpu.tensor(drawn(2, 3)), gpu.tensor(drawn(4, 5))
    with pytest.raises(
        troupe.Failure, match=r"matmul\(x0, x1\): \[2, 3\] has 3 columns and \[4, 5\] has 4 rows"
    ):
        gpu.compute(lambda x, w: nn.relu(x @ w), x, w).result()
    with pytest.raises(TypeError, match="no truth value"):
        gpu.compute(lambda x: x if x > 0 else -x, x)
    with pytest.raises(TypeError, match="pass it to the function as an input"):
        gpu.compute(lambda y: y @ w, x)
    with pytest.raises(
        ValueError, match="engine must be one of automatic, pieces, plan; it is fast"
    ):
        gpu.compute(lambda y: -y, x, engine="fast")
