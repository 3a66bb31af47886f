"""A PyTorch model as an operation, beside the same model in a plain process. Needs a GPU and torch.

    python torch_operations.py [LAYERS [WIDTH]]

The file is the module of the operation, too. The last line is JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import troupe

LAYERS = int(os.environ.get("BENCH_LAYERS", "16"))
WIDTH = int(os.environ.get("BENCH_WIDTH", "4096"))
BATCH = 32


def make() -> Any:
    return torch.nn.Sequential(*(torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(LAYERS)))


model = troupe.torch.skeleton(make)


@troupe.on_worker_start
def warm() -> None:
    x = torch.zeros(BATCH, WIDTH, device="cuda")
    (x @ torch.zeros(WIDTH, WIDTH, device="cuda")).sum().item()


@troupe.operation("net.forward", arrays="torch")
def forward(x: troupe.Reads, weights: troupe.ReadsMany, y: troupe.Writes) -> None:
    y.copy_(troupe.torch.call(model, weights, x))


@troupe.operation("net.nothing")
def nothing(x: troupe.Reads, y: troupe.Writes) -> None:
    pass


@troupe.operation("net.asserts", arrays="torch")
def asserts(x: troupe.Reads, y: troupe.Writes) -> None:
    y.copy_(x[torch.full((BATCH,), 1 << 30, device=x.device)])


@troupe.operation("net.exits")
def exits() -> None:
    os._exit(1)


def median_us(call: Callable[[], Any], times: int) -> float:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        taken.append(time.perf_counter() - begin)
    return 1e6 * statistics.median(taken)


def until_next_us(gpu: Any, bad: Callable[[], Any], good: Callable[[], Any], times: int) -> float:
    taken = []
    for _ in range(times):
        while not gpu.health.standby_ready:
            time.sleep(0.005)
        failing = bad()
        begin = time.perf_counter()
        good().result()
        taken.append(time.perf_counter() - begin)
        failing.exception()
        gpu.forgive_all()
    return 1e6 * statistics.median(taken)


def main() -> None:
    figures: dict[str, Any] = {
        "gpu": torch.cuda.get_device_name(),
        "layers": LAYERS,
        "width": WIDTH,
    }
    plain = make().cuda().requires_grad_(False)
    torch.nn.init.normal_(plain[0].weight)
    a = torch.randn(BATCH, WIDTH)
    there = a.cuda()

    def run_plain() -> None:
        with torch.inference_mode():
            plain(there)
        torch.cuda.synchronize()

    for _ in range(10):
        run_plain()
    figures["plain_us"] = median_us(run_plain, 200)
    with troupe.System() as system:
        begin = time.perf_counter()
        gpu = system.device(0, backend="cuda", operations=[__file__], start_timeout=120)
        gpu.wait_until_ready()
        figures["first_worker_s"] = time.perf_counter() - begin
        begin = time.perf_counter()
        while not gpu.health.standby_ready:
            time.sleep(0.005)
        figures["standby_s"] = time.perf_counter() - begin
        troupe.torch.load(gpu, "model", plain)
        x, y = gpu.tensor(a), gpu.empty((BATCH, WIDTH))

        def ask() -> Any:
            return gpu.net.forward(x=x, weights="model", y=y)

        ask().result()
        error = (torch.from_numpy(y.numpy()).cuda() - plain(there)).abs().max().item()
        figures["error"] = error
        for _ in range(10):
            ask().result()
        figures["operation_us"] = median_us(lambda: ask().result(), 200)
        begin = time.perf_counter()
        last = [ask() for _ in range(300)][-1]
        last.result()
        figures["operation_pipelined_us"] = 1e6 * (time.perf_counter() - begin) / 300
        empty = gpu.net.nothing
        figures["nothing_us"] = median_us(lambda: empty(x=x, y=y).result(), 500)
        exits = gpu.net.exits
        figures["exit_to_next_us"] = until_next_us(gpu, lambda: exits(), ask, 5)
        wrong = gpu.empty((BATCH, WIDTH))
        asserts = gpu.net.asserts
        figures["assert_to_next_us"] = until_next_us(gpu, lambda: asserts(x=x, y=wrong), ask, 5)
        ask().result()
        figures["error_after"] = (
            (torch.from_numpy(y.numpy()).cuda() - plain(there)).abs().max().item()
        )
    print(json.dumps(figures))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        os.environ["BENCH_LAYERS"] = sys.argv[1]
    if len(sys.argv) > 2:
        os.environ["BENCH_WIDTH"] = sys.argv[2]
    if len(sys.argv) > 1:
        os.execv(sys.executable, [sys.executable, __file__])
    main()
