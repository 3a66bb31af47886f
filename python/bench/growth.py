"""Leaks of faults and calls: memory, descriptors, threads and processes. 0 is the target."""

from __future__ import annotations

import os
import pathlib
import sys
import time
from collections.abc import Callable
from typing import Any

_ROUND = 500  # calls in flight


def _children(pid: int) -> int:
    tasks = pathlib.Path(f"/proc/{pid}/task").iterdir()
    return sum(len((one / "children").read_text().split()) for one in tasks)


def _process(name: str, pid: int) -> dict[str, int]:
    there = pathlib.Path(f"/proc/{pid}")
    lines = (line.split() for line in (there / "status").read_text().splitlines())
    status = {words[0]: words[1] for words in lines if len(words) > 1}
    return {
        f"{name}_heap_kib": int(status["RssAnon:"]),
        f"{name}_shared_kib": int(status["RssShmem:"]),
        f"{name}_mappings": len((there / "maps").read_text().splitlines()),
        f"{name}_descriptors": len(os.listdir(there / "fd")),
        f"{name}_threads": len(os.listdir(there / "task")),
        f"{name}_children": _children(pid),
    }


def state(gpu: Any) -> dict[str, int]:
    """The program, the server that forks workers, the worker, and the GPU where torch sees one."""
    torch = sys.modules.get("torch")
    card = {}
    if torch is not None and torch.cuda.is_available():  # first: it makes a context, once
        card["card_mib"] = -(torch.cuda.mem_get_info()[0] >> 20)
    worker: int = gpu.worker_pid
    stat = pathlib.Path(f"/proc/{worker}/stat").read_text()
    server = int(stat.rpartition(")")[2].split()[1])
    found = {**_process("program", os.getpid()), **_process("server", server)}
    return found | _process("worker", worker) | card


def measure(
    gpu: Any,
    call: Callable[[], Any],
    fault: Callable[[], bool],
    *,
    faults: int,
    calls: int,
    seconds: float = 1e9,
) -> dict[str, Any]:
    """The growth after so many faults, each with a right answer after it, and so many calls.

    call: sends a request, and answers its future. fault: ends the worker, and answers whether the
    next answer is right. After `seconds` no more faults are made.
    """

    def ask(count: int) -> None:
        for _ in range(count // _ROUND):
            [call() for _ in range(_ROUND)][-1].result()

    def settled() -> dict[str, int]:
        while not gpu.health.standby_ready:
            time.sleep(0.005)
        ask(_ROUND)
        time.sleep(0.2)  # until the processes that have ended are gone
        return state(gpu)

    def grown(before: dict[str, int]) -> dict[str, int]:
        now = settled()
        return {name: now[name] - before[name] for name in now if now[name] != before[name]}

    for _ in range(5):
        fault()
    ask(20 * _ROUND)
    before = settled()
    ask(calls)
    figures: dict[str, Any] = {"calls": {"calls": calls, "grown": grown(before)}}
    end = time.perf_counter() + seconds
    before, right, done = settled(), 0, 0
    while done < faults and time.perf_counter() < end:
        right += fault()
        done += 1
        if done % max(1, faults // 4) == 0:
            print({"faults": done, "grown": grown(before)}, file=sys.stderr, flush=True)
    figures["faults"] = {"faults": done, "right": right, "grown": grown(before)}
    return figures
