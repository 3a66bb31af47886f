"""A transformer block, forward and backward, from requests alone: it learns a function."""

from typing import Any

import numpy as np
import troupe
import troupe.dnn as nn

BATCH, TOKENS, HEADS, SIZE = 4, 32, 4, 16
ROWS, WIDTH = BATCH * TOKENS, HEADS * SIZE
rng = np.random.default_rng(2026)

# Between attention and norms; each is one request.
product = nn.computation(lambda x, w: x @ w)
joined = nn.computation(lambda x, w, residual: x @ w + residual)
widened = nn.computation(lambda x, w: (u := x @ w, nn.relu(u)))
squares = nn.computation(lambda y, t: (nn.mean((y - t) ** 2, (0, 1)), (y - t) * 2 / (ROWS * WIDTH)))
by_input = nn.computation(lambda dy, w: dy @ nn.transpose(w, (1, 0)))
by_weight = nn.computation(lambda x, dy: nn.transpose(x, (1, 0)) @ dy)
through_relu = nn.computation(lambda dy, w, u: nn.where(u > 0, dy @ nn.transpose(w, (1, 0)), 0))


def heads(t: Any, n: int = 1) -> list[Any]:
    split = t.reshape(BATCH, TOKENS, n, HEADS, SIZE).permute(2, 0, 3, 1, 4)
    return [split[i] for i in range(n)]


with troupe.System() as system:
    gpu = system.device(0)
    ew, dnn = gpu.elementwise, gpu.dnn
    shapes = (WIDTH, 3 * WIDTH), (WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (4 * WIDTH, WIDTH)
    w = [gpu.tensor((rng.standard_normal(s) * s[0] ** -0.5).astype("f2")) for s in shapes]
    moments = [[gpu.full(s, 0, "f32") for s in shapes] for _ in range(2)]
    x = gpu.tensor(rng.standard_normal((ROWS, WIDTH)).astype("f2"))
    target = gpu.tensor(np.sin(2 * x.numpy()))
    o, d_o = (gpu.empty((ROWS, WIDTH), "f16") for _ in range(2))  # written through views
    dqkv, stats = gpu.empty((ROWS, 3 * WIDTH), "f16"), gpu.empty((BATCH, HEADS, TOKENS, 1), "f32")
    losses: list[float] = []
    for step in range(1, 41):
        # Each answer is the operand of what follows: the whole step is sent without a wait.
        n1 = ew.rms_norm(x)
        q, k, v = heads(gpu.compute(product, n1, w[0]), 3)
        dnn.attention_forward(q, k, v, heads(o)[0], statistics=stats, mask_right=0)
        r = gpu.compute(joined, o, w[1], x)
        rstd = gpu.empty((ROWS,), "f32")
        n2 = ew.rms_norm(r, rstd=rstd).y
        u, a = gpu.compute(widened, n2, w[2])
        y = gpu.compute(joined, a, w[3], r)
        loss, dy = gpu.compute(squares, y, target, dtype=("f32", "f16"))
        du = gpu.compute(through_relu, dy, w[3], u)
        dn = gpu.compute(by_input, du, w[2])
        dn = ew.rms_norm_backward(x=r, dy=dn, rstd=rstd).dx
        dr = ew.residual_add(dn, dy)
        gpu.compute(by_input, dr, w[1], out=d_o)
        dq, dk, dv = heads(dqkv, 3)
        dnn.attention_backward(q=q, k=k, v=v, o=heads(o)[0], dout=heads(d_o)[0], statistics=stats,
                               dq=dq, dk=dk, dv=dv, mask_right=0)  # fmt: skip
        pairs = (n1, dqkv), (o, dr), (n2, du), (a, dy)
        gradients = [gpu.compute(by_weight, *pair) for pair in pairs]
        ew.adamw(w, gradients, *moments, learning_rate=3e-3, weight_decay=0.0, step=step)
        losses.append(float(loss.numpy()[0, 0]))
    print(f"loss from {losses[0]:.3f} to {losses[-1]:.3f}; it learns: {losses[-1] < losses[0] / 2}")
