"""A chain of small requests from Python: each answer the operand of the next one.

`chains.py FLOOR [LENGTH [SIZE]]`: FLOOR is bench_python_floor. Waits at each step, and at the end
alone, beside the loop in C++ and PyTorch's on the same device (its CPU where the device is one).
Prints a table, and writes a list of {name, value, unit, reference, reference_value, target, met} to
$TROUPE_BENCH_JSON.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import troupe

FLOOR = sys.argv[1]
LENGTH = int(sys.argv[2]) if len(sys.argv) > 2 else 20
SIZE = int(sys.argv[3]) if len(sys.argv) > 3 else 64
lines: list[dict[str, Any]] = []


def report(
    name: str, value: float, reference: str = "", beside: float | None = None, target: str = "",
    met: bool | None = None,
) -> None:  # fmt: skip
    lines.append({"name": name, "value": value, "unit": "us", "reference": reference,
                  "reference_value": beside, "target": target or None, "met": met})  # fmt: skip
    shown = f"{reference} {beside:.6g}" if beside is not None else ""
    verdict = "" if met is None else f"{target}: {'met' if met else 'MISSED'}"
    print(f"{name:52} {value:10.6g} us  {shown:34} {verdict}", flush=True)


def median_of(chain: Callable[[], object], rounds: int = 300) -> float:
    for _ in range(30):
        chain()
    times = []
    for _ in range(rounds):
        begin = time.perf_counter()
        chain()
        times.append((time.perf_counter() - begin) * 1e6)
    return statistics.median(times)


def by_torch(on_gpu: bool, a: Any, b: Any) -> tuple[str, float] | None:
    try:
        import torch
    except ImportError:
        print("PyTorch is not installed: not measured")
        return None
    if on_gpu and not torch.cuda.is_available():
        print("PyTorch sees no GPU: not measured")
        return None
    where = "cuda" if on_gpu else "cpu"
    x, w = (torch.from_numpy(m).to(where) for m in (a, b))

    def chain() -> None:
        y = x
        for _ in range(LENGTH):
            y = torch.mm(y, w)
        if on_gpu:
            torch.cuda.synchronize()

    return f"PyTorch eager, {where}", median_of(chain)


def main() -> None:
    a = np.random.default_rng(1).standard_normal((SIZE, SIZE)).astype("f4") / SIZE
    floor = json.loads(
        subprocess.run(
            [FLOOR, str(LENGTH), str(SIZE)], capture_output=True, text=True, check=True
        ).stdout
    )
    with troupe.System() as system:
        gpu = system.device(0)
        gpu.wait_until_ready()
        x, w, gemm = gpu.tensor(a), gpu.tensor(a.T), gpu.blas.gemm

        def waiting() -> None:
            y = x
            for _ in range(LENGTH):
                y = gemm(a=y, b=w).result()

        def chained() -> None:
            y: Any = x
            for _ in range(LENGTH):
                y = gemm(y, w)
            y.result()

        def sent(operand: Any) -> Callable[[], None]:
            def send() -> None:
                for _ in range(LENGTH):
                    gemm(a=operand, b=w)

            return send

        # In turn: machines change their speed.
        rounds = [[median_of(chain) for chain in (waiting, chained)] for _ in range(5)]
        each, whole = (statistics.median(one) for one in zip(*rounds, strict=True))
        plain, future = (median_of(sent(one)) / LENGTH for one in (x, gemm(x, w)))
        torch = by_torch(bool(gpu.hardware.architecture), a, np.ascontiguousarray(a.T))
    what = f"{LENGTH} products of {SIZE} x {SIZE} in a row"
    report(f"{what}, a wait at each", each, "C++", floor["chain_waiting_us"])
    report("the same, one wait at the end", whole, "C++", floor["chain_us"],
           "less than with waits", whole < each)  # fmt: skip
    if torch is not None:
        report("the same", whole, *torch)
    report("sending one, operands are tensors", plain)
    report("sending one, an operand is a future", future, "tensors", plain)
    path = os.environ.get("TROUPE_BENCH_JSON")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(lines, file, indent=1)


if __name__ == "__main__":
    main()
