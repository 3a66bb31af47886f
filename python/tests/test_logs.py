"""Events of devices and failures of actors in the logger `troupe`, and the commands."""

import logging
import os
import signal
import subprocess
import sys
import time

import pytest
import troupe
from waits import eventually


def kinds(caplog, device):
    return [r.kind for r in caplog.records if r.name == "troupe" and r.device == device]


def test_a_loss_and_its_recovery_are_records_with_their_fields(caplog):
    caplog.set_level(logging.DEBUG, "troupe")
    with troupe.System() as system:
        gpu = system.device(7, fault_injection=True, standby=False, backend="cpu")
        gpu.wait_until_ready()
        pid = gpu.worker_pid
        output = gpu.empty(4)
        with pytest.raises(troupe.DeviceFault):
            gpu.fault.inject(what="segmentation_fault", output=output).result()
        gpu.zeros(4).numpy()
        eventually(lambda: "recovered" in kinds(caplog, 7))
        assert [e.kind for e in gpu.events()] == ["started", "lost", "tainted", "recovered"]
        assert [e.number for e in gpu.events(after=1)] == [2, 3, 4]
        system.device(8, backend="cpu", standby=False).wait_until_ready()
        assert [(e.device, e.number) for e in system.events()] == [(7, i) for i in range(1, 5)] + [(8, 1)]  # fmt: skip
        took = gpu.health.last_failover
    assert kinds(caplog, 7) == ["started", "lost", "tainted", "recovered", "stopped"]
    started, lost, tainted, recovered, stopped = (r for r in caplog.records if r.device == 7)
    assert (tainted.levelno, tainted.count) == (logging.INFO, 1)
    assert (lost.levelno, recovered.levelno) == (logging.WARNING, logging.INFO)
    assert (lost.pid, lost.generation, lost.failed) == (pid, 1, 1)
    assert "fault.inject" in lost.request
    assert isinstance(lost.cause, troupe.DeviceFault) and lost.cause.code_name == "SIGSEGV"
    assert lost.at <= recovered.at <= time.time()
    assert recovered.took == pytest.approx(took) and recovered.cause is None
    assert lost.getMessage().startswith(f"device 7 lost worker {pid} of generation 1; 1 failed: ")
    assert stopped.levelno == logging.INFO and started.pid == pid


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_handler_that_raises_or_waits_delays_no_recovery(caplog):
    class Bad(logging.Handler):
        def emit(self, record):
            time.sleep(0.2)
            raise RuntimeError("no disk")

    handler = Bad()
    logging.getLogger("troupe").addHandler(handler)
    try:
        with troupe.System() as system:
            gpu = system.device(7, backend="cpu")
            gpu.wait_until_ready()
            for _ in range(3):
                os.kill(gpu.worker_pid, signal.SIGKILL)
                gpu.zeros(4).numpy()
            assert [e.kind for e in gpu.events()].count("lost") == 3
    finally:
        logging.getLogger("troupe").removeHandler(handler)


def title(pid):
    with open(f"/proc/{pid}/cmdline") as file:
        return file.read().split("\0")[-2].rstrip()


def test_ps_shows_the_workers_of_python_operations(tmp_path):
    module = tmp_path / "model.py"
    module.write_text(
        'import troupe\n@troupe.operation("model.nothing")\ndef nothing() -> None: pass\n'
    )
    with troupe.System() as system:
        gpu = system.device(7, backend="cpu", operations=[module])
        gpu.wait_until_ready()
        eventually(lambda: title(gpu.worker_pid) == "[device 7, generation 1]")
        eventually(lambda: gpu.health.standby_pid is not None)
        standby = gpu.health.standby_pid
        eventually(lambda: title(standby) == "[device 7, standby]")
        with open(f"/proc/{standby}/stat") as file:
            assert title(file.read().split(")")[-1].split()[1]) == "[fork server]"


def run(script):
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


def test_losses_are_shown_without_any_setting_and_the_end_of_a_program_is_quiet():
    done = run(
        "import os, signal, troupe\n"
        "gpu = troupe.System().device(0, backend='cpu')\n"
        "gpu.wait_until_ready()\n"
        "os.kill(gpu.worker_pid, signal.SIGKILL)\n"
        "gpu.zeros(4).numpy()\n"
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("device 0 lost worker ") and "SIGKILL" in line


def test_a_handler_may_be_there_when_the_interpreter_ends():
    done = run(
        "import logging, time, os, signal, troupe\n"
        "class Slow(logging.Handler):\n"
        "    def emit(self, record): time.sleep(0.05)\n"
        "logging.getLogger('troupe').addHandler(Slow())\n"
        "logging.getLogger('troupe').setLevel(logging.DEBUG)\n"
        "keep = gpu = troupe.System().device(0, backend='cpu')\n"
        "gpu.wait_until_ready()\n"
        "for _ in range(5):\n"
        "    os.kill(gpu.worker_pid, signal.SIGKILL)\n"
        "    gpu.zeros(4).numpy()\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_module_is_the_program():
    def says(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "troupe", *arguments], capture_output=True, text=True
        )

    assert says("--version").stdout == troupe.__version__ + "\n"
    assert says("--help").returncode == 0
    assert "  demo " in says("help").stdout
    wrong = says("demmo")
    assert (wrong.returncode, wrong.stdout) == (2, "") and "did you mean demo?" in wrong.stderr
