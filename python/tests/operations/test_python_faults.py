"""Every way in which an operation of Python can go wrong costs one request, which is named, and with
the stack of Python where there is one."""

import os
import re
import sys
import time

import numpy as np
import pytest
import troupe

MODULE = os.path.join(os.path.dirname(__file__), "python_operations.py")
TRIALS = 20


@pytest.fixture(scope="module")
def service(system):
    device = system.device(30, backend="cpu", operations=[MODULE], restarts=100_000)
    device.py.about().result()
    yield device
    device.stop()


class Load:
    """Requests around a bad one, and what they have to answer."""

    def __init__(self, service, rng):
        self.service = service
        self.a = rng.standard_normal(8).astype("f4")
        self.x = service.tensor(self.a, own=True).freeze()
        self.sums = service.zeros(8, "f32")

    def ask(self, count):
        ask = self.service.py.scale
        return [(i, ask(x=self.x, factor=float(i))) for i in range(count)]

    def check(self, asked):
        for i, future in asked:
            np.testing.assert_array_equal(future.result(timeout=30).numpy(), self.a * np.float32(i))


def _bad(service, load, how, **options):
    y = service.empty(8)
    return service.py.goes_wrong(x=load.x, y=y, how=how, **options)


LIVES = {
    "raise": (troupe.HandlerFailed, "ValueError: bad model input"),
    "raise deep": (troupe.HandlerFailed, "the very reason"),
    "SystemExit": (troupe.HandlerFailed, "SystemExit: 3"),
    "KeyboardInterrupt": (troupe.HandlerFailed, "KeyboardInterrupt"),
    "MemoryError": (troupe.OutOfMemory, "MemoryError"),
    "write what is read": (troupe.HandlerFailed, "read-only"),
}

DIES = {
    "segfault": ("SIGSEGV", "in goes_wrong"),
    "abort": ("SIGABRT", "in goes_wrong"),
    "write what is frozen": ("SIGSEGV", "in a frozen tensor, which nothing may write"),
    "exit": ("", "exit: the worker process ended with status 7"),
    "stack overflow": ("SIGSEGV", "in _endless"),
    "fork and crash": ("SIGSEGV", "in goes_wrong"),
    "fork and exit": ("", "exit: the worker process ended with status 1"),
    "start a program": ("", "exit: the worker process ended with status 1"),
}

if sys.version_info >= (3, 12):  # Python itself has a limit there
    del DIES["stack overflow"]
HANGS = ("loop", "loop in C", "hang without the lock")


@pytest.mark.parametrize("how", LIVES)
def test_an_exception_costs_its_request_only(service, rng, how):
    load = Load(service, rng)
    generation = service.generation
    for _ in range(TRIALS):
        before, bad, after = load.ask(3), _bad(service, load, how), load.ask(3)
        kind, text = LIVES[how]
        with pytest.raises(kind, match=text) as caught:
            bad.result(timeout=30)
        assert "py.goes_wrong" in caught.value.request
        assert "python_operations.py" in str(caught.value) and "in goes_wrong" in str(caught.value)
        load.check(before + after)
    assert service.generation == generation


@pytest.mark.parametrize("how", DIES)
def test_what_ends_the_worker_costs_its_request_only(service, rng, how):
    load = Load(service, rng)
    signal, text = DIES[how]
    for _ in range(TRIALS):
        generation = service.generation
        before, bad, after = load.ask(3), _bad(service, load, how), load.ask(3)
        with pytest.raises(troupe.DeviceFault) as caught:
            bad.result(timeout=30)
        assert "py.goes_wrong" in caught.value.request
        assert caught.value.code_name == signal and text in str(caught.value)
        load.check(before + after)
        assert service.generation == generation + 1
        service.forgive_all()


@pytest.mark.parametrize("how", HANGS)
def test_a_hang_ends_by_its_limit_and_is_located(service, rng, how):
    load = Load(service, rng)
    for _ in range(TRIALS):
        # Long enough for it to begin, and to be in the function, on a machine that does much else.
        before, bad, after = load.ask(3), _bad(service, load, how, run_limit=0.2), load.ask(3)
        with pytest.raises(troupe.DeviceFault, match="run limit of 200 ms") as caught:
            bad.result(timeout=30)
        assert "py.goes_wrong" in caught.value.request and "in goes_wrong" in str(caught.value)
        load.check(before + after)
        service.forgive_all()


def test_whoever_is_killed_from_outside_is_run_again(service, rng):
    load = Load(service, rng)
    for _ in range(TRIALS):
        waits = service.py.waits(seconds=0.05)
        after = load.ask(3)
        time.sleep(0.02)
        os.kill(service.worker_pid, 9)
        assert waits.result(timeout=30).numpy()[0] == 7
        load.check(after)
        while service.health.state != "ready":
            time.sleep(0.001)


def test_what_is_killed_each_time_ends_at_its_deadline(service, rng):
    load = Load(service, rng)
    bad, after = _bad(service, load, "killed", deadline=0.5), load.ask(3)
    with pytest.raises(troupe.DeadlineExceeded) as caught:
        bad.result(timeout=30)
    assert "py.goes_wrong" in caught.value.request
    load.check(after)
    service.forgive_all()


def test_the_crash_of_a_child_is_the_childs(service, rng):
    load = Load(service, rng)
    generation = service.generation
    for _ in range(TRIALS):
        y = _bad(service, load, "child crashes").result(timeout=30)
        np.testing.assert_array_equal(y.numpy(), load.a)
    assert service.generation == generation
    # A later crash's message contains none of its output.
    with pytest.raises(troupe.DeviceFault) as caught:
        _bad(service, load, "segfault").result(timeout=30)
    assert str(caught.value).count("Fatal Python error") == 1
    service.forgive_all()


def test_the_last_words_of_c_code_are_told_and_folded(service, rng):
    load = Load(service, rng)
    line = "block: [#,0,0], thread: [#,0,0] Assertion `index < size` failed."
    for times in (1, 3, 4, 1000):
        bad = service.py.says_from_c(text=line, times=times, how="abort")
        with pytest.raises(troupe.DeviceFault) as caught:
            bad.result(timeout=30)
        text = str(caught.value)
        assert line.replace("#", "0") in text and "in says_from_c" in text
        assert text.count("Assertion") == (times if times <= 3 else 1)
        assert (f"[{times - 1} more lines like it]" in text) == (times > 3)
        load.check(load.ask(3))
        service.forgive_all()
    for length in (40_000, 3_000_000):  # more than anyone reads
        with pytest.raises(troupe.DeviceFault) as caught:
            service.py.says_from_c(text="x" * length, how="abort").result(timeout=30)
        text = str(caught.value)
        assert "[…]" in text and "in says_from_c" in text and len(text) < 20_000
        service.forgive_all()


def test_lanes_take_turns_so_that_no_innocent_is_named(service, rng):
    load = Load(service, rng)
    lanes = [service.py.on_new_lanes() for _ in range(3)]

    def ask():  # who waits for a turn does not run: the limit is shorter than what they wait
        return [(i, lanes[i % 2].scale(x=load.x, factor=float(i), run_limit=0.4)) for i in range(6)]

    for how in ("loop in C", "exit", "segfault"):
        for _ in range(TRIALS // 5):
            good = ask()
            bad = lanes[2].goes_wrong(x=load.x, how=how, run_limit=0.6)
            good += ask()
            with pytest.raises(troupe.DeviceFault) as caught:
                bad.result(timeout=30)
            assert "py.goes_wrong" in caught.value.request
            load.check(good)
            service.forgive_all()


def test_a_fork_that_outlives_its_worker_writes_nowhere(service, rng):
    load = Load(service, rng)
    y = service.empty(8)
    for _ in range(3):
        with pytest.raises(troupe.DeviceFault):
            service.py.goes_wrong(x=load.x, y=y, how="fork and exit").result(timeout=30)
        z = service.py.scale(x=load.x, y=y, factor=1.0).result(timeout=30)
        time.sleep(0.1)
        np.testing.assert_array_equal(z.numpy(), load.a)
        service.forgive_all()


def test_quarantine_refuses_what_has_ended_two_workers(service, rng):
    load = Load(service, rng)
    for _ in range(2):
        with pytest.raises(troupe.DeviceFault):
            _bad(service, load, "segfault").result(timeout=30)
    with pytest.raises(troupe.Poisonous):
        _bad(service, load, "segfault").result(timeout=30)
    service.forgive_all()


def _files(folder):
    return len(os.listdir(folder))


def _lines(file):
    with open(file) as one:
        return sum(1 for _ in one)


def test_memory_does_not_grow(system, rng):
    device = system.device(31, backend="cpu", operations=[MODULE], restarts=100_000)
    load = Load(device, rng)
    server = device.py.about().result()["parent"]

    def heap_kib(pid):
        with open(f"/proc/{pid}/status") as file:
            return int(re.search(r"RssAnon:\s*(\d+)", file.read())[1])

    def counted():
        """Descriptors, mappings and threads of the program and of the server, at rest."""
        while not device.health.standby_ready:
            time.sleep(0.005)
        time.sleep(0.2)
        return [
            count(f"/proc/{pid}/{what}")
            for pid in (os.getpid(), server)
            for count, what in ((_files, "fd"), (_files, "task"), (_lines, "maps"))
        ]

    def fault():
        with pytest.raises(troupe.DeviceFault):
            _bad(device, load, "exit").result(timeout=30)
        load.check(load.ask(2))  # else the next worker is given time
        device.forgive_all()

    def calls(count):
        for start in range(0, count, 500):
            load.check(load.ask(500) if start == 0 else [(1, load.ask(2)[1][1])] * 500)

    for _ in range(20):
        fault()
    calls(1000)
    before, here, there = counted(), heap_kib("self"), heap_kib(server)
    for _ in range(200):
        fault()
    worker = device.py.about().result()["pid"]
    calls(1000)
    in_worker = heap_kib(worker)
    for _ in range(20):
        load.check(load.ask(500))
    assert device.worker_pid == worker
    assert heap_kib(worker) - in_worker < 1 << 10
    assert heap_kib("self") - here < 4 << 10
    assert heap_kib(server) - there < 1 << 10
    # The program's other mappings are its allocator's affair.
    after = counted()
    assert [after[i] - before[i] for i in (0, 1, 3, 4, 5)] == [0] * 5
    device.stop()
