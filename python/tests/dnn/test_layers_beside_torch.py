"""Random poolings, norms, resamplings and recurrent networks beside PyTorch in f64."""

import numpy as np
import pytest
from beside_torch import ROUNDING, assert_close, drawn, in_torch, torch, where

functional = torch.nn.functional
CASES = 60
TYPES = ("f32", "f16", "bf16")


class Images:
    """Draws images [n, c, space…] of a case, all channels-first or all channels-last."""

    def __init__(self, rng, gpu, dtype, space):
        self.rng, self.gpu, self.dtype = rng, gpu, dtype
        self.last = bool(rng.integers(2))
        # Channels in vectors, or not.
        self.n = int(rng.integers(1, 4))
        self.c = int(rng.choice([1, 3, 5, 8, 16]))
        self.extents = [int(one) for one in rng.integers(1, (40, 18, 9)[space - 1], space)]

    def ordered(self, shape):
        return (shape[0], *shape[2:], shape[1]) if self.last else tuple(shape)

    def viewed(self, tensor):
        rank = len(tensor.shape)
        return tensor.permute(0, rank - 1, *range(1, rank - 1)) if self.last else tensor

    def empty(self, shape, dtype=None):
        return self.viewed(self.gpu.empty(self.ordered(shape), dtype or self.dtype))

    def drawn(self, shape=None):
        shape = self.ordered(shape or (self.n, self.c, *self.extents))
        numbers = self.rng.standard_normal(shape).astype("f4")
        made = self.viewed(self.gpu.tensor(numbers, self.dtype))
        return made, in_torch(made)


def windows_of(rng, extents, dilated):
    """Windows that fit, with what PyTorch allows: paddings of up to half a window."""
    window, stride, dilation, padding = [], [], [], []
    for extent in extents:
        dilation.append(int(rng.integers(1, 3)) if dilated else 1)
        window.append(int(rng.integers(1, max(2, min(6, (extent - 1) // dilation[-1] + 2)))))
        stride.append(int(rng.integers(1, 4)))
        padding.append(int(rng.integers(0, window[-1] // 2 + 1)))
    how = {"window": window, "stride": stride, "padding": padding}
    if dilated:
        how["dilation"] = dilation
    return how


@pytest.mark.parametrize("case", range(CASES))
def test_poolings(gpu, case):
    rng = np.random.default_rng([9, case])
    space = int(rng.integers(1, 4))
    dtype = str(rng.choice(TYPES))
    images = Images(rng, gpu, dtype, space)
    ceil = bool(rng.integers(2))
    shape = (images.n, images.c, *images.extents)

    how = windows_of(rng, images.extents, dilated=True)
    what = (dtype, images.last, shape, how, ceil)
    x, x64 = images.drawn()
    x64.requires_grad_()
    pool = (functional.max_pool1d, functional.max_pool2d, functional.max_pool3d)[space - 1]
    y64 = pool(x64, how["window"], how["stride"], how["padding"], how["dilation"], ceil)
    y, dx = images.empty(y64.shape), images.empty(shape)
    wide = bool(rng.integers(2)) or np.prod(how["window"]) > 255
    places = images.empty(y64.shape, "i32" if wide else "u8")
    gpu.dnn.max_pool_forward(x=x, y=y, places=places, ceil_mode=ceil, **how).result()
    assert_close(y, y64, dtype, 0, ("max", what))
    dy, dy64 = images.drawn(y64.shape)
    y64.backward(dy64)
    gpu.dnn.max_pool_backward(dy=dy, places=places, dx=dx, ceil_mode=ceil, **how).result()
    assert_close(dx, x64.grad, dtype, np.prod(how["window"]), ("max backward", what))

    how = windows_of(rng, images.extents, dilated=False)
    counted = bool(rng.integers(2))
    what = (dtype, images.last, shape, how, ceil, counted)
    x64.grad = None
    pool = (functional.avg_pool1d, functional.avg_pool2d, functional.avg_pool3d)[space - 1]
    y64 = pool(x64, how["window"], how["stride"], how["padding"], ceil, counted)
    y = images.empty(y64.shape)
    how.update(ceil_mode=ceil, count_padding=counted)
    gpu.dnn.average_pool_forward(x=x, y=y, **how).result()
    assert_close(y, y64, dtype, 1, ("average", what))
    dy, dy64 = images.drawn(y64.shape)
    y64.backward(dy64)
    gpu.dnn.average_pool_backward(dy=dy, dx=dx, **how).result()
    assert_close(dx, x64.grad, dtype, np.prod(how["window"]), ("average backward", what))


def between_two(extent, out):
    """Whether a sample is as near to one element as to the next, where PyTorch's place is rounded."""
    return any((2 * o + 1) * extent % (2 * out) == 0 for o in range(out))


def bicubic_cases(out):
    """PyTorch has them in two dimensions."""
    return [
        (
            "resample",
            lambda t, smooth=smooth: functional.interpolate(
                t, out, mode="bicubic", antialias=smooth
            ),
            {"interpolation": "cubic", "antialias": smooth},
        )
        for smooth in (False, True)
        if len(out) == 2
    ]


@pytest.mark.parametrize("case", range(CASES))
def test_adaptive_averages_and_resamplings(gpu, case):
    rng = np.random.default_rng([10, case])
    space = int(rng.integers(1, 4))
    dtype = str(rng.choice(TYPES))
    images = Images(rng, gpu, dtype, space)
    shape = (images.n, images.c, *images.extents)
    out = [int(one) for one in rng.integers(1, (60, 25, 9)[space - 1], space)]
    x, x64 = images.drawn()
    x64.requires_grad_()
    y, dx = images.empty((*shape[:2], *out)), images.empty(shape)
    dy, dy64 = images.drawn((*shape[:2], *out))
    linear = ("linear", "bilinear", "trilinear")[space - 1]
    adaptive = (
        functional.adaptive_avg_pool1d,
        functional.adaptive_avg_pool2d,
        functional.adaptive_avg_pool3d,
    )[space - 1]
    # A corner of one sample is the image's centre in PyTorch, and its first element here.
    corners = min(out) > 1
    for name, theirs, of in (
        *bicubic_cases(out),
        (
            "resample",
            lambda t: functional.interpolate(t, out, mode="area"),
            {"interpolation": "area"},
        ),
        ("adaptive_average_pool", lambda t: adaptive(t, out), {}),
        (
            "resample",
            lambda t: functional.interpolate(t, out, mode="nearest-exact"),
            {"interpolation": "nearest"},
        ),
        (
            "resample",
            lambda t: functional.interpolate(t, out, mode=linear, align_corners=corners),
            {"interpolation": "linear_corners" if corners else "linear"},
        ),
    ):
        if of.get("interpolation") == "nearest" and any(map(between_two, images.extents, out)):
            continue
        what = (name, of, dtype, images.last, shape, out)
        x64.grad = None
        y64 = theirs(x64)
        y64.backward(dy64)
        getattr(gpu.dnn, name + "_forward")(x=x, y=y, **of).result()
        assert_close(y, y64, dtype, 2, what)
        getattr(gpu.dnn, name + "_backward")(dy=dy, dx=dx, **of).result()
        # Places of samples are rounded in PyTorch, and whole numbers here.
        terms = np.prod([o / i + 2 for o, i in zip(out, images.extents, strict=True)])
        assert_close(dx, x64.grad, dtype, terms, ("backward", *what))


def scale_of(rng, extent):
    """One that PyTorch takes as it is: if an extent is kept or doubled, it may count in elements."""
    while True:
        scale = float(rng.uniform(1.05 / extent, 3))
        if extent == 1 or int(extent * scale) not in (extent, 2 * extent):
            return scale


@pytest.mark.parametrize("case", range(CASES))
def test_scaled_resamplings(gpu, case):
    rng = np.random.default_rng([12, case])
    space = int(rng.integers(1, 4))
    dtype = str(rng.choice(TYPES))
    images = Images(rng, gpu, dtype, space)
    shape = (images.n, images.c, *images.extents)
    x, x64 = images.drawn()
    x64.requires_grad_()
    dx = images.empty(shape)

    scale = [scale_of(rng, e) for e in images.extents]
    kinds = {"nearest": "nearest_floor"}
    kinds[("linear", "bilinear", "trilinear")[space - 1]] = "linear"
    if space == 2:
        kinds["bicubic"] = "cubic"
    for mode, interpolation in kinds.items():
        what = (mode, dtype, images.last, shape, scale)
        x64.grad = None
        y64 = functional.interpolate(
            x64, scale_factor=scale, mode=mode, recompute_scale_factor=False
        )
        y = images.empty(y64.shape)
        of = {"interpolation": interpolation, "scale": scale}
        gpu.dnn.resample_forward(x=x, y=y, **of).result()
        assert_close(y, y64, dtype, 4, what)
        dy, dy64 = images.drawn(y64.shape)
        y64.backward(dy64)
        gpu.dnn.resample_backward(dy=dy, dx=dx, **of).result()
        assert_close(dx, x64.grad, dtype, 64, ("backward", *what))


@pytest.mark.parametrize("case", range(CASES))
def test_adaptive_maxima(gpu, case):
    rng = np.random.default_rng([13, case])
    space = int(rng.integers(1, 4))
    dtype = str(rng.choice(TYPES))
    images = Images(rng, gpu, dtype, space)
    shape = (images.n, images.c, *images.extents)
    x, x64 = images.drawn()
    x64.requires_grad_()
    dx = images.empty(shape)
    out = [int(one) for one in rng.integers(1, (60, 25, 9)[space - 1], space)]
    what = (dtype, images.last, shape, out)
    adaptive = (
        functional.adaptive_max_pool1d,
        functional.adaptive_max_pool2d,
        functional.adaptive_max_pool3d,
    )[space - 1]
    y64, places64 = adaptive(x64, out, return_indices=True)
    y, places = images.empty(y64.shape), images.empty(y64.shape, "i32")
    gpu.dnn.adaptive_max_pool_forward(x=x, y=y, places=places).result()
    assert_close(y, y64, dtype, 0, ("adaptive max", what))
    if dtype == "f32":  # the others have several largest elements
        assert (places.numpy() == places64.cpu().numpy()).all(), what
    dy, dy64 = images.drawn(y64.shape)
    y64.backward(dy64)
    gpu.dnn.adaptive_max_pool_backward(dy=dy, places=places, dx=dx).result()
    assert_close(dx, x64.grad, dtype, 64, ("adaptive max backward", what))


@pytest.mark.parametrize("case", range(CASES))
def test_batch_norms(gpu, case):
    rng = np.random.default_rng([11, case])
    dtype = str(rng.choice(TYPES))
    images = Images(rng, gpu, dtype, int(rng.integers(1, 4)))
    images.n += 1  # one element has no variance
    shape = (images.n, images.c, *images.extents)
    what = (dtype, images.last, shape)
    x, x64 = images.drawn()
    dy, dy64 = images.drawn()
    of_type = dtype if rng.integers(2) else "f32"
    (weight, weight64), (bias, bias64) = (drawn(rng, gpu, of_type, images.c) for _ in range(2))
    running_mean, mean64 = drawn(rng, gpu, "f32", images.c)
    running_variance = gpu.tensor(rng.uniform(0.5, 2, images.c).astype("f4"))
    variance64 = in_torch(running_variance)
    y, dx = images.empty(shape), images.empty(shape)

    given = {"weight": weight, "bias": bias, "eps": 1e-3}
    gpu.dnn.batch_norm_inference(
        x=x, mean=running_mean, variance=running_variance, y=y, **given
    ).result()
    y64 = functional.batch_norm(x64, mean64, variance64, weight64, bias64, False, 0.1, 1e-3)
    assert_close(y, y64, dtype, 8, ("inference", what))

    for one in (x64, weight64, bias64):
        one.requires_grad_()
    mean, rstd, dweight, dbias = (
        gpu.empty(images.c, one) for one in ("f32", "f32", *[of_type] * 2)
    )
    gpu.dnn.batch_norm_training(
        x=x,
        y=y,
        mean=mean,
        rstd=rstd,
        running_mean=running_mean,
        running_variance=running_variance,
        momentum=0.25,
        **given,
    ).result()
    y64 = functional.batch_norm(x64, mean64, variance64, weight64, bias64, True, 0.25, 1e-3)
    assert_close(y, y64, dtype, 32, ("training", what))
    assert_close(running_mean, mean64, "f32", 4, ("running mean", what))
    assert_close(running_variance, variance64, "f32", 8, ("running variance", what))
    y64.backward(dy64)
    gpu.dnn.batch_norm_backward(
        x=x, dy=dy, mean=mean, rstd=rstd, weight=weight, dx=dx, dweight=dweight, dbias=dbias
    ).result()
    count = x64.numel() / images.c
    assert_close(dbias, bias64.grad, of_type, count, ("dbias", what))
    assert_close(dweight, weight64.grad, of_type, 4 * count, ("dweight", what))
    # With few elements the variance is small, and so is the rest of a difference.
    assert_close(dx, x64.grad, dtype, 64 * float(rstd.numpy().max()), ("backward", what))


@pytest.mark.parametrize("case", range(CASES))
def test_local_response_norms(gpu, case):
    rng = np.random.default_rng([12, case])
    dtype = str(rng.choice(TYPES))
    images = Images(rng, gpu, dtype, int(rng.integers(1, 4)))
    shape = (images.n, images.c, *images.extents)
    how = {
        "size": int(rng.integers(1, 8)),
        "alpha": float(rng.uniform(0, 2)),
        "beta": float(rng.uniform(0.25, 1.5)),
        "k": float(rng.uniform(0.5, 2)),
    }
    what = (dtype, images.last, shape, how)
    x, x64 = images.drawn()
    dy, dy64 = images.drawn()
    y, dx = images.empty(shape), images.empty(shape)
    x64.requires_grad_()
    y64 = functional.local_response_norm(x64, **how)
    gpu.dnn.lrn_forward(x=x, y=y, **how).result()
    assert_close(y, y64, dtype, 8, what)
    y64.backward(dy64)
    gpu.dnn.lrn_backward(x=x, dy=dy, dx=dx, **how).result()
    assert_close(dx, x64.grad, dtype, 32 * how["size"], ("backward", what))


def network_of(rng):
    cell = str(rng.choice(["relu", "tanh", "lstm", "gru"]))
    hidden = int(rng.integers(1, 40))
    lstm = cell == "lstm" and hidden > 1
    return {
        "cell": cell,
        "hidden": hidden,
        "layers": int(rng.integers(1, 4)),
        "bidirectional": bool(rng.integers(2)),
        "projection": int(rng.integers(1, hidden)) if lstm and rng.integers(2) else 0,
    }


def module_of(network, features):
    how = {
        "input_size": features,
        "hidden_size": network["hidden"],
        "num_layers": network["layers"],
        "bidirectional": network["bidirectional"],
        "dtype": torch.float64,
        "device": where(),
    }
    if network["cell"] == "lstm":
        return torch.nn.LSTM(proj_size=network["projection"], **how)
    if network["cell"] == "gru":
        return torch.nn.GRU(**how)
    return torch.nn.RNN(nonlinearity=network["cell"], **how)


@pytest.mark.parametrize("case", range(CASES))
def test_recurrent_networks(gpu, on_gpu, case):
    rng = np.random.default_rng([13, case])
    torch.manual_seed(case)
    dtype = str(rng.choice(["f32", "f32", "f16"]))
    network = network_of(rng)
    steps, batch, features = (int(rng.integers(1, most)) for most in (12, 6, 24))
    what = (dtype, network, steps, batch, features)
    theirs = module_of(network, features)
    parameters = [
        one
        for kind in ("weight", "bias")
        for name, one in theirs.named_parameters()
        if name.startswith(kind)
    ]
    rounded = torch.cat([one.detach().flatten() for one in parameters]).cpu().numpy()
    weights = gpu.tensor(rounded.astype("f4"), dtype)
    begin = 0
    for one in parameters:
        part = in_torch(weights)[begin : begin + one.numel()]
        one.data.copy_(part.view_as(one))
        begin += one.numel()

    how = {"network_" + name: value for name, value in network.items()}
    x, x64 = drawn(rng, gpu, dtype, steps, batch, features)
    x64.requires_grad_()
    y64 = theirs(x64)[0]
    dy, dy64 = drawn(rng, gpu, dtype, *y64.shape)
    y64.backward(dy64)

    sizes = gpu.dnn.rnn_sizes(type=dtype, steps=steps, batch=batch, input=features, **how).result()
    assert sizes.weights == weights.numpy().size, what
    reserve = gpu.empty(sizes.reserve, "u8")
    y, dx = gpu.empty(y64.shape, dtype), gpu.empty(x64.shape, dtype)
    dweights = gpu.empty(sizes.weights, dtype)
    gpu.dnn.rnn_forward(x=x, weights=weights, y=y, reserve=reserve, **how).result()
    gpu.dnn.rnn_backward_data(weights=weights, y=y, dy=dy, dx=dx, reserve=reserve, **how).result()
    gpu.dnn.rnn_backward_weights(x=x, y=y, reserve=reserve, dweights=dweights, **how).result()
    dweights64 = torch.cat([one.grad.flatten() for one in parameters])
    results = [("y", y, y64), ("dx", dx, x64.grad), ("dw", dweights, dweights64)]
    if on_gpu and network["cell"] == "relu" and dtype == "f16":
        results = results[:1]  # rounding decides on which side of its kink a unit is
    for name, mine, expected in results:
        # Values rounded between steps and layers carry their errors on.
        expected = expected.detach().cpu().numpy()
        scale = max(1.0, np.abs(expected).max())
        bound = ROUNDING[dtype] * scale * (4 + 2 * steps * network["layers"])
        if on_gpu:  # cuDNN 9.14 was off by up to 9e-6 in f32
            bound += 2.0**-16 * scale
        off = np.abs(mine.numpy().astype("f8") - expected).max()
        assert off <= bound, (name, what, off, bound)
