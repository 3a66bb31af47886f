"""The cost of a request from Python, beside C++, plain asyncio and Ray, in one run.

`requests.py FLOOR [NAME...]`: FLOOR is bench_python_floor; the names choose among the parts below.
Prints a table, and writes a list of {name, value, unit, reference, reference_value, target, met} to
$TROUPE_BENCH_JSON.
"""

import asyncio
import ctypes
import gc
import json
import os
import resource
import statistics
import subprocess
import sys
import time

import troupe

FLOOR = sys.argv[1]
lines = []


def report(name, value, unit, reference="", reference_value=None, target=None, met=None):
    lines.append({"name": name, "value": value, "unit": unit, "reference": reference,
                  "reference_value": reference_value, "target": target, "met": met})  # fmt: skip
    beside = f"{reference} {reference_value:.6g}" if reference_value is not None else ""
    verdict = "" if met is None else f"{target}: {'met' if met else 'MISSED'}"
    print(f"{name:58} {value:12.6g} {unit:6} {beside:34} {verdict}", flush=True)


def ready_device(system, **options):
    gpu = system.device(0, **options)
    gpu.wait_until_ready()
    return gpu


def percentile(times, part):
    return sorted(times)[int(part * (len(times) - 1))]


def times_of(call, count, warm_up=500):
    for _ in range(warm_up):
        call()
    times = []
    for _ in range(count):
        begin = time.perf_counter()
        call()
        times.append((time.perf_counter() - begin) * 1e6)
    return times


def floor_of():
    return json.loads(subprocess.run([FLOOR], capture_output=True, text=True, check=True).stdout)


def rate_of(call, batch=5_000, batches=40):
    rates = []
    for _ in range(batches):
        begin = time.perf_counter()
        futures = [call() for _ in range(batch)]
        for one in futures:
            one.result()
        rates.append(batch / (time.perf_counter() - begin))
    return statistics.median(rates)


def blocking():
    # In turn: on two hyper-threads of one core, a round trip takes 1 us in one run and 9 us in the
    # next, on either side.
    ours, floors = [], []
    for _ in range(7):
        floors.append(floor_of())
        with troupe.System() as system:
            marker = ready_device(system).lane.marker
            ours.append(times_of(lambda marker=marker: marker().result(), 5_000))
    raw = statistics.median(one["blocking_p50_us"] for one in floors)
    median = statistics.median(statistics.median(one) for one in ours)
    report("blocking ask of an empty request, p50", median, "us", "C++", raw,
           "<= C++ + 2 us", median <= raw + 2)  # fmt: skip
    report("the same, best of 7 runs", min(statistics.median(one) for one in ours), "us", "C++",
           min(one["blocking_p50_us"] for one in floors))  # fmt: skip
    report("the same, p99", statistics.median(percentile(one, 0.99) for one in ours), "us", "C++",
           statistics.median(one["blocking_p99_us"] for one in floors))  # fmt: skip


def pipelined():
    floor = statistics.median(floor_of()["pipelined_per_s"] for _ in range(3))
    with troupe.System() as system:
        gpu = ready_device(system)
        x, fill, marker = gpu.zeros(4), gpu.memory.fill, gpu.lane.marker
        value = rate_of(lambda: fill(to=x, value=1.0))
        report("pipelined from one thread, fill(to=x, value=1.0)", value, "1/s", "C++, empty",
               floor, ">= 700 000", value >= 700_000)  # fmt: skip
        report("pipelined from one thread, empty", rate_of(marker), "1/s", "C++, empty", floor)


def in_asyncio():
    with troupe.System() as system:
        marker = ready_device(system).lane.marker

        async def worker(count):
            for _ in range(count):
                await marker()

        async def plain_worker(count):
            loop = asyncio.get_running_loop()
            for _ in range(count):
                future = loop.create_future()
                loop.call_soon(future.set_result, None)
                await future

        async def rate(work, tasks, each):
            begin = time.perf_counter()
            await asyncio.gather(*(work(each) for _ in range(tasks)))
            return tasks * each / (time.perf_counter() - begin)

        async def main():
            for tasks, each, least in ((100, 500, 200_000), (10_000, 1, 100_000)):
                ours, plain = [], []
                for _ in range(7):
                    ours.append(await rate(worker, tasks, each))
                    plain.append(await rate(plain_worker, tasks, each))
                value = statistics.median(ours)
                report(f"asyncio, {tasks} tasks, {each} requests each", value, "1/s",
                       "bare futures", statistics.median(plain), f">= {least}", value >= least)  # fmt: skip

        asyncio.run(main())


def beside_ray():
    try:
        import ray
    except ImportError:
        print("Ray is not installed: not measured")
        return
    with troupe.System() as system:
        marker = ready_device(system).lane.marker
        ours = statistics.median(times_of(lambda: marker().result(), 5_000))
        rate = rate_of(marker)
    ray.init(
        num_cpus=2, include_dashboard=False, object_store_memory=200 << 20, log_to_driver=False
    )

    @ray.remote
    class Nothing:
        def call(self):
            return None

    actor = Nothing.remote()
    ray_blocking = statistics.median(times_of(lambda: ray.get(actor.call.remote()), 1_000, 100))
    begin = time.perf_counter()
    ray.get([actor.call.remote() for _ in range(5_000)])
    ray_rate = 5_000 / (time.perf_counter() - begin)
    ray.shutdown()
    report("blocking ask beside a Ray actor call, p50", ours, "us", "Ray", ray_blocking,
           "Ray >= 100x", ray_blocking >= 100 * ours)  # fmt: skip
    report("pipelined beside a Ray actor's calls", rate, "1/s", "Ray", ray_rate,
           ">= 100x Ray", rate >= 100 * ray_rate)  # fmt: skip


def imports():
    def median(code):
        times = []
        for _ in range(11):
            out = subprocess.run(
                [sys.executable, "-c",
                 f"import time; t = time.perf_counter(); {code}; print((time.perf_counter() - t) * 1e3)"],
                capture_output=True, text=True, check=True)  # fmt: skip
            times.append(float(out.stdout))
        return statistics.median(times)

    value = median("import troupe")
    report(
        "import troupe",
        value,
        "ms",
        "import numpy",
        median("import numpy"),
        "<= 20 ms",
        value <= 20,
    )


def resident_kib():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # memory that the C library keeps for later does not count
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() // 1024


def memory():
    import signal

    with troupe.System() as system:
        gpu = ready_device(system, restarts=100_000)
        x = gpu.zeros(4)

        def asks(count):
            for _ in range(count // 1_000):
                for one in [gpu.memory.fill(to=x, value=1) for _ in range(1_000)]:
                    one.result()

        asks(300_000)
        before = resident_kib()
        asks(1_000_000)
        grown = resident_kib() - before
        report(
            "memory after 1 000 000 asks more", grown, "KiB", target="<= 256 KiB", met=grown <= 256
        )

        def losses(count):
            for _ in range(count):
                pid = gpu.worker_pid
                if pid:
                    os.kill(pid, signal.SIGKILL)
                gpu.memory.fill(to=x, value=1).result()

        losses(50)
        before = resident_kib()
        losses(200)
        grown = resident_kib() - before
        report(
            "memory after 200 lost workers more",
            grown,
            "KiB",
            target="<= 1024 KiB",
            met=grown <= 1024,
        )

    def systems(count):
        for _ in range(count):
            with troupe.System(threads=1) as system:
                one = system.device(0, backend="cpu", standby=False, isolation="thread")
                one.lane.marker().result()

    systems(200)
    before = resident_kib()
    systems(1_000)
    grown = resident_kib() - before
    report("memory after 1 000 systems more", grown, "KiB", target="<= 1024 KiB", met=grown <= 1024)


def on_gpu():
    """Small work on a GPU, where a call costs more than what it computes; skipped without torch."""
    try:
        import torch
    except ImportError:
        torch = None
    if torch is None or not torch.cuda.is_available():
        print("no GPU or no torch: not measured")
        return
    with troupe.System() as system:
        gpu = ready_device(system)
        small, large, signal = (
            _products(gpu, torch, 64),
            _product_with_bias(gpu, torch),
            _transform(gpu, torch),
        )
        for name, ours, peers in (small, large, signal):
            # In turn, so that other load on the machine affects all of them alike.
            rounds = 5
            mine, theirs = [], {peer: [] for peer in peers}
            for _ in range(rounds):
                mine += times_of(ours, 1_000)
                for peer, call in peers.items():
                    theirs[peer] += times_of(call, 1_000)
            median = statistics.median(mine)
            for peer, times in theirs.items():
                beside = statistics.median(times)
                report(f"{name}, p50", median, "us", peer, beside, "ratio <= 1.0", median <= beside)
            report(f"{name}, p99", percentile(mine, 0.99), "us", *_worst(theirs))


def _worst(theirs):
    peer = min(theirs, key=lambda one: percentile(theirs[one], 0.99))
    return peer, percentile(theirs[peer], 0.99)


def _products(gpu, torch, n):
    a, b = (torch.rand(n, n, device="cuda") for _ in range(2))
    c = torch.empty_like(a)
    x, y, z = gpu.tensor(a), gpu.tensor(b), gpu.empty((n, n))
    gemm = gpu.blas.gemm

    def ours():
        gemm(a=x, b=y, c=z).result()

    def theirs():
        torch.mm(a, b, out=c)
        torch.cuda.synchronize()

    ours(), theirs()
    assert abs(z.numpy() - c.cpu().numpy()).max() < 1e-3
    return f"product {n}³, f32", ours, {"torch.mm": theirs}


def _product_with_bias(gpu, torch):
    n = 512
    a, b = (torch.rand(n, n, device="cuda", dtype=torch.float16) - 0.5 for _ in range(2))
    bias = torch.rand(n, device="cuda", dtype=torch.float16)
    x, y, z, v = gpu.tensor(a), gpu.tensor(b), gpu.empty((n, n), "f16"), gpu.tensor(bias)
    matmul = gpu.blaslt.matmul

    def ours():
        matmul(a=x, b=y, d=z, bias=v, epilogue="gelu_bias").result()

    def by_torch():
        torch.nn.functional.gelu(torch.addmm(bias, a, b), approximate="tanh")
        torch.cuda.synchronize()

    peers = {"torch addmm + gelu": by_torch}
    try:
        from nvmath.linalg.advanced import Matmul, MatmulEpilog

        plan = Matmul(a, b)
        plan.plan(epilog=MatmulEpilog.GELU_BIAS, epilog_inputs={"bias": bias})

        def by_nvmath():
            plan.execute()
            torch.cuda.synchronize()

        by_nvmath()
        peers["nvmath, planned"] = by_nvmath
    except ImportError:
        print("nvmath-python is not installed: not measured")
    ours()
    expected = torch.nn.functional.gelu(a.float() @ b.float() + bias.float(), approximate="tanh")
    assert abs(z.numpy().astype("f4") - expected.cpu().numpy()).max() < 0.05
    return f"product {n}³ with bias and gelu, f16", ours, peers


def _transform(gpu, torch):
    n = 1 << 16
    a = torch.rand(n, device="cuda", dtype=torch.complex64)
    x, y = gpu.tensor(a), gpu.empty(n, "c64")
    c2c = gpu.fft.c2c

    def ours():
        c2c(in_=x, out=y).result()

    def by_torch():
        torch.fft.fft(a)
        torch.cuda.synchronize()

    peers = {"torch.fft": by_torch}
    try:
        import cupy

        array = cupy.from_dlpack(a)
        device = cupy.cuda.Device()

        def by_cupy():
            cupy.fft.fft(array)
            device.synchronize()

        by_cupy()
        peers["CuPy"] = by_cupy
    except ImportError:
        print("CuPy is not installed: not measured")
    try:
        import nvmath

        plan = nvmath.fft.FFT(a)
        plan.plan()

        def by_nvmath():
            plan.execute()
            torch.cuda.synchronize()

        by_nvmath()
        peers["nvmath, planned"] = by_nvmath
    except ImportError:
        pass
    ours()
    assert abs(y.numpy() - torch.fft.fft(a).cpu().numpy()).max() < 0.1
    return "transform of 2^16, c64", ours, peers


PARTS = {"gpu": on_gpu, "blocking": blocking, "pipelined": pipelined, "asyncio": in_asyncio, "imports": imports,
         "memory": memory, "ray": beside_ray}  # fmt: skip


def main():
    for name in sys.argv[2:] or PARTS:
        PARTS[name]()
    path = os.environ.get("TROUPE_BENCH_JSON")
    if path:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(lines, file, indent=1)
    print(
        f"{sum(one['met'] is False for one in lines)} of {sum(one['met'] is not None for one in lines)} targets missed"
    )


if __name__ == "__main__":
    main()
