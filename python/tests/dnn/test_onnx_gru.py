"""ONNX's GRU, whose gates and weights are taken as docs/libraries/dnn.md says."""

import numpy as np
import pytest


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def onnx_gru(x, w, r, b, h, linear_before_reset):
    """One direction by the operator's equations: Y and Y_h."""
    w_z, w_r, w_h = np.split(w, 3)
    r_z, r_r, r_h = np.split(r, 3)
    wb_z, wb_r, wb_h, rb_z, rb_r, rb_h = np.split(b, 6)
    rows = []
    for x_t in x:
        z = sigmoid(x_t @ w_z.T + h @ r_z.T + wb_z + rb_z)
        reset = sigmoid(x_t @ w_r.T + h @ r_r.T + wb_r + rb_r)
        of_state = reset * (h @ r_h.T + rb_h) if linear_before_reset else (reset * h) @ r_h.T + rb_h
        h = (1 - z) * np.tanh(x_t @ w_h.T + of_state + wb_h) + z * h
        rows.append(h)
    return np.stack(rows), h


@pytest.mark.parametrize("linear_before_reset", [False, True])
def test_gru_of_an_exported_model(gpu, rng, linear_before_reset):
    def drawn(*shape):
        return rng.standard_normal(shape).astype("f4") / 2

    t, b, i, hidden = 6, 3, 4, 5
    x, h_0 = drawn(t, b, i), drawn(2, b, hidden)
    W, R, B = drawn(2, 3 * hidden, i), drawn(2, 3 * hidden, hidden), drawn(2, 6 * hidden)

    def ours(gates):
        return gates.reshape(3, -1)[[1, 0, 2]].ravel()

    weights = np.concatenate(
        [ours(m[k]) for k in range(2) for m in (W, R)]
        + [ours(part) for k in range(2) for part in np.split(B[k], 2)]
    )
    y, h_n = gpu.dnn.rnn_forward(
        x=gpu.tensor(x), weights=gpu.tensor(weights), h_0=gpu.tensor(h_0),
        h_n=gpu.empty((2, b, hidden)),
        network_cell="gru", network_hidden=hidden, network_bidirectional=True,
        network_linear_before_reset=linear_before_reset,
    ).result()  # fmt: skip
    y = y.numpy().reshape(t, b, 2, hidden)
    for k, steps in enumerate((slice(None), slice(None, None, -1))):
        expected, last = onnx_gru(x[steps], W[k], R[k], B[k], h_0[k], linear_before_reset)
        np.testing.assert_allclose(y[:, :, k], expected[steps], atol=1e-5)
        np.testing.assert_allclose(h_n.numpy()[k], last, atol=1e-5)
