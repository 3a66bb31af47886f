"""What PyTorch needs for the requests of primitives.cpp: medians in ms, as JSON lines."""

import json
import statistics
import time

import torch


def report(name, call, blocks=10, repeats=5):
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
    print(json.dumps({"name": name, "ms": round(statistics.median(times) * 1e3, 4)}), flush=True)


x = torch.randn(1 << 26, device="cuda")
out = torch.empty_like(x)
indices = torch.empty(1 << 26, device="cuda", dtype=torch.int64)
report("sum, f32 2^26", lambda: x.sum())
report("max, f32 2^26", lambda: x.max())
report("cumsum, f32 2^26", lambda: torch.cumsum(x, 0, out=out))
report("sort with indices, f32 2^26", lambda: torch.sort(x, out=(out, indices)))
report("topk 100, f32 2^26", lambda: torch.topk(x, 100))
for rows, length, k in ((32, 1 << 20, 10), (64, 1 << 17, 50), (4096, 128, 8)):
    matrix = x[: rows * length].reshape(rows, length)
    report(f"topk {k}, f32 [{rows}, {length}]", lambda: torch.topk(matrix, k))
