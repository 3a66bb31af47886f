"""Functions of one's own: fused to one pass over memory, differentiated, applied to rows."""

import numpy as np
import troupe
import troupe.elementwise as ew

# region: own_function
# Traced once: called with expressions, which become a small program for the device.
swish = ew.function(lambda x, b: ew.silu(x + b))
slope = swish.derivative(0)  # by x


def softmax(x: ew.Expression) -> ew.Expression:
    e = ew.exp(x - ew.row_max(x))
    return e / ew.row_sum(e)


with troupe.System() as system:
    gpu = system.device(0)
    x = gpu.tensor(np.random.default_rng(1).standard_normal((512, 1024)), "f32")
    b = gpu.tensor(np.linspace(-1, 1, 1024), "f32")

    y = gpu.map(swish, x, b)  # b is broadcast, y allocated
    g = gpu.map(slope, x, b)
    gpu.map(lambda y, g: y - 0.1 * g, y, g, out=y)  # in place
    p = gpu.rows(softmax, y)  # each row of the last axis
    top, best = gpu.rows(lambda p: (ew.row_max(p), ew.row_argmax(p)), p)
    # endregion: own_function

    z = x.numpy() + b.numpy()
    sigmoid = 1 / (1 + np.exp(-z))
    expected = z * sigmoid - 0.1 * sigmoid * (1 + z * (1 - sigmoid))
    rows = np.exp(expected - expected.max(-1, keepdims=True))
    rows /= rows.sum(-1, keepdims=True)
    right = np.allclose(p.numpy(), rows, rtol=1e-4) and np.allclose(top.numpy(), rows.max(-1))

    print(swish)
    print(slope)
    print(f"softmax of {p.shape}: the same as NumPy's: {right}; most likely {best.numpy()[:4]}")
