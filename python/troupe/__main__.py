"""`python -m troupe info` says what this machine has; `python -m troupe demo` shows a recovery."""

from __future__ import annotations

import os
import pathlib
import sys

from ._core import _library_file


def run_installed(arguments: list[str]) -> None:
    """Goes on as the program `troupe` of the installation."""
    program = pathlib.Path(_library_file()).resolve().parent.parent / "bin" / "troupe"
    os.execv(program, [str(program), *arguments])


def demo() -> int:
    """Matrix products go on while their worker is killed three times."""
    import signal

    import numpy as np

    import troupe

    with troupe.System() as system:
        gpu = system.device(0)
        gpu.wait_until_ready()
        print(f"{gpu.hardware.name}: a worker process serves it, pid {gpu.worker_pid}")
        rng = np.random.default_rng(1)
        a, b = (rng.standard_normal((256, 256)).astype("f4") for _ in range(2))
        x, w = gpu.tensor(a), gpu.tensor(b)
        expected = a @ b
        for _ in range(3):
            futures = [gpu.blas.gemm(a=x, b=w) for _ in range(50)]
            worker = gpu.worker_pid
            if worker:
                os.kill(worker, signal.SIGKILL)
            wrong = sum(
                not np.allclose(future.result().numpy(), expected, atol=1e-2) for future in futures
            )
            print(
                f"killed worker {worker} under 50 products: {50 - wrong} right, {wrong} wrong, 0 lost"
            )
        print(f"generation {gpu.generation}; the tensors never left the program")
    return 0


def main(arguments: list[str]) -> int:
    match arguments:
        case ["info" | "requests", *_]:
            run_installed(arguments)
        case ["demo"]:
            return demo()
    print("usage: python -m troupe info | demo | requests [NAME]", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
