"""Convolutions beside loops of NumPy, with results that are left out."""

import numpy as np
import pytest
import troupe


def padded(a, before, after):
    return np.pad(a, [(0, 0), (0, 0), *zip(before, after, strict=True)])


def convolved(x, w, stride=(1, 1), dilation=(1, 1), before=(0, 0), after=None, groups=1):
    """y[n, k, o] = Σ x[n, c, o · stride - padding + f · dilation] · w[k, c, f]."""
    x = padded(x, before, after or before)
    reach = [d * (f - 1) + 1 for d, f in zip(dilation, w.shape[2:], strict=True)]
    out = [(i - r) // s + 1 for i, r, s in zip(x.shape[2:], reach, stride, strict=True)]
    y = np.zeros((len(x), len(w), *out))
    of_group, per_group = w.shape[1], len(w) // groups
    for k in range(len(w)):
        channels = slice(k // per_group * of_group, (k // per_group + 1) * of_group)
        for i in range(w.shape[2]):
            for j in range(w.shape[3]):
                rows = slice(i * dilation[0], i * dilation[0] + out[0] * stride[0], stride[0])
                columns = slice(j * dilation[1], j * dilation[1] + out[1] * stride[1], stride[1])
                piece = x[:, channels, rows, columns][:, :, : out[0], : out[1]]
                y[:, k] += np.einsum("nchw,c->nhw", piece, w[k, :, i, j])
    return y


@pytest.mark.parametrize("dtype", ["f32", "f64"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stride": [2, 1], "padding": [1]},
        {"dilation": [1, 2], "padding": [2, 1], "post_padding": [0, 3]},
        {"groups": 3},
    ],
)
def test_forward(gpu, rng, dtype, options):
    groups = options.get("groups", 1)
    a, b = rng.standard_normal((2, 6, 9, 8)), rng.standard_normal((12, 6 // groups, 3, 2))
    y = gpu.dnn.convolution_forward(
        x=gpu.tensor(a, dtype), w=gpu.tensor(b, dtype), **options
    ).result()
    one_for_all = [2 * n if len(n) == 1 else n for n in (options.get("padding", [0]),)]
    expected = convolved(
        a, b, options.get("stride", (1, 1)), options.get("dilation", (1, 1)), one_for_all[0],
        options.get("post_padding"), groups,
    )  # fmt: skip
    assert (y.shape, y.dtype) == (expected.shape, dtype)
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_what_follows_the_sums(gpu, rng):
    a, b = rng.standard_normal((2, 3, 6, 5)), rng.standard_normal((4, 3, 3, 3))
    bias, z = rng.standard_normal(4), rng.standard_normal((2, 4, 6, 5))
    y = gpu.dnn.convolution_forward(
        x=gpu.tensor(a), w=gpu.tensor(b), bias=gpu.tensor(bias), z=gpu.tensor(z), beta=0.5,
        padding=[1], activation="relu",
    ).result()  # fmt: skip
    expected = convolved(a, b, before=(1, 1)) + 0.5 * z + bias[:, None, None]
    np.testing.assert_allclose(y.numpy(), np.maximum(expected, 0), rtol=1e-9, atol=1e-9)


def test_channels_last_stays_so(gpu, rng):
    a, b = rng.standard_normal((2, 6, 5, 4)).astype("f4"), rng.standard_normal((8, 3, 3, 4))
    x = gpu.tensor(a).permute(0, 3, 1, 2)  # [2, 4, 6, 5]
    w = gpu.tensor(b.astype("f4")).permute(0, 3, 1, 2)  # [8, 4, 3, 3]
    y = gpu.dnn.convolution_forward(x=x, w=w, padding=[1]).result()
    assert y.shape == (2, 8, 6, 5)
    assert y.permute(0, 2, 3, 1).strides == (240, 40, 8, 1)
    expected = convolved(a.transpose(0, 3, 1, 2), b.transpose(0, 3, 1, 2), before=(1, 1))
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_gradients(gpu, rng):
    a, b = rng.standard_normal((2, 3, 7, 6)), rng.standard_normal((4, 3, 3, 2))
    g = rng.standard_normal((2, 4, 5, 5))
    x, w, dy = gpu.tensor(a), gpu.tensor(b), gpu.tensor(g)
    dx = gpu.dnn.convolution_backward_data(dy=dy, w=w).result()
    dw = gpu.dnn.convolution_backward_filter(x=x, dy=dy).result()
    assert (dx.shape, dw.shape) == (a.shape, b.shape)
    # Σ y · g is linear in both.
    da, db = rng.standard_normal(a.shape), rng.standard_normal(b.shape)
    np.testing.assert_allclose((dx.numpy() * da).sum(), (convolved(da, b) * g).sum())
    np.testing.assert_allclose((dw.numpy() * db).sum(), (convolved(a, db) * g).sum())


def test_transposed_undoes_extents(gpu, rng):
    a, b = rng.standard_normal((2, 4, 5, 3)), rng.standard_normal((4, 3, 3, 3))
    options = {"stride": [2], "padding": [1]}
    y = gpu.dnn.convolution_transposed(
        x=gpu.tensor(a), w=gpu.tensor(b), output_padding=[1, 0], **options
    ).result()
    assert y.shape == (2, 3, 10, 5)
    back = gpu.dnn.convolution_forward(x=y, w=gpu.tensor(b), **options).result()
    assert back.shape == a.shape
    # It is the adjoint of the forward convolution.
    c = rng.standard_normal(y.shape)
    forward = convolved(c, b, stride=(2, 2), before=(1, 1))
    np.testing.assert_allclose((y.numpy() * c).sum(), (a * forward).sum())


def test_what_does_not_follow_must_be_given(gpu, rng):
    dy, w = gpu.zeros((1, 2, 4)), gpu.zeros((2, 3, 3))
    with pytest.raises(troupe.InvalidArgument, match=r"dx must be given: its shape is \[n, c, in"):
        gpu.dnn.convolution_backward_data(dy=dy, w=w, stride=[2]).result()
    with pytest.raises(troupe.ShapeMismatch, match="groups 2 does not divide the 3 channels of x"):
        gpu.dnn.convolution_forward(
            x=gpu.zeros((1, 3, 4)), w=w, y=gpu.zeros((1, 2, 2)), groups=2
        ).result()
