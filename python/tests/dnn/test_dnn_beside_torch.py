"""Random convolutions and attentions beside PyTorch in f64, where that is installed."""

import numpy as np
import pytest
from beside_torch import assert_close, drawn, torch, where

CASES = 60


@pytest.mark.parametrize("case", range(CASES))
def test_convolutions(gpu, case):
    rng = np.random.default_rng([7, case])
    dtype = rng.choice(["f32", "f16", "bf16"])
    space = int(rng.integers(1, 4))
    groups = int(rng.choice([1, 1, 2, 3]))
    n, c, k = (int(rng.integers(1, most)) for most in (4, 9, 9))
    c, k = c * groups, k * groups
    taps = [int(one) for one in rng.integers(1, 4, space)]
    stride, dilation = ([int(one) for one in rng.integers(1, 3, space)] for _ in range(2))
    padding = [int(one) for one in rng.integers(0, 3, space)]
    extents = [int(rng.integers(d * (f - 1) + 1, 14)) for d, f in zip(dilation, taps, strict=True)]
    what = (dtype, n, c, k, groups, extents, taps, stride, dilation, padding)

    x, x64 = drawn(rng, gpu, dtype, n, c, *extents)
    w, w64 = drawn(rng, gpu, dtype, k, c // groups, *taps)
    how = {"stride": stride, "dilation": dilation, "padding": padding, "groups": groups}
    convolve = (torch.nn.functional.conv1d, torch.nn.functional.conv2d, torch.nn.functional.conv3d)
    x64.requires_grad_()
    w64.requires_grad_()
    y64 = convolve[space - 1](x64, w64, **how)
    y = gpu.dnn.convolution_forward(x=x, w=w, **how).result()
    assert_close(y, y64, dtype, c // groups * np.prod(taps), ("forward", what))

    dy, dy64 = drawn(rng, gpu, dtype, *y.shape)
    y64.backward(dy64)
    dx = gpu.empty(x.shape, dtype)
    gpu.dnn.convolution_backward_data(dy=dy, w=w, dx=dx, **how).result()
    assert_close(dx, x64.grad, dtype, k // groups * np.prod(taps), ("backward_data", what))
    dw = gpu.empty(w.shape, dtype)
    gpu.dnn.convolution_backward_filter(x=x, dy=dy, dw=dw, **how).result()
    assert_close(dw, w64.grad, dtype, dy64[:, 0].numel(), ("backward_filter", what))


@pytest.mark.parametrize("case", range(CASES))
def test_attentions(gpu, case):
    rng = np.random.default_rng([8, case])
    dtype = rng.choice(["f16", "bf16"])
    b, heads_of_keys, repeats = (int(rng.integers(1, 4)) for _ in range(3))
    heads = heads_of_keys * repeats
    s_q, s_kv = int(rng.integers(1, 70)), int(rng.integers(1, 70))
    d = 8 * int(rng.integers(1, 17))
    causal = bool(rng.integers(2)) and s_q <= s_kv
    bottom_right = causal and bool(rng.integers(2))
    left = int(rng.integers(0, 20)) if causal and rng.integers(2) else -1
    what = (dtype, b, heads, heads_of_keys, s_q, s_kv, d, causal, bottom_right, left)

    q, q64 = drawn(rng, gpu, dtype, b, heads, s_q, d)
    k, k64 = drawn(rng, gpu, dtype, b, heads_of_keys, s_kv, d)
    v, v64 = drawn(rng, gpu, dtype, b, heads_of_keys, s_kv, d)
    for one in (q64, k64, v64):
        one.requires_grad_()
    scores = q64 @ k64.repeat_interleave(repeats, 1).mT / d**0.5
    i, j = torch.arange(s_q)[:, None], torch.arange(s_kv)[None, :]
    centre = i + (s_kv - s_q if bottom_right else 0)
    mask = torch.ones(s_q, s_kv, dtype=torch.bool)
    if causal:
        mask &= j <= centre
    if left >= 0:
        mask &= j >= centre - left
    mask = mask.to(where())
    scores = scores.masked_fill(~mask, -torch.inf)
    p = torch.where(mask, torch.softmax(scores, -1), 0.0)
    o64 = p @ v64.repeat_interleave(repeats, 1)

    statistics = gpu.empty((b, heads, s_q, 1))
    how = {
        "mask_right": 0 if causal else -1,
        "mask_left": left,
        "mask_diagonal": "bottom_right" if bottom_right else "top_left",
    }
    o = gpu.empty((b, heads, s_q, d), dtype)
    gpu.dnn.attention_forward(q=q, k=k, v=v, o=o, statistics=statistics, **how).result()
    assert_close(o, o64, dtype, 4, ("forward", what))

    d_o, d_o64 = drawn(rng, gpu, dtype, *o.shape)
    gradients = torch.autograd.grad(o64, (q64, k64, v64), d_o64)
    ours = gpu.dnn.attention_backward(
        q=q, k=k, v=v, o=o, dout=d_o, statistics=statistics, **how
    ).result()
    for name, mine, theirs in zip(("dq", "dk", "dv"), ours, gradients, strict=True):
        assert_close(mine, theirs, dtype, s_q, (name, what))
