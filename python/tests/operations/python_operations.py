"""Operations that tests run in workers: what is right, and what goes wrong in every way."""

import ctypes
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from typing import Annotated, Literal

import numpy as np
import troupe

started = []


@troupe.on_worker_start
def start():
    started.append(os.getpid())


@troupe.operation("py.scale")
def scale(
    x: troupe.Reads("n", dtype=("f32", "f64")),
    y: troupe.Writes("n", like="x"),
    *,
    factor: float = 2.0,
) -> None:
    """Multiplies by a factor."""
    np.multiply(x, factor, out=y)


@troupe.operation("py.add")
def add(x: troupe.Reads, y: troupe.Updates) -> None:
    y += x


@troupe.operation("py.halves")
def halves(x: troupe.Reads(..., "n"), y: troupe.Writes(..., "n/2", like="x")) -> None:
    y[...] = x[..., ::2][..., : y.shape[-1]]


@troupe.operation("py.values")
def values(
    i: int,
    x: Annotated[np.ndarray, troupe.Reads("n", dtype="f64")],
    *,
    f: float = 0.5,
    flag: bool = False,
    name: str = "a",
    numbers: list[int] = (1, 2),
    reals: list[float] = (),
    mode: Literal["fast", "exact"] = "exact",
    z: complex = 1 + 2j,
):
    return {
        "i": i, "f": f, "flag": flag, "name": name, "numbers": numbers, "reals": reals,
        "mode": mode, "z": z, "sum": float(x.sum()),
    }  # fmt: skip


@troupe.operation("py.total")
def total(weights: troupe.ReadsMany, y: troupe.Writes(1, dtype="f64")) -> None:
    arrays = weights.values() if isinstance(weights, Mapping) else weights
    y[0] = sum(float(one.sum()) for one in arrays)


@troupe.operation("py.late_total")
def late_total(
    weights: troupe.ReadsMany, y: troupe.Writes(1, dtype="f64"), *, seconds: float
) -> None:
    time.sleep(seconds)
    y[0] = sum(float(one.sum()) for one in weights.values())


@troupe.operation("py.changes_its_set")
def changes_its_set(weights: troupe.ReadsMany) -> None:
    weights["mine"] = np.ones(3)


@troupe.operation("py.ends")
def ends(weights: troupe.ReadsMany) -> None:
    os._exit(len(weights))


@troupe.operation("py.half")
def half(y: troupe.Writes("n", dtype="f32"), *, raises: bool = True) -> None:
    y[: len(y) // 2] = 43
    if raises:
        raise ValueError("bad model input")


@troupe.operation("py.identities")
def identities(weights: troupe.ReadsMany):
    """Whether the worker has made the arrays anew."""
    named = isinstance(weights, Mapping)
    return id(weights), type(weights).__name__, sorted(weights) if named else []


@troupe.operation("py.big")
def big(n: int):
    return b"\x5a" * n


@troupe.operation("py.unpicklable")
def unpicklable():
    return lambda: 0


class Unpicklable:
    def __reduce__(self):
        return int, ("no number",)


@troupe.operation("py.unpicklable_there")
def unpicklable_there():
    return Unpicklable()


@troupe.operation("py.pool")
def pool(numbers: list[int]):
    with multiprocessing.get_context("fork").Pool(2) as two:  # ends them by SIGTERM
        return two.map(abs, numbers)


@troupe.operation("py.raises")
def raises(*, how: Literal["cause", "group", "note", "surrogate", "long"]) -> None:
    if how == "cause":
        try:
            {}["a key"]
        except KeyError as error:
            raise RuntimeError("no such model") from error
    if how == "group":
        raise ExceptionGroup("both", [ValueError("the one"), TypeError("the other")])
    error = ValueError("\ud800 is no character" if how == "surrogate" else "x" * 1_000_000)
    if how == "note":
        error = ValueError("it failed")
        error.add_note("in the third layer")
    raise error


@troupe.operation("py.about")
def about():
    return {
        "pid": os.getpid(), "parent": os.getppid(), "started": started, "path": sys.path,
        "home": os.environ.get("TROUPE_TEST_VARIABLE"), "threads": len(os.listdir("/proc/self/task")),
        "oom": open("/proc/self/oom_score_adj").read().strip(),
    }  # fmt: skip


@troupe.operation("py.says")
def says(text: str, *, to: Literal["stdout", "stderr"] = "stdout") -> None:
    print(text, end="", file=getattr(sys, to))


@troupe.operation("py.waits")
def waits(seconds: float, y: troupe.Writes(1, dtype="i64")) -> None:
    time.sleep(seconds)
    y[0] = 7


def _deeper(n):
    if n == 0:
        raise ValueError("the very reason")
    _deeper(n - 1)


def _endless(n):
    # Through C, whose stack it is that ends.
    return max([n], key=_endless)


@troupe.operation("py.goes_wrong")
def goes_wrong(x: troupe.Reads(8, dtype="f32"), y: troupe.Writes(8, like="x"), *, how: str) -> None:
    """Does what its argument says."""
    y[:] = 0
    if how == "raise":
        raise ValueError("bad model input")
    if how == "raise deep":
        _deeper(200)
    if how == "SystemExit":
        raise SystemExit(3)
    if how == "KeyboardInterrupt":
        raise KeyboardInterrupt
    if how == "MemoryError":
        bytearray(1 << 60)
    if how == "write what is read":
        x[0] = 1
    if how == "write what is frozen":
        ctypes.memset(x.ctypes.data, 1, 4)
    if how == "segfault":
        ctypes.string_at(0)
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(7)
    if how == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "stack overflow":
        sys.setrecursionlimit(10**9)
        _endless(0)
    if how == "loop":
        while True:
            pass
    if how == "loop in C":
        re.match(r"(a+)+$", "a" * 40 + "b")
    if how == "hang without the lock":
        time.sleep(1000)
    if how == "fork and crash":
        _fork_and_write(y)
        ctypes.string_at(0)
    if how == "fork and exit":
        _fork_and_write(y)
        os._exit(1)
    if how == "start a program":
        subprocess.Popen(["sleep", "300"])
        os._exit(1)
    if how == "child crashes":
        if os.fork() == 0:
            ctypes.string_at(0)
        os.wait()
    y[:] = x


def _fork_and_write(y):
    """A process that would write when its worker has gone."""
    if os.fork() == 0:
        time.sleep(0.05)
        y[:] = 666
        os._exit(0)


@troupe.operation("py.says_much")
def says_much(text: str, times: int):
    for _ in range(times):
        os.write(2, text.encode())
    while os.fstat(2).st_blocks * 512 > 1 << 20:
        time.sleep(0.01)
    return True


@troupe.operation("py.says_from_c")
def says_from_c(text: str, *, times: int = 1, how: str = "") -> None:
    for i in range(times):
        os.write(2, (text + "\n").replace("#", str(i)).encode())
    if how == "abort":
        os.abort()


@troupe.operation("py.huge")
def huge(bytes: int, *, nested: bool = False):
    """Pages that are never touched take no memory until they are pickled."""
    made = np.zeros(bytes, "u1")
    return {"all": [made, (made[:1],)]} if nested else made
