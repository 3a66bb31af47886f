"""What PyTorch makes of the functions of elementwise.cpp: medians in GB/s, as JSON lines."""

import json
import statistics
import sys
import time

import torch

silu = torch.nn.functional.silu


def rate(call, tensors, repeats=8, blocks=20):
    moved = sum(t.numel() * t.element_size() for t in tensors)
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(blocks):
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / repeats)
    return moved / statistics.median(times) * 1e-9


def report(name, call, tensors):
    print(json.dumps({"name": name, "gb_s": round(rate(call, tensors))}), flush=True)


def main():
    cuda = {"device": "cuda"}
    for kind in (torch.float32, torch.bfloat16):
        x, z = (torch.randn(1 << 26, dtype=kind, **cuda) for _ in range(2))
        y = torch.empty_like(x)
        report(f"copy, {kind}", lambda: y.copy_(x), [x, y])
        report(f"2x + z, {kind}", lambda: torch.add(z, x, alpha=2, out=y), [x, z, y])
    x = torch.randn(65536, 4096, dtype=torch.bfloat16, **cuda)
    b = torch.randn(4096, dtype=torch.bfloat16, **cuda)
    report("silu(x + b), eager", lambda: silu(x + b), [x, b, x])
    if "--compile" in sys.argv:
        fused = torch.compile(lambda x, b: silu(x + b))
        report("silu(x + b), torch.compile", lambda: fused(x, b), [x, b, x])
    t = torch.randn(8192, 8192, **cuda)
    out = torch.empty(8192, 8192, **cuda)
    report("transposed", lambda: torch.mul(t.T, 2, out=out), [t, out])
    four = torch.randn(64, 128, 64, 128, **cuda)
    for order in ((0, 2, 1, 3), (3, 1, 0, 2)):
        view = four.permute(order)
        to = torch.empty(view.shape, **cuda)
        report(f"permuted {order}", lambda v=view, to=to: torch.mul(v, 2, out=to), [view, to])
    x = torch.randn(16384, 8192, dtype=torch.bfloat16, **cuda)
    w = torch.randn(8192, dtype=torch.bfloat16, **cuda)
    report("softmax", lambda: torch.softmax(x, -1), [x, x])
    layer_norm = torch.nn.functional.layer_norm
    report("layer norm", lambda: layer_norm(x, (8192,), w, w), [x, x])
    report("RMS norm", lambda: torch.nn.functional.rms_norm(x, (8192,), w), [x, x])
    row = torch.randn(1 << 26, **cuda)
    report("sum of all", lambda: row.sum(), [row])
    report("softmax, 4 x 2^24", lambda: torch.softmax(row.view(4, -1), -1), [row, row])


main()
