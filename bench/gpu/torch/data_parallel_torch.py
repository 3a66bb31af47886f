"""DistributedDataParallel for the network of data_parallel.cpp, in a process for each GPU: medians in
us, as JSON lines. Without two GPUs the network is small and runs on the CPU, by gloo. If
TROUPE_BENCH_OURS names the figures of data_parallel.cpp of the same run, ours are compared."""

import json
import os
import socket
import statistics
import time

import torch
from torch import multiprocessing, nn

GPUS = torch.cuda.device_count() >= 2
RANKS = min(torch.cuda.device_count(), 8) if GPUS else 2
ROWS, WIDTH, LAYERS, STEPS, TURNS = (4096, 4096, 8, 20, 7) if GPUS else (32, 256, 4, 10, 3)


def synchronize():
    if GPUS:
        torch.cuda.synchronize()


def step(model, optimizer, x, target):
    optimizer.zero_grad(set_to_none=True)
    nn.functional.cross_entropy(model(x), target).backward()
    optimizer.step()


def measure(name, rank, model, x, target):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    times = []
    for turn in range(TURNS + 1):
        torch.distributed.barrier()
        synchronize()
        begin = time.perf_counter()
        for _ in range(STEPS):
            step(model, optimizer, x, target)
        synchronize()
        if turn > 0:
            times.append((time.perf_counter() - begin) / STEPS)
    if rank == 0:
        of = f"{RANKS} ranks, {LAYERS} layers of {WIDTH}², {ROWS} rows"
        line = {"name": f"{name}, {of}", "us": round(statistics.median(times) * 1e6, 2)}
        print(json.dumps(line, ensure_ascii=False), flush=True)
        if name == "step":
            compare(line["us"])


def compare(theirs):
    path = os.environ.get("TROUPE_BENCH_OURS")
    if not path or not os.path.exists(path):
        return
    with open(path) as file:
        steps = {one["name"]: one["value"] * 1e3 for one in json.load(file) if one["unit"] == "ms"}
    for name, ours in steps.items():
        if name.startswith(("step, in place", "step, out of place")):
            verdict = "ok" if ours <= theirs else "MISSED"
            print(f"{name}: {ours:.0f} us, DDP {theirs:.0f} us, ratio {ours / theirs:.3f} <= 1 {verdict}", flush=True)


def train(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("nccl" if GPUS else "gloo", rank=rank, world_size=RANKS)
    torch.backends.cuda.matmul.allow_tf32 = True
    device = torch.device("cuda", rank) if GPUS else torch.device("cpu")
    if GPUS:
        torch.cuda.set_device(device)
    else:
        torch.set_num_threads(1)
    torch.manual_seed(1)
    layers = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.ReLU()]
    model = nn.Sequential(*layers[:-1]).to(device)
    x = torch.randn(ROWS, WIDTH, device=device)
    target = torch.randint(WIDTH, (ROWS,), device=device)
    measure("step without averages", rank, model, x, target)
    # With views, gradients are not copied into the buckets.
    parallel = nn.parallel.DistributedDataParallel(model, gradient_as_bucket_view=True)
    measure("step", rank, parallel, x, target)
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    multiprocessing.spawn(train, (number,), nprocs=RANKS)
