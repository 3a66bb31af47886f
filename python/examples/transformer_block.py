"""A transformer block, forward and backward, from requests alone: it learns a function of its inputs."""

import numpy as np
import troupe
import troupe.dnn as nn

BATCH, TOKENS, HEADS, SIZE = 4, 32, 4, 16
WIDTH = HEADS * SIZE
ROWS = BATCH * TOKENS
rng = np.random.default_rng(2026)

# What the block computes between attention and norms; each is one request.
linear = nn.computation(lambda x, w, b: x @ w + b)
widened = nn.computation(lambda x, w, b: (u := x @ w + b, nn.gelu_tanh(u)))
narrowed = nn.computation(lambda x, w, b, residual: x @ w + b + residual)
added = nn.computation(lambda a, b: a + b)
by_input = nn.computation(lambda dy, w: dy @ nn.transpose(w, (1, 0)))
by_weights = nn.computation(lambda x, dy: (nn.transpose(x, (1, 0)) @ dy, nn.sum(dy, 0)))


@nn.computation
def squared_error(y: nn.Node, target: nn.Node) -> tuple[nn.Node, nn.Node]:
    apart = y - target
    return nn.mean(apart * apart, (0, 1)), apart * (2 / (ROWS * WIDTH))


@nn.computation
def through_gelu(dy: nn.Node, w: nn.Node, u: nn.Node) -> nn.Node:
    t = nn.tanh(0.7978845608 * (u + 0.044715 * u * u * u))
    slope = 0.5 * (1 + t) + 0.5 * u * (1 - t * t) * (0.7978845608 * (1 + 0.134145 * u * u))
    return dy @ nn.transpose(w, (1, 0)) * slope


def run(
    gpu: troupe.Device, w: dict[str, troupe.Tensor], x: troupe.Tensor, target: troupe.Tensor
) -> tuple[float, dict[str, troupe.Tensor]]:
    """The loss, and the gradient of each weight."""
    ew, dnn = gpu.elementwise, gpu.dnn

    def norm(x: troupe.Tensor, gain: str, shift: str) -> tuple[troupe.Tensor, ...]:
        y, mean, rstd = gpu.empty((ROWS, WIDTH), "f16"), gpu.empty((ROWS,)), gpu.empty((ROWS,))
        ew.layer_norm(x=x, weight=w[gain], bias=w[shift], y=y, mean=mean, rstd=rstd).result()
        return y, mean, rstd

    def heads(qkv: troupe.Tensor) -> list[troupe.Tensor]:
        split = qkv.reshape(BATCH, TOKENS, -1, HEADS, SIZE).permute(2, 0, 3, 1, 4)
        return [split[i] for i in range(split.shape[0])]

    def compute(what: nn.Computation, *tensors: troupe.Tensor, dtype: str = "f16"):
        return gpu.compute(what, *tensors, dtype=dtype, intermediate="f16").result()

    n1, mean1, rstd1 = norm(x, "gain1", "shift1")
    qkv = compute(linear, n1, w["qkv"], w["b_qkv"])
    q, k, v = heads(qkv)
    o, statistics = gpu.empty((ROWS, WIDTH), "f16"), gpu.empty((BATCH, HEADS, TOKENS, 1))
    (by_head,) = heads(o)
    dnn.attention_forward(q=q, k=k, v=v, o=by_head, statistics=statistics, right=0).result()
    r = compute(linear, o, w["o"], x)
    n2, mean2, rstd2 = norm(r, "gain2", "shift2")
    u, a = compute(widened, n2, w["up"], w["b_up"])
    y = compute(narrowed, a, w["down"], w["b_down"], r)
    loss, dy = gpu.compute(squared_error, y, target, dtype=("f32", "f16")).result()

    g = {name: gpu.empty(one.shape, "f16") for name, one in w.items()}
    dn, d_o, dqkv = (gpu.empty((ROWS, n), "f16") for n in (WIDTH, WIDTH, 3 * WIDTH))
    g["down"], g["b_down"] = compute(by_weights, a, dy)
    du = compute(through_gelu, dy, w["down"], u)
    g["up"], g["b_up"] = compute(by_weights, n2, du)
    ew.layer_norm_backward(x=r, dy=compute(by_input, du, w["up"]), mean=mean2, rstd=rstd2, weight=w["gain2"],
                           dx=dn, dweight=g["gain2"], dbias=g["shift2"]).result()  # fmt: skip
    dr = compute(added, dn, dy)
    g["o"], _ = compute(by_weights, o, dr)
    gpu.compute(by_input, dr, w["o"], out=d_o).result()
    dq, dk, dv = heads(dqkv)
    dnn.attention_backward(q=q, k=k, v=v, o=by_head, d_o=heads(d_o)[0], statistics=statistics,
                           d_q=dq, d_k=dk, d_v=dv, right=0).result()  # fmt: skip
    g["qkv"], g["b_qkv"] = compute(by_weights, n1, dqkv)
    ew.layer_norm_backward(x=x, dy=compute(by_input, dqkv, w["qkv"]), mean=mean1, rstd=rstd1, weight=w["gain1"],
                           dx=dn, dweight=g["gain1"], dbias=g["shift1"]).result()  # fmt: skip
    return float(loss.numpy()[0, 0]), g


def main() -> None:
    with troupe.System() as system:
        gpu = system.device(0)

        def drawn(*extents: int, scale: float = 1.0) -> troupe.Tensor:
            return gpu.tensor((rng.standard_normal(extents) * scale).astype("f2"))

        shapes = {"qkv": (WIDTH, 3 * WIDTH), "o": (WIDTH, WIDTH), "up": (WIDTH, 4 * WIDTH),
                  "down": (4 * WIDTH, WIDTH)}  # fmt: skip
        w = {name: drawn(*s, scale=s[0] ** -0.5) for name, s in shapes.items()}
        for name, n in (("b_qkv", 3 * WIDTH), ("b_up", 4 * WIDTH), ("b_down", WIDTH)):
            w[name] = gpu.full((1, n), 0, "f16")
        for i in ("1", "2"):
            w["gain" + i], w["shift" + i] = gpu.full((WIDTH,), 1, "f16"), gpu.full((WIDTH,), 0, "f16")
        moments = [[gpu.full(one.shape, 0, "f32") for one in w.values()] for _ in range(2)]
        x = drawn(ROWS, WIDTH)
        target = gpu.tensor(np.sin(2 * x.numpy().astype("f4")).astype("f2"))
        first, gradients = run(gpu, w, x, target)
        last = first
        for step in range(40):
            gpu.elementwise.adamw(parameters=list(w.values()), gradients=[gradients[name] for name in w],
                                  first_moments=moments[0], second_moments=moments[1],
                                  learning_rate=3e-3, weight_decay=0.0, step=step + 1).result()  # fmt: skip
            last, gradients = run(gpu, w, x, target)
        print(f"loss {first:.4f} at first, {last:.4f} at last; it learns: {last < first / 2}")


main()
