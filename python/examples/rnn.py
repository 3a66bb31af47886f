"""An LSTM learns to add up the two numbers of a sequence that are marked, from requests alone."""

from typing import Any

import numpy as np
import numpy.typing as npt
import troupe

STEPS, BATCH, HIDDEN, ROUNDS = 10, 64, 24, 400
rng = np.random.default_rng(1)


def sequences() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """Numbers and marks, [STEPS, BATCH, 2], and the sums of the marked numbers."""
    x = np.zeros((STEPS, BATCH, 2), np.float32)
    x[:, :, 0] = rng.uniform(-1, 1, (STEPS, BATCH))
    each, half = np.arange(BATCH), STEPS // 2
    x[rng.integers(half, size=BATCH), each, 1] = 1
    x[half + rng.integers(half, size=BATCH), each, 1] = 1
    return x, (x[:, :, 0] * x[:, :, 1]).sum(axis=0, keepdims=True).T.astype(np.float32)


with troupe.System() as system:
    gpu = system.device(0)
    network: dict[str, Any] = {"network_cell": "lstm", "network_hidden": HIDDEN}
    sizes = gpu.dnn.rnn_sizes(steps=STEPS, batch=BATCH, input=2, **network).result()
    reserve = gpu.empty(sizes.reserve, "u8")
    w = gpu.tensor(rng.uniform(-0.2, 0.2, (sizes.weights,)).astype("f4"))
    head = gpu.tensor(rng.uniform(-0.2, 0.2, (HIDDEN, 1)).astype("f4"))
    dw, dhead = gpu.empty(sizes.weights), gpu.empty((HIDDEN, 1))
    m, v = ([gpu.full(t.shape, 0) for t in (w, head)] for _ in range(2))
    adam: dict[str, Any] = {"first_moments": m, "second_moments": v, "learning_rate": 0.01}
    y, dy = gpu.empty((STEPS, BATCH, HIDDEN)), gpu.full((STEPS, BATCH, HIDDEN), 0)
    last, dlast = gpu.empty((1, BATCH, HIDDEN)), gpu.empty((1, BATCH, HIDDEN))
    dx, guess, error = gpu.empty((STEPS, BATCH, 2)), gpu.empty((BATCH, 1)), gpu.empty((BATCH, 1))
    loss = 0.0
    for step in range(1, ROUNDS + 1):
        numbers, sums = sequences()
        x, target = gpu.tensor(numbers), gpu.tensor(sums)
        rows, drows = last[0], dlast[0]
        asked = [
            gpu.dnn.rnn_forward(x=x, weights=w, y=y, h_n=last, reserve=reserve, **network),
            gpu.blas.gemm(a=rows, b=head, c=guess),
            gpu.map(lambda p, t: (p - t) * (2 / BATCH), guess, target, out=error),
            gpu.blas.gemm(a=rows.transpose(), b=error, c=dhead),
            gpu.blas.gemm(a=error, b=head.transpose(), c=drows),
            gpu.dnn.rnn_backward_data(
                weights=w, y=y, dy=dy, dh_n=dlast, dx=dx, reserve=reserve, **network
            ),
            gpu.dnn.rnn_backward_weights(x=x, y=y, reserve=reserve, dweights=dw, **network),
            gpu.elementwise.adamw(parameters=[w, head], gradients=[dw, dhead], step=step, **adam),
        ]
        for one in asked:
            one.result()
        loss = float(((np.asarray(guess) - sums) ** 2).mean())
        if step == 1 or step % 100 == 0:
            print(f"round {step}: {loss:.4f}")
    print("learned:", loss < 0.1)  # guessing the mean gives 0.67
