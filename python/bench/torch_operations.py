"""A PyTorch model as an operation, beside the same model in a plain process. Needs a GPU and torch.

    python torch_operations.py [PART...]

The parts are `model`, `faults`, `plain` and `memory`; without one, all but the last, which takes
some minutes. The file is the module of the operations, too. The last line is JSON. With
TROUPE_BENCH_JSON it goes to that file, too.
"""

from __future__ import annotations

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import growth
import torch
import troupe

LAYERS = int(os.environ.get("BENCH_LAYERS", "16"))
WIDTH = int(os.environ.get("BENCH_WIDTH", "4096"))
TRIALS = int(os.environ.get("BENCH_TRIALS", "20"))
FAULTS = int(os.environ.get("BENCH_FAULTS", "200"))
CALLS = int(os.environ.get("BENCH_CALLS", "100000"))
SECONDS = float(os.environ.get("BENCH_SECONDS", "600"))  # for the faults of `memory`
BATCH = 32


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(WIDTH, WIDTH))

    def forward(self, x: Any) -> Any:
        return torch.relu(x @ self.weight) * 0.02


def make() -> Any:
    return torch.nn.Sequential(*(Layer() for _ in range(LAYERS)))


def make_with_weights() -> Any:
    torch.manual_seed(1)
    made = make().requires_grad_(False)
    for layer in made:
        layer.weight.normal_().div_(8)
    return made


model = troupe.torch.skeleton(make)


@troupe.on_worker_start
def warm() -> None:
    if os.environ.get("BENCH_WARM", "1") == "1":
        troupe.torch.warm_up(model, torch.zeros(BATCH, WIDTH, device="cuda"))


@troupe.operation("net.forward", arrays="torch")
def forward(x: troupe.Reads, weights: troupe.ReadsMany, y: troupe.Writes) -> None:
    y.copy_(troupe.torch.call(model, weights, x))


@troupe.operation("net.nothing")
def nothing(x: troupe.Reads, y: troupe.Writes) -> None:
    pass


@troupe.operation("net.goes_wrong", arrays="torch")
def goes_wrong(x: troupe.Reads, y: troupe.Writes, *, how: str) -> None:
    if how == "exit":
        os._exit(1)
    y.copy_(x[torch.full((BATCH,), 1 << 30, device=x.device)])


def timed(call: Callable[[], Any], times: int) -> list[float]:
    taken = []
    for _ in range(times):
        begin = time.perf_counter()
        call()
        taken.append(1e6 * (time.perf_counter() - begin))
    return taken


def summary(times: list[float], digits: int = 1) -> dict[str, float]:
    ordered = sorted(times)
    return {
        "p50": round(statistics.median(ordered), digits),
        "least": round(ordered[0], digits),
        "most": round(ordered[-1], digits),
        "count": len(ordered),
    }


class Service:
    """A device with the model, its weights in place, and what it answers."""

    def __init__(self, system: troupe.System, figures: dict[str, Any]) -> None:
        begin = time.perf_counter()
        self.gpu: Any = system.device(
            0, backend="cuda", operations=[__file__], start_timeout=120, restarts=1_000_000
        )
        self.gpu.wait_until_ready()
        figures["first_worker_s"] = time.perf_counter() - begin
        self.wait_for_standby()
        figures["standby_s"] = time.perf_counter() - begin
        torch.manual_seed(2)
        self.a = torch.randn(BATCH, WIDTH)
        self.weights = troupe.torch.load(self.gpu, "model", make_with_weights())
        self.x = self.gpu.tensor(self.a)
        self.y = self.gpu.empty((BATCH, WIDTH))
        self.wrong = self.gpu.empty((BATCH, WIDTH))
        self.ask().result()
        self.expected = self.y.numpy()

    def ask(self) -> Any:
        return self.gpu.net.forward(x=self.x, weights=self.weights, y=self.y)

    def is_right(self) -> bool:
        return bool((self.y.numpy() == self.expected).all())

    def wait_for_standby(self) -> None:
        while not self.gpu.health.standby_ready:
            time.sleep(0.005)

    def fault(self, how: str) -> tuple[float, float, bool]:
        """Milliseconds until the failure is known, until the next answer, and whether it is right."""
        begin = time.perf_counter()
        bad = self.gpu.net.goes_wrong(x=self.x, y=self.wrong, how=how)
        next_one = self.ask()
        failed = bad.exception(timeout=60)
        known = time.perf_counter()
        assert isinstance(failed, troupe.DeviceFault), failed
        next_one.result(timeout=60)
        answered = time.perf_counter()
        self.gpu.forgive_all()
        return 1e3 * (known - begin), 1e3 * (answered - begin), self.is_right()


def measure_model(service: Service, figures: dict[str, Any]) -> None:
    plain = make_with_weights().cuda()
    there = service.a.cuda()
    out = torch.empty(BATCH, WIDTH, device="cuda")

    def in_process() -> None:
        with torch.inference_mode():
            out.copy_(plain(there))

    def in_process_blocking() -> None:
        in_process()
        torch.cuda.synchronize()

    def pipelined(call: Callable[[], Any], wait: Callable[[Any], Any]) -> float:
        begin = time.perf_counter()
        last = [call() for _ in range(300)][-1]
        wait(last)
        return 1e6 * (time.perf_counter() - begin) / 300

    timed(in_process_blocking, 20)
    timed(lambda: service.ask().result(), 20)
    ours, theirs, ours_many, theirs_many = [], [], [], []
    for _ in range(10):  # in turn, so that other load affects both alike
        theirs += timed(in_process_blocking, 100)
        ours += timed(lambda: service.ask().result(), 100)
        theirs_many.append(pipelined(in_process, lambda _: torch.cuda.synchronize()))
        ours_many.append(pipelined(service.ask, lambda last: last.result()))
    figures["bit_equal_to_plain"] = bool((service.y.numpy() == out.cpu().numpy()).all())
    figures["plain_us"], figures["operation_us"] = summary(theirs), summary(ours)
    figures["plain_300_us"], figures["operation_300_us"] = summary(theirs_many), summary(ours_many)
    figures["blocking_ratio"] = statistics.median(theirs) / statistics.median(ours)
    figures["in_flight_ratio"] = statistics.median(theirs_many) / statistics.median(ours_many)
    empty = service.gpu.net.nothing
    figures["nothing_us"] = summary(
        timed(lambda: empty(x=service.x, y=service.wrong).result(), 1000)
    )


def measure_faults(service: Service, figures: dict[str, Any]) -> None:
    for how in ("assert", "exit"):
        for again in (False, True):
            known, answered, right = [], [], []
            for _ in range(TRIALS if how == "assert" else max(1, TRIALS // 4)):
                service.wait_for_standby()
                if again:  # another one just before, so that the standby is just being forked
                    right.append(service.fault(how)[2])
                one = service.fault(how)
                known.append(one[0])
                answered.append(one[1])
                right.append(one[2])
            name = f"{how}{'_second' if again else ''}"
            figures[f"{name}_error_ms"] = summary(known)
            figures[f"{name}_next_answer_ms"] = summary(answered)
            figures[f"{name}_right"] = [sum(right), len(right)]


PLAIN = """
import sys, torch
sys.path.insert(0, sys.argv[2])
sys.argv[0] = "plain"
import torch_operations as bench
model = bench.make()
model.load_state_dict(torch.load(sys.argv[1], map_location="cuda", weights_only=True), assign=True)
torch.manual_seed(2)
x = torch.randn(bench.BATCH, bench.WIDTH).cuda()
for line in sys.stdin:
    if line == "fault\\n":
        x = x[torch.full((bench.BATCH,), 1 << 30, device="cuda")]
    with torch.inference_mode():
        y = model(x).cpu()
    print(float(y.double().sum()), flush=True)
"""


def measure_plain(figures: dict[str, Any]) -> None:
    """A process with the same model: a fault ends it, and it is started anew."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "weights.pt")
        torch.save(make_with_weights().state_dict(), file)

        def start() -> subprocess.Popen[str]:
            here = os.path.dirname(os.path.abspath(__file__))
            return subprocess.Popen([sys.executable, "-c", PLAIN, file, here], text=True,
                                    stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.DEVNULL)  # fmt: skip

        def ask(server: Any, what: str = "ask") -> str:
            server.stdin.write(what + "\n")
            server.stdin.flush()
            return str(server.stdout.readline())

        server, times = start(), []
        expected = ask(server)
        for _ in range(3):
            assert ask(server) == expected
            begin = time.perf_counter()
            assert ask(server, "fault") == ""  # it has ended
            server.wait()
            server = start()
            assert ask(server) == expected
            times.append(1e3 * (time.perf_counter() - begin))
        server.kill()
        server.wait()
    figures["plain_process_next_answer_ms"] = summary(times)


def measure_memory(service: Service, figures: dict[str, Any]) -> None:
    nothing = service.gpu.net.nothing
    figures["growth"] = growth.measure(
        service.gpu,
        lambda: nothing(x=service.x, y=service.wrong),
        lambda: service.fault("assert")[2],
        faults=FAULTS,
        calls=CALLS,
        seconds=SECONDS,
    )


def main() -> None:
    parts = sys.argv[1:] or ["model", "faults", "plain"]
    figures: dict[str, Any] = {"torch": torch.__version__, "layers": LAYERS, "width": WIDTH}
    if set(parts) - {"plain"}:
        with troupe.System() as system:
            service = Service(system, figures)
            figures["gpu"] = service.gpu.hardware.name
            for name, part in (
                ("model", measure_model),
                ("faults", measure_faults),
                ("memory", measure_memory),
            ):
                if name in parts:
                    part(service, figures)
                    print({k: v for k, v in figures.items()}, file=sys.stderr, flush=True)
    if "plain" in parts:
        measure_plain(figures)
    for name, value in figures.items():
        print(f"{name:30} {value}")
    text = json.dumps(figures)
    print(text)
    if "TROUPE_BENCH_JSON" in os.environ:
        pathlib.Path(os.environ["TROUPE_BENCH_JSON"]).write_text(text + "\n")


if __name__ == "__main__":
    main()
