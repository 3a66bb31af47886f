"""What PyTorch needs for the requests of solver.cpp: medians in ms, as JSON lines."""

import json
import statistics
import time

import torch


def report(name, call, blocks=5, repeats=2):
    for _ in range(2):
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


def matrix(n, *batch):
    a = torch.randn(*batch, n, n, device="cuda")
    return a + a.mT + 2 * n * torch.eye(n, device="cuda")


a = matrix(4096)
report("LU, f32 4096", lambda: torch.linalg.lu_factor(a))
report("Cholesky, f32 4096", lambda: torch.linalg.cholesky(a))
report("QR, f32 4096", lambda: torch.geqrf(a))
a = matrix(2048)
report("eigh, f32 2048", lambda: torch.linalg.eigh(a))
report("singular values, f32 2048", lambda: torch.linalg.svdvals(a))
a = matrix(32, 10_000)
b = torch.randn(10_000, 32, 1, device="cuda")
report("10 000 solves, f32 32", lambda: torch.linalg.solve(a, b))
report("10 000 eigh, f32 32", lambda: torch.linalg.eigh(a))
report("10 000 svd, f32 32", lambda: torch.linalg.svd(a))
