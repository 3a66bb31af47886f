"""Recurrent networks beside PyTorch's, whose weights and gradients they take as they are."""

import itertools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

STEPS, BATCH, INPUT, HIDDEN, LENGTHS = 6, 4, 5, 7, [3, 6, 1, 5]
CASES = [
    case
    for case in itertools.product(
        ("relu", "tanh", "lstm", "gru"), (1, 3), (False, True), (0, 3), (False, True), (False, True)
    )
    if case[0] == "lstm" or case[3] == 0
]


def _made(cell, **options):
    if cell == "lstm":
        return torch.nn.LSTM(**options)
    options.pop("proj_size")
    if cell == "gru":
        return torch.nn.GRU(**options)
    return torch.nn.RNN(nonlinearity=cell, **options)


def _joined(network, of):
    return torch.cat(
        [
            of(p).flatten()
            for kind in ("weight", "bias")
            for name, p in network.named_parameters()
            if name.startswith(kind)
        ]
    )


def _near(ours, theirs):
    expected = theirs.detach().numpy()
    np.testing.assert_allclose(
        np.asarray(ours), expected, rtol=0, atol=2e-5 * max(1, abs(expected).max())
    )


@pytest.mark.parametrize(("cell", "layers", "both", "projection", "batch_first", "padded"), CASES)
def test_is_that_of_pytorch(gpu, cell, layers, both, projection, batch_first, padded):
    torch.manual_seed(1)
    theirs = _made(
        cell,
        input_size=INPUT,
        hidden_size=HIDDEN,
        num_layers=layers,
        bidirectional=both,
        proj_size=projection,
        batch_first=batch_first,
    )
    states = layers * (2 if both else 1)
    x = torch.randn((BATCH, STEPS, INPUT) if batch_first else (STEPS, BATCH, INPUT))
    x.requires_grad_()
    h_0 = torch.randn(states, BATCH, projection or HIDDEN)
    c_0 = torch.randn(states, BATCH, HIDDEN)
    rows = x
    if padded:
        rows = torch.nn.utils.rnn.pack_padded_sequence(
            x, LENGTHS, batch_first=batch_first, enforce_sorted=False
        )
    y, last = theirs(rows, (h_0, c_0) if cell == "lstm" else h_0)
    if padded:
        y, _ = torch.nn.utils.rnn.pad_packed_sequence(
            y, batch_first=batch_first, total_length=STEPS
        )
    dy = torch.randn_like(y)
    (y * dy).sum().backward()

    def ours(t):
        made = gpu.tensor(t.detach().numpy())
        return made.permute(1, 0, 2) if batch_first else made

    network = {
        "network_cell": cell,
        "network_hidden": HIDDEN,
        "network_layers": layers,
        "network_bidirectional": both,
        "network_projection": projection,
    }
    sizes = gpu.dnn.rnn_sizes(steps=STEPS, batch=BATCH, input=INPUT, **network).result()
    weights = _joined(theirs, lambda p: p.detach())
    assert sizes.weights == weights.numel()
    if padded:
        network["lengths"] = LENGTHS
    cells = {"c_0": gpu.tensor(c_0.numpy())} if cell == "lstm" else {}
    given = {"h_0": gpu.tensor(h_0.numpy()), **cells}
    w, reserve = gpu.tensor(weights.numpy()), gpu.empty(sizes.reserve, "u8")
    x_in, out, h_n = ours(x), ours(torch.zeros_like(y)), gpu.empty(tuple(h_0.shape))
    gpu.dnn.rnn_forward(
        x=x_in, weights=w, y=out, h_n=h_n, reserve=reserve, **given, **network
    ).result()
    dx, dw = ours(torch.zeros_like(x)), gpu.empty(sizes.weights)
    gpu.dnn.rnn_backward_data(
        weights=w, y=out, dy=ours(dy), dx=dx, reserve=reserve, **given, **network
    ).result()
    gpu.dnn.rnn_backward_weights(
        x=x_in, h_0=given["h_0"], y=out, reserve=reserve, dweights=dw, **network
    ).result()
    back = (lambda t: t.permute(1, 0, 2)) if batch_first else (lambda t: t)
    _near(back(out), y)
    _near(h_n, last[0] if cell == "lstm" else last)
    _near(back(dx), x.grad)
    _near(dw, _joined(theirs, lambda p: p.grad))
