"""PyTorch's all_reduce in a process for each GPU, many without a wait between: medians in us, as JSON
lines. Without two GPUs it runs two ranks on the CPU, by gloo, and small sizes only."""

import json
import os
import socket
import statistics
import time

import torch
from torch import multiprocessing

GPUS = torch.cuda.device_count() >= 2
RANKS = min(torch.cuda.device_count(), 8) if GPUS else 2
KIB = 1024
LONGEST = 256 * KIB * KIB if GPUS else KIB * KIB


def synchronize():
    if GPUS:
        torch.cuda.synchronize()


def measure(rank, x, count):
    part = x[: count // 4]
    times = max(8, min(400, LONGEST // count)) if GPUS else 8
    took = []
    for turn in range(6):
        torch.distributed.barrier()
        synchronize()
        begin = time.perf_counter()
        for _ in range(times):
            torch.distributed.all_reduce(part)
        synchronize()
        if turn > 0:
            took.append((time.perf_counter() - begin) / times)
    if rank == 0:
        size = f"{count // KIB} KiB" if count < KIB * KIB else f"{count // KIB // KIB} MiB"
        line = {"name": f"all_reduce in place {size}", "ranks": RANKS, "us": round(statistics.median(took) * 1e6, 2)}
        print(json.dumps(line), flush=True)


def run(rank, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.distributed.init_process_group("nccl" if GPUS else "gloo", rank=rank, world_size=RANKS)
    device = torch.device("cuda", rank) if GPUS else torch.device("cpu")
    if GPUS:
        torch.cuda.set_device(device)
    x = torch.zeros(LONGEST // 4, device=device)
    count = KIB
    while count <= LONGEST:
        measure(rank, x, count)
        count *= 4
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        number = free.getsockname()[1]
    multiprocessing.spawn(run, (number,), nprocs=RANKS)
