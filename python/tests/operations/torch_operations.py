"""Operations of torch and CuPy, for tests where these are installed."""

import ctypes
import os
import time

import torch
import troupe


def make():
    return torch.nn.Sequential(
        torch.nn.Linear(256, 512),
        torch.nn.ReLU(),
        torch.nn.BatchNorm1d(512),
        torch.nn.Linear(512, 64),
    )


model = troupe.torch.skeleton(make)
on_gpu_while_imported = torch.cuda.is_available()  # as many modules ask


@troupe.on_worker_start
def computes():
    """In each worker, and while imported: with threads that are not there after a fork."""
    return float((torch.ones(1024, 1024) @ torch.ones(1024, 1024)).add_(1).sum())


computes()


@troupe.operation("net.forward", arrays="torch")
def forward(
    x: troupe.Reads("batch", 256, dtype="f32"),
    weights: troupe.ReadsMany,
    y: troupe.Writes("batch", 64, dtype="f32"),
    *,
    scale: float = 1.0,
) -> None:
    y.copy_(troupe.torch.call(model, weights, x) * scale)


@troupe.operation("net.doubles")
def doubles(x: troupe.Reads("n"), y: troupe.Writes("n", like="x")) -> None:
    torch.from_dlpack(y).copy_(torch.from_dlpack(x) * 2)


@troupe.operation("net.doubles_by_cupy", arrays="cupy")
def doubles_by_cupy(x: troupe.Reads("n"), y: troupe.Writes("n", like="x")) -> None:
    y[...] = x * 2


@troupe.operation("net.where")
def where(x: troupe.Reads("n")):
    return {
        "stream": torch.cuda.current_stream().cuda_stream,
        "lane": x.stream,
        "device": str(torch.from_dlpack(x).device),
        "pid": os.getpid(),
    }


@troupe.operation("net.sleeps")
def sleeps(seconds: float) -> None:
    time.sleep(seconds)


@troupe.operation("net.goes_wrong", arrays="torch")
def goes_wrong(
    x: troupe.Reads(1 << 20, dtype="f32"), y: troupe.Writes(1 << 20, like="x"), *, how: str
) -> None:
    if how == "raise":
        raise ValueError("bad model input")
    if how == "out of memory":
        torch.empty(1 << 50, dtype=torch.uint8, device=x.device)
    if how == "assert":
        x = x[torch.full((256,), 1 << 30, device=x.device)].sum()
    if how == "write what is frozen":
        x.fill_(1)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "exit":
        os._exit(1)
    if how == "loop":
        while True:
            pass
    if how == "kernel loop":
        torch.cuda._sleep(1 << 50)
    y.copy_(x)


@troupe.operation("net.asked_while_imported")
def asked_while_imported():
    return on_gpu_while_imported


@troupe.operation("net.late_sum", arrays="torch")
def late_sum(
    weights: troupe.ReadsMany, y: troupe.Writes(1, dtype="f32"), *, seconds: float
) -> None:
    if y.is_cuda:
        torch.cuda._sleep(int(seconds * 1.5e9))  # in the stream: the call itself returns at once
    else:
        time.sleep(seconds)
    y[0] = weights["w"].sum()


@troupe.operation("net.spins")
def spins(cycles: int) -> None:
    torch.cuda._sleep(cycles)
