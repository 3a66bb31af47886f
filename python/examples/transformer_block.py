"""A transformer block, forward and backward, from requests alone: it learns a function."""

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


def heads(t: troupe.Tensor, n: int = 1) -> list[troupe.Tensor]:
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
    n1, n2, o, d_o, dn = (gpu.empty((ROWS, WIDTH), "f16") for _ in range(5))
    dqkv, stats = gpu.empty((ROWS, 3 * WIDTH), "f16"), gpu.empty((BATCH, HEADS, TOKENS, 1), "f32")
    rstd = gpu.empty((ROWS,), "f32")
    losses: list[float] = []
    for step in range(1, 41):
        ew.rms_norm(x=x, y=n1).result()
        q, k, v = heads(gpu.compute(product, n1, w[0]).result(), 3)
        dnn.attention_forward(q=q, k=k, v=v, o=heads(o)[0], statistics=stats, mask_right=0).result()
        r = gpu.compute(joined, o, w[1], x).result()
        ew.rms_norm(x=r, y=n2, rstd=rstd).result()
        u, a = gpu.compute(widened, n2, w[2]).result()
        y = gpu.compute(joined, a, w[3], r).result()
        loss, dy = gpu.compute(squares, y, target, dtype=("f32", "f16")).result()
        du = gpu.compute(through_relu, dy, w[3], u).result()
        gpu.compute(by_input, du, w[2], out=dn).result()
        ew.rms_norm_backward(x=r, dy=dn, rstd=rstd, dx=dn).result()
        dr = ew.residual_add(x=dn, residual=dy).result()
        gpu.compute(by_input, dr, w[1], out=d_o).result()
        dq, dk, dv = heads(dqkv, 3)
        dnn.attention_backward(q=q, k=k, v=v, o=heads(o)[0], dout=heads(d_o)[0], statistics=stats,
                               dq=dq, dk=dk, dv=dv, mask_right=0).result()  # fmt: skip
        pairs = (n1, dqkv), (o, dr), (n2, du), (a, dy)
        gradients = [gpu.compute(by_weight, *pair).result() for pair in pairs]
        ew.adamw(parameters=w, gradients=gradients, first_moments=moments[0], second_moments=moments[1],
                 learning_rate=3e-3, weight_decay=0.0, step=step).result()  # fmt: skip
        losses.append(float(loss.numpy()[0, 0]))
    print(f"loss from {losses[0]:.3f} to {losses[-1]:.3f}; it learns: {losses[-1] < losses[0] / 2}")
