"""The servers that import modules and fork workers: what they import, and what they outlive."""

import os
import subprocess
import sys
import textwrap
import time

import pytest
import troupe

MODULE = os.path.join(os.path.dirname(__file__), "python_operations.py")


def test_a_module_that_cannot_be_imported_says_why(system, tmp_path):
    (tmp_path / "broken.py").write_text("import numpy\n\ndef f():\n    import nowhere\nf()\n")
    device = system.device(22, backend="cpu", operations=[tmp_path / "broken.py"])
    for ask in (device.wait_until_ready, lambda: device.py2.f):
        with pytest.raises(troupe.LibraryMissing) as caught:
            ask()
        text = str(caught.value)
        assert (
            "broken.py" in text and "No module named 'nowhere'" in text and "line 4, in f" in text
        )
    with pytest.raises(troupe.LibraryMissing, match="No module named 'nowhere'"):
        device.lane.marker().result()
    # Repaired, it can be restarted.
    (tmp_path / "broken.py").write_text("import troupe\n")
    device.restart()
    device.wait_until_ready()
    device.stop()


def test_threads_and_devices_at_import_are_refused(system, tmp_path):
    (tmp_path / "threads.py").write_text(
        "import threading, time\nthreading.Thread(target=time.sleep, args=(9,), name='mine').start()\n"
    )
    device = system.device(22, backend="cpu", operations=[tmp_path / "threads.py"])
    with pytest.raises(troupe.LibraryMissing, match=r"starts threads .*mine.*on_worker_start"):
        device.wait_until_ready()
    device.stop()
    (tmp_path / "devices.py").write_text("import troupe\ntroupe.System().device(0)\n")
    device = system.device(23, backend="cpu", operations=[tmp_path / "devices.py"])
    with pytest.raises(troupe.LibraryMissing, match="__name__ == '__main__'"):
        device.wait_until_ready()
    device.stop()


def test_a_failing_start_says_why(system, tmp_path):
    (tmp_path / "start.py").write_text(
        "import troupe\n@troupe.on_worker_start\ndef begin():\n    raise OSError('no licence')\n"
    )
    device = system.device(24, backend="cpu", operations=[tmp_path / "start.py"])
    with pytest.raises(troupe.LibraryMissing, match="on_worker_start failed: OSError: no licence"):
        device.wait_until_ready()
    device.stop()


def test_slow_imports_get_time_and_say_what_they_do(system, tmp_path):
    # Room for the interpreter's own start on a busy machine, and less than all imports take.
    start_timeout = 3
    for i in range(4):
        (tmp_path / f"slow{i}.py").write_text("import time\ntime.sleep(0.9)\n")
    (tmp_path / "patient.py").write_text("import slow0, slow1, slow2, slow3\n")
    # Its own lines, too, count for the module, whatever it has imported before.
    (tmp_path / "begun.py").write_text("")
    (tmp_path / "idle.py").write_text("import begun\nimport time\ntime.sleep(100)\n")
    device = system.device(
        25,
        backend="cpu",
        operations=[tmp_path / "idle.py"],
        start_timeout=start_timeout,
        restarts=0,
    )
    with pytest.raises(
        troupe.DeviceUnavailable, match=r"importing .*idle\.py, which began begun last"
    ):
        device.wait_until_ready()
    device.stop()
    device = system.device(
        25, backend="cpu", operations=[tmp_path / "patient.py"], start_timeout=start_timeout
    )
    device.wait_until_ready()
    device.stop()
    (tmp_path / "endless.py").write_text("import forever\n")
    (tmp_path / "forever.py").write_text("while True: pass\n")
    device = system.device(
        26,
        backend="cpu",
        operations=[tmp_path / "endless.py"],
        start_timeout=start_timeout,
        restarts=0,
    )
    with pytest.raises(troupe.DeviceFailure, match=r"endless\.py, which began forever last"):
        device.wait_until_ready()
    device.stop()


VERSIONS = """import os
import troupe
{}
@troupe.operation("halfway.version")
def version():
    return {}
@troupe.operation("halfway.server")
def server():
    return os.getppid()
"""


def _replaced_twice(device):
    """The first standby may be from before an edit."""
    for _ in range(2):
        deadline = time.monotonic() + 30
        while not device.health.standby_ready:
            assert time.monotonic() < deadline
            time.sleep(0.005)
        pid = device.worker_pid
        os.kill(pid, 9)
        while device.worker_pid in (None, pid):
            assert time.monotonic() < deadline
            time.sleep(0.005)
    return device.halfway.version().result(timeout=30)


def test_a_fresh_worker_has_the_edited_module(system, tmp_path):
    path = tmp_path / "halfway.py"
    path.write_text(VERSIONS.format("", 1))
    device = system.device(33, backend="cpu", operations=[path])
    asked = [device.halfway.version() for _ in range(20)]
    for one in asked:
        assert one.result() == 1
    path.write_text(VERSIONS.format("", 22))
    renewed = device.renew(fresh=True)
    asked = [device.halfway.version() for _ in range(20)]
    renewed.result(timeout=30)
    assert {one.result() for one in asked} <= {1, 22}
    assert device.halfway.version().result() == 22
    assert (device.statistics.failed, device.health.restarts) == (0, 0)
    device.stop()


@pytest.mark.parametrize("broken", ["import nowhere", "half"])
def test_an_edit_that_cannot_be_imported_costs_nothing(system, tmp_path, capfd, broken):
    path = tmp_path / "halfway.py"
    path.write_text(VERSIONS.format("", 1))
    device = system.device(32, backend="cpu", operations=[path], restarts=100)
    assert device.halfway.version().result() == 1
    server = device.halfway.server().result()
    os.utime(path, (1, 1))  # the same contents
    assert _replaced_twice(device) == 1
    path.write_text("" if broken == "half" else VERSIONS.format(broken, 1))
    assert _replaced_twice(device) == 1
    assert device.halfway.server().result() == server
    assert capfd.readouterr().err.count("modules have changed, and new workers go on") == 1
    # A server that is lost meanwhile is replaced once there is something to import again.
    worker = device.worker_pid
    os.kill(server, 9)
    while device.worker_pid == worker:
        time.sleep(0.005)
    again = device.halfway.version()
    time.sleep(0.3)
    path.write_text(VERSIONS.format("", 22))
    assert again.result(timeout=30) == 22
    path.write_text(VERSIONS.format("", 333))
    assert _replaced_twice(device) == 333
    device.stop()


def test_an_edit_may_be_meant_for_the_next_program(system, tmp_path):
    path = tmp_path / "halfway.py"
    path.write_text(VERSIONS.format("", 1))
    device = system.device(32, backend="cpu", operations=[path], restarts=100, reload=False)
    assert device.halfway.version().result() == 1
    path.write_text(VERSIONS.format("", 2))
    assert _replaced_twice(device) == 1
    device.stop()


def test_one_name_is_one_operation_in_a_program(system, tmp_path):
    for name, argument in (("one", "i: int"), ("same", "i: int"), ("other", "f: float")):
        (tmp_path / f"{name}_twin.py").write_text(
            f"import troupe\n@troupe.operation('twin.f')\ndef f({argument}):\n    return '{name}'\n"
        )
    one, same, other = (
        system.device(33 + i, backend="cpu", operations=[tmp_path / f"{name}_twin.py"])
        for i, name in enumerate(("one", "same", "other"))
    )
    assert (one.twin.f(i=1).result(), same.twin.f(i=1).result()) == ("one", "same")
    with pytest.raises(ValueError, match=r"twin\.f is in this program already, with other arg"):
        other.twin
    for device in (one, same, other):
        device.stop()


def test_nothing_is_left_of_a_stopped_device(system):
    device = system.device(28, backend="cpu", operations=[MODULE])
    about = device.py.about().result()
    device.stop()
    deadline = time.monotonic() + 10
    while any(_runs(about[one]) for one in ("pid", "parent")):
        assert time.monotonic() < deadline, "the worker or its server still runs"
        time.sleep(0.01)
    device.restart()
    assert device.py.about().result()["parent"] != about["parent"]
    device.stop()


def _runs(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False


def test_workers_end_with_their_program(tmp_path):
    program = f"""
        import sys, time, troupe
        system = troupe.System()
        device = system.device(0, backend="cpu", operations=[{MODULE!r}])
        about = device.py.about().result()
        print(about["pid"], about["parent"], flush=True)
        time.sleep(100)
    """
    child = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(program)], stdout=subprocess.PIPE
    )
    pids = [int(one) for one in child.stdout.readline().split()]
    assert all(map(_runs, pids))
    child.kill()
    child.wait()
    deadline = time.monotonic() + 10
    while any(map(_runs, pids)):
        assert time.monotonic() < deadline
        time.sleep(0.01)


# A module may do this while it is imported. It would keep its server from hearing of ends.
MANNERS = {
    "a process, and children that nobody waits for": """
import multiprocessing, signal
manager = multiprocessing.get_context("fork").Manager()
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
""",
    "no pidfds, and children that it waits for itself": """
import signal
def refused(*_):
    raise PermissionError(1, "refused")
def wait(*_):
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        pass
os.pidfd_open = refused
signal.signal(signal.SIGCHLD, wait)
""",
}


@pytest.mark.parametrize("manners", MANNERS)
def test_a_server_outlives_its_workers_and_is_missed(system, tmp_path, manners):
    path = tmp_path / "halfway.py"
    path.write_text(VERSIONS.format(MANNERS[manners], 1))
    device = system.device(36, backend="cpu", operations=[path], restarts=100)
    server = device.halfway.server().result()
    for _ in range(2):
        assert _replaced_twice(device) == 1
    assert device.halfway.server().result() == server
    os.kill(server, 9)
    deadline = time.monotonic() + 15
    while device.halfway.server().result(timeout=15) == server:
        assert time.monotonic() < deadline
    device.stop()


def test_threads_of_c_code_at_import_are_refused_with_their_module(system, tmp_path):
    (tmp_path / "pauses.py").write_text(
        "import ctypes\nc, t = ctypes.CDLL(None), ctypes.c_ulong()\n"
        "c.pthread_create(ctypes.byref(t), None, c.pause, None)\n"
    )
    (tmp_path / "uses.py").write_text("import numpy, pauses, troupe\n")
    device = system.device(22, backend="cpu", operations=[tmp_path / "uses.py"])
    with pytest.raises(
        troupe.LibraryMissing, match=r"which began pauses last: it starts threads .*on_worker_start"
    ):
        device.wait_until_ready()
    device.stop()


def test_threads_of_libraries_that_can_be_ended_are_no_hindrance(system, tmp_path):
    (tmp_path / "parallel.py").write_text("""
import ctypes
import numpy as np
import troupe
gomp, c = ctypes.CDLL("libgomp.so.1"), ctypes.CDLL(None)
@troupe.on_worker_start
def parallel():
    gomp.GOMP_parallel(c.getpid, None, 4, 0)
    return float((np.ones((300, 300)) @ np.ones((300, 300))).sum())
parallel()
@troupe.operation("parallel.again")
def again():
    return parallel()
""")
    device = system.device(22, backend="cpu", operations=[tmp_path / "parallel.py"])
    assert device.parallel.again().result(timeout=20) == 300.0**3
    device.stop()


def test_a_file_takes_nobodys_name(system, tmp_path):
    names = ("signal.py", "one/model.py", "two/model.py")
    for i, name in enumerate(names):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(
            f"import sys, troupe\n@troupe.operation('names.f{i}')\ndef f():\n"
            "    return __file__, sys.modules['signal'].SIGKILL.value\n"
        )
    device = system.device(
        37, backend="cpu", standby=False, operations=[tmp_path / one for one in names]
    )
    for i, name in enumerate(names):
        ask = getattr(device.names, f"f{i}")
        assert ask().result() == (str(tmp_path / name), 9)
    device.stop()


def test_the_current_folder_is_not_searched(tmp_path):
    (tmp_path / "json.py").write_text("raise SystemExit('searched')\n")
    (tmp_path / "program").mkdir()
    program = tmp_path / "program/service.py"
    program.write_text(
        f"import troupe\nwith troupe.System() as system:\n"
        f"    device = system.device(0, backend='cpu', standby=False, operations=[{MODULE!r}])\n"
        f"    print(device.py.big(n=1).result())\n"
    )
    where = os.path.dirname(os.path.dirname(os.path.abspath(troupe.__file__)))
    done = subprocess.run(
        [sys.executable, program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": where},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("b'Z'\n", "")


def test_hundreds_of_operations(system, tmp_path):
    arguments = ", ".join(
        f"{one}: troupe.Reads('n', dtype='f32', text='what it is')" for one in "abcdef"
    )
    (tmp_path / "many.py").write_text(
        "import troupe\n"
        + "".join(
            f"@troupe.operation('many.f{i}')\ndef f{i}({arguments}): return {i}\n"
            for i in range(300)
        )
    )
    device = system.device(38, backend="cpu", standby=False, operations=[tmp_path / "many.py"])
    x = device.zeros(3)
    assert device.many.f299(a=x, b=x, c=x, d=x, e=x, f=x).result() == 299
    device.stop()
