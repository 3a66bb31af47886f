"""What eager PyTorch makes of the layers of dnn_graph.cpp: medians in us, as JSON lines."""

import functools

import torch
from dnn_torch import report

functional = torch.nn.functional


def layer(x, w, bias, residual):
    return functional.gelu(functional.linear(x, w, bias), approximate="tanh") + residual


for m, n, k in ((8192, 4096, 1024), (4096, 4096, 4096), (2048, 1024, 4096)):
    x, w = (torch.randn(*e, dtype=torch.bfloat16, device="cuda") for e in ((m, k), (n, k)))
    bias = torch.randn(n, dtype=torch.bfloat16, device="cuda")
    residual = torch.randn(m, n, dtype=torch.bfloat16, device="cuda")
    flops = 2.0 * m * n * k
    name = f"matmul, bias, gelu, residual bf16 {m}x{n}x{k}"
    report(name, functools.partial(layer, x, w, bias, residual), flops)
