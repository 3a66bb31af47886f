"""Futures: blocking, in asyncio, in threads; cancelled, timed out, dropped, shared."""

import asyncio
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
import troupe
from scripts import run_python


def test_results_are_shared(gpu):
    x = gpu.tensor([1.0, 2.0])
    future = gpu.blas.dot(x=x, y=x)
    assert future.result() == future.result(1) == 5
    assert future.done() and future.exception() is None
    assert not future.cancel()


def test_await_is_the_same(gpu):
    async def main():
        x = gpu.tensor([1.0, 2.0])
        future = gpu.blas.dot(x=x, y=x)
        assert await future == 5
        assert await future == 5
        results = await asyncio.gather(*(gpu.blas.dot(x=x, y=x) for _ in range(100)))
        assert results == [5] * 100
        with pytest.raises(troupe.FrozenBuffer):
            await gpu.memory.fill(to=gpu.tensor([1.0]).freeze(), value=0)
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(gpu, x)) for _ in range(10)]
        assert [t.result() for t in tasks] == [5] * 10

    async def one(gpu, x):
        return await gpu.blas.dot(x=x, y=x)

    asyncio.run(main())
    asyncio.run(main())  # another loop


def busy(gpu, seconds, **operands):
    return gpu.fault.inject(what="spin", duration_ns=int(seconds * 1e9), **operands)


def test_a_task_and_threads_wait_for_the_same(gpu):
    results = []

    async def main():
        future = busy(gpu, 0.2)
        threads = [
            threading.Thread(target=lambda: results.append(future.result())) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        await asyncio.sleep(0.05)
        both = await asyncio.gather(wait_for(future), wait_for(future))
        for thread in threads:
            await asyncio.to_thread(thread.join)
        return both

    async def wait_for(future):
        return await future

    assert asyncio.run(main()) == [None, None]
    assert results == [None] * 4


def test_timeouts(gpu):
    future = busy(gpu, 0.3)
    begin = time.monotonic()
    with pytest.raises(TimeoutError, match=r"not ready after 0\.05 s"):
        future.result(0.05)
    assert time.monotonic() - begin < 0.25

    async def main():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await future

    asyncio.run(main())
    assert future.result() is None


def test_cancelling_a_task_cancels_its_request(gpu):
    async def main():
        first = busy(gpu, 0.3)
        x = gpu.zeros(4)
        second = asyncio.create_task(
            awaited(gpu.fault.inject(what="spin", duration_ns=1, output=x))
        )
        await asyncio.sleep(0.02)
        second.cancel()
        with pytest.raises(asyncio.CancelledError):
            await second
        await first

    async def awaited(future):
        return await future

    asyncio.run(main())
    first, second = busy(gpu, 0.3), busy(gpu, 0.001)
    assert second.cancel()
    with pytest.raises(troupe.Cancelled):
        second.result()
    first.result()


def test_ten_thousand_at_once(gpu):
    x = gpu.zeros(4)

    async def one(i):
        await gpu.memory.fill(to=x, value=i)
        return i

    async def main():
        return await asyncio.gather(*(one(i) for i in range(10_000)))

    assert asyncio.run(main()) == list(range(10_000))
    futures = [gpu.memory.fill(to=x, value=i) for i in range(20_000)]
    assert all(f.result() is x for f in futures)
    np.testing.assert_array_equal(x.numpy(), 19_999)


def test_as_completed_and_gather(gpu, system):
    lane = gpu.fault.on_new_lanes()
    x = gpu.tensor([2.0])
    gpu.blas.dot(x=x, y=x).result()  # the first one loads the library
    slow = lane.inject(what="spin", duration_ns=200_000_000)
    quick = [gpu.blas.dot(x=x, y=x) for _ in range(10)]
    order = list(troupe.as_completed([slow, *quick]))
    assert order[-1] is slow and len(order) == 11
    assert troupe.gather(*quick) == [4] * 10
    with pytest.raises(TimeoutError, match="1 of 1"):
        list(troupe.as_completed([busy(gpu, 0.2)], timeout=0.01))


def test_other_threads_run_meanwhile(gpu):
    counted = 0
    done = threading.Event()

    def count():
        nonlocal counted
        while not done.is_set():
            counted += 1
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    busy(gpu, 0.2).result()
    done.set()
    thread.join()
    assert counted > 50


def test_ctrl_c_interrupts(gpu):
    # A shell that starts programs in the background has them ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    future = busy(gpu, 1)
    threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        future.result()
    assert time.monotonic() - begin < 0.7
    future.result()


@pytest.mark.parametrize("end", ["", "sys.exit(3)", "raise ValueError('ended')", "system.close()"])
def test_the_interpreter_ends_whatever_is_going_on(end):
    outcome = run_python(
        f"""
        import asyncio, sys, threading, troupe
        system = troupe.System()
        gpu = system.device(0, fault_injection=True)
        x = gpu.zeros(1000)
        mapped = None if gpu.hardware.architecture else x.mapped()
        futures = [gpu.fault.inject(what="spin", duration_ns=50_000_000) for _ in range(3)]
        threading.Thread(target=lambda: gpu.fault.inject(
            what="spin", duration_ns=500_000_000).exception(), daemon=True).start()
        copy = gpu.copy(x, gpu.empty(1000))
        print("there", flush=True)
        {end}
        """,
        timeout=30,
        check=False,
    )
    assert outcome.stdout == "there\n"
    assert outcome.returncode == {"sys.exit(3)": 3, "raise ValueError('ended')": 1}.get(end, 0), (
        outcome.stderr
    )
    assert "Fatal" not in outcome.stderr and "terminate" not in outcome.stderr


@pytest.mark.parametrize(
    "handler",
    [
        "async def f(self): await asyncio.sleep(60)",
        "def f(self): time.sleep(60)",
        "async def f(self): time.sleep(60)",
        "def f(self): pass\n    def post_stop(self): time.sleep(0.4)",
    ],
)
def test_the_interpreter_ends_whatever_a_handler_does(handler):
    outcome = run_python(
        f"""
import asyncio, time, troupe
class A(troupe.Actor):
    {handler}
system = troupe.System(drain=0.1)
a = system.spawn(A)
answer = a.ask(A.f)
time.sleep(0.1)
print("there", flush=True)
        """,
        timeout=20,
        check=False,
    )
    assert (outcome.returncode, outcome.stdout) == (0, "there\n"), outcome.stderr
    assert "Fatal" not in outcome.stderr and "terminate" not in outcome.stderr


def test_handlers_that_run_at_the_end_are_cancelled():
    outcome = run_python(
        """
        import asyncio, time, troupe
        class A(troupe.Actor):
            async def f(self):
                try:
                    await asyncio.sleep(60)
                finally:
                    print("cancelled", flush=True)
        system = troupe.System(drain=0.1)
        answer = system.spawn(A).ask(A.f)
        time.sleep(0.1)
        """,
        timeout=20,
    )
    assert outcome.stdout == "cancelled\n"


def test_a_failure_that_is_not_looked_at_is_warned_of(gpu):
    bad = gpu.zeros((2, 2))

    def fails():
        return gpu.solver.gesv(a=bad, b=gpu.zeros((2, 1)))

    looked = [fails() for _ in range(4)]
    with pytest.raises(troupe.Numerical):
        looked[0].result()
    assert isinstance(looked[1].exception(), troupe.Numerical)
    looked[2].cancel()

    async def main():
        with pytest.raises(troupe.Numerical):
            await looked[3]

    asyncio.run(main())
    looked += (fails(), fails())
    with pytest.raises(troupe.Numerical):
        troupe.gather(*looked[-2:])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        looked.clear()
        busy(gpu, 0.05).cancel()
        gpu.drain(5)
        time.sleep(0.01)  # noted failures are reported between two bytecodes
    done = fails()
    while not done.done():
        time.sleep(0.001)
    with pytest.warns(
        troupe.UnretrievedFailure, match="(?s)never looked at: .*solver.gesv"
    ) as told:
        del done
    assert len(told) == 1
    with pytest.warns(
        troupe.UnretrievedFailure, match="(?s)never looked at: .*solver.gesv"
    ) as told:
        fails()  # dropped before it is done
        gpu.drain(5)
        time.sleep(0.01)
    assert len(told) == 1


def test_what_the_end_of_a_device_fails_is_no_news():
    outcome = run_python(
        """
        import troupe
        system = troupe.System()
        gpu = system.device(0, fault_injection=True)
        for _ in range(3):
            gpu.fault.inject(what="spin", duration_ns=10**9)
        kept = gpu.memory.fill(to=gpu.zeros(3), value=1)
        """
    )
    assert outcome.stderr == ""


def test_cancel_says_whether_it_was_in_time(gpu):
    running, waiting = busy(gpu, 0.3), busy(gpu, 0.001)
    time.sleep(0.1)
    assert waiting.cancel()
    assert not running.cancel()
    assert running.result() is None
    with pytest.raises(troupe.Cancelled):
        waiting.result()
    assert not running.cancel() and not waiting.cancel()
    assert not gpu.tensor([1.0])._map("read", None).cancel()  # no request


async def longest_pause(work):
    """The longest time for which the loop did nothing else."""
    longest, before, over = 0.0, time.monotonic(), False

    async def tick():
        nonlocal longest, before
        while not over:
            await asyncio.sleep(0.001)
            now = time.monotonic()
            longest, before = max(longest, now - before), now

    ticking = asyncio.create_task(tick())
    answer = await work()
    over = True
    await ticking
    return longest, answer


def test_a_full_mailbox_does_not_stop_an_event_loop(system):
    gpu = system.device(31, backend="cpu", fault_injection=True, mailbox_capacity=16)
    x, y, z = gpu.zeros(4), gpu.zeros(4), gpu.zeros(4)
    with gpu.record("double") as double:
        gpu.blas.scal(x=x, alpha=2)
    with gpu.record("fill") as fill:
        gpu.memory.fill(to=z, value=1)
    gpu.wait_until_ready()

    async def work():
        gate = busy(gpu, 0.5, output=x)
        fills = [gpu.memory.fill(to=x, value=i) for i in range(100)]
        # Not sent yet: it is not run, and those behind it are.
        assert fills[60].cancel()
        with pytest.raises(troupe.ShapeMismatch):
            gpu.blas.gemm(a=gpu.zeros((2, 3)), b=gpu.zeros((2, 3)))
        late = gpu.memory.fill(to=y, value=7, deadline=0.1)
        begun = time.monotonic()
        runs = [gpu.run(double), gpu.run(fill, deadline=0.1), gpu.blas.asum(x=z)]
        assert time.monotonic() - begun < 0.3
        with pytest.raises(troupe.InvalidArgument):
            gpu.run(double, unknown=x)
        mapped = gpu.map(lambda v: v + 1, x)
        begun = time.monotonic()
        gpu.copy(x, gpu.zeros(4)).cancel()
        assert time.monotonic() - begun < 0.3
        await asyncio.sleep(0)
        return await asyncio.gather(gate, *fills, late, *runs, mapped, return_exceptions=True)

    longest, answers = asyncio.run(longest_pause(work))
    failed = [i for i, one in enumerate(answers) if isinstance(one, Exception)]
    assert failed == [61, 101, 103, 104]
    assert isinstance(answers[61], troupe.Cancelled)
    assert isinstance(answers[101], troupe.DeadlineExceeded)
    assert isinstance(answers[103], troupe.DeadlineExceeded)
    assert isinstance(answers[104], troupe.TaintedBuffer)
    assert answers[-1].tolist() == [199.0] * 4
    assert longest < 0.3

    async def leave():
        busy(gpu, 0.2, output=x)
        return [gpu.memory.fill(to=x, value=i) for i in range(50)]

    # A read on any thread comes after everything asked before it.
    asyncio.run(leave())
    assert x.tolist() == [49.0] * 4
    gpu.stop()


def test_a_device_is_awaited(system):
    async def work():
        gpu = system.device(32, backend="cpu")
        assert await gpu.ready() is None
        return gpu

    longest, gpu = asyncio.run(longest_pause(work))
    assert gpu.worker_pid is not None and longest < 0.3
    gpu.stop()
    with pytest.raises(troupe.DeviceStopped):
        gpu.ready().result(5)


def test_close_in_a_forked_child_waits_for_nobody():
    run_python(
        """
        import asyncio, os, time, troupe
        class A(troupe.Actor):
            async def f(self):
                await asyncio.sleep(0.01)
        system = troupe.System()
        gpu = system.device(0)
        gpu.zeros(4).numpy()
        a = system.spawn(A)
        a.ask(A.f).result()
        pid = os.fork()
        if pid == 0:
            begun = time.monotonic()
            system.close()
            os._exit(0 if time.monotonic() - begun < 1 else 1)
        assert os.waitpid(pid, 0)[1] == 0
        assert gpu.blas.asum(x=gpu.zeros(4)).result() == 0
        """
    )


def test_a_forked_child_is_told():
    run_python(
        """
        import os, troupe
        system = troupe.System()
        gpu = system.device(0)
        x = gpu.zeros(4)
        gpu.blas.asum(x=x).result()
        pid = os.fork()
        if pid == 0:
            try:
                gpu.blas.asum(x=x).result(5)
            except troupe.Failure as why:
                os._exit(0 if "fork" in str(why) else 1)
            os._exit(2)
        assert os.waitpid(pid, 0)[1] == 0
        assert gpu.blas.asum(x=gpu.zeros(4)).result() == 0
        """
    )
