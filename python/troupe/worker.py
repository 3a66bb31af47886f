"""The process that forks a device's workers, and what such a worker does first.

It imports the modules with operations once. A program asks it for workers over a socket; each is
forked within milliseconds, with everything imported. docs/guide/protocol.md has the messages.
"""

from __future__ import annotations

import array
import contextlib
import faulthandler
import fcntl
import gc
import io
import json
import os
import select
import signal
import socket
import stat
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from typing import Any, NoReturn

from . import _core, operations, streams

_CONTROL = 3  # where the program's socket is, and where a worker looks for its own
_WHERE = signal.SIGRTMAX - 4  # asks a worker where it is
_STATE = "TROUPE_FORK_SERVER_STATE"
_LONGEST = 24 * 1024  # of a message with a traceback


def _send(to: socket.socket, text: str) -> None:
    with contextlib.suppress(OSError):  # whoever is gone needs no news
        to.send(text.encode(errors="replace"), socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)


def _why(error: BaseException, what: str) -> str:
    """The reason first, then how it came about, without the frames of the import machinery."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__)
        if "importlib" not in f.filename and not f.filename.startswith(os.path.dirname(__file__))
    ]  # fmt: skip
    reason = "".join(traceback.format_exception_only(type(error), error)).strip()
    told = "".join(traceback.format_list(frames)).rstrip()
    if len(told) > _LONGEST:
        told = told[: _LONGEST // 2] + "\n  […]\n" + told[-_LONGEST // 2 :]
    return f"{what}: {reason[:_LONGEST]}" + (f"\n{told}" if told else "")


class _Notes:
    """A finder that finds nothing, and hears of every module that is being imported."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self.hear = hear

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        self.hear(name)
        return None


class _Worker:
    """One that was asked for: its end of the control socket, and where news of it are told."""

    def __init__(self, control: int, news: int) -> None:
        self.control = control
        self.news = socket.socket(fileno=news)
        self.pid = 0
        self.pidfd = -1


class Server:
    def __init__(self, modules: list[str]) -> None:
        self.modules = modules
        self.module = ""  # which of them is being imported
        self.program = socket.socket(fileno=_CONTROL)
        self.asked: list[_Worker] = []
        self.running: list[_Worker] = []
        self.ending: list[_Worker] = []  # killed, and not wanted any more
        self.files: dict[str, tuple[int, int]] = {}
        self.not_compiled = ""  # why, as it was told last
        self.program.set_inheritable(False)
        state = json.loads(os.environ.pop(_STATE, "{}"))
        for pid, news in state.get("running", ()):
            one = _Worker(-1, news)
            one.pid, one.pidfd = pid, os.pidfd_open(pid)
            self.running.append(one)
        self.asked = [_Worker(*one) for one in state.get("asked", ())]
        for one in self.running + self.asked:
            one.news.set_inheritable(False)
            if one.control >= 0:
                os.set_inheritable(one.control, False)

    # Importing ----------------------------------------------------------------------------------

    def load(self) -> None:
        """Imports all. What fails is told, and ends the process: nothing else would come of it."""
        _send(self.program, "loading")
        notes = _Notes(self.note)
        sys.meta_path.insert(0, notes)
        before = set(sys.modules)
        module = ""

        def note(name: str) -> None:
            nonlocal module
            module = name
            self.module = name
            self.note(name)

        try:
            operations.load(self.modules, note)
            sys.meta_path.remove(notes)
            self.check(module)
            operations.define_with_functions()
            message = ("described " + operations.description()).encode()
        except BaseException as error:
            self.fail(_why(error, f"importing {module} failed"))
        self.files = self.stamps(before)
        self.program.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * len(message) + 4096)
        self.program.send(message)

    def note(self, name: str) -> None:
        self.hear_program(wait=False)
        # Nobody hears when an import is over: it may be the module's own lines that take long.
        last = "" if name == self.module else f", which began {name} last"
        for to in [self.program, *(one.news for one in self.asked)]:
            _send(to, f"importing {self.module}{last}")

    @staticmethod
    def check(module: str) -> None:
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            raise ImportError(
                f"{module} uses CUDA while it is imported, and a process with a CUDA context cannot "
                "be forked: do that in a function with @troupe.on_worker_start"
            )
        others = [one.name for one in threading.enumerate() if one is not threading.main_thread()]
        if others:
            raise ImportError(
                f"{module} starts threads while it is imported ({', '.join(others)}), and they are "
                "not there in a forked process: start them in a function with @troupe.on_worker_start"
            )

    def fail(self, why: str) -> NoReturn:
        self.hear_program(wait=False)
        for to in [self.program, *(one.news for one in self.asked)]:
            _send(to, f"failed library_missing {why}")
        os._exit(1)

    # Source files -------------------------------------------------------------------------------

    def stamps(self, before: set[str]) -> dict[str, tuple[int, int]]:
        """The files of the user's own modules, as they are now."""
        others = {
            sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")
        }
        others.add(os.path.dirname(__file__))
        found = {}
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if name in before or not file or any(file.startswith(one + os.sep) for one in others):
                continue
            found[file] = self.stamp(file)
        return found

    @staticmethod
    def stamp(file: str) -> tuple[int, int]:
        try:
            status = os.stat(file)
        except OSError:
            return (0, 0)
        return (status.st_mtime_ns, status.st_size)

    def can_be_compiled(self, files: set[str]) -> bool:
        """Not while they are being edited: then workers have what was imported before."""
        for file in sorted(files):
            try:
                with open(file, "rb") as source:
                    if file.endswith(".py"):
                        compile(source.read(), file, "exec", dont_inherit=True)
            except (OSError, SyntaxError, ValueError) as error:
                why = f"{file} has changed, and new workers go on with what it was: {error}"
                if why != self.not_compiled:
                    print(f"troupe: {why}", file=sys.stderr, flush=True)
                self.not_compiled = why
                return False
        return True

    def begin_anew_if_changed(self) -> None:
        """Where a source file has changed, this process becomes a new one, with the same children."""
        changed = {file for file, stamp in self.files.items() if self.stamp(file) != stamp}
        if not changed or not self.can_be_compiled(changed):
            return
        for one in self.running + self.asked:
            one.news.set_inheritable(True)
            if one.control >= 0:
                os.set_inheritable(one.control, True)
        self.program.set_inheritable(True)
        os.environ[_STATE] = json.dumps(
            {
                "running": [(one.pid, one.news.fileno()) for one in self.running],
                "asked": [(one.control, one.news.fileno()) for one in self.asked],
            }
        )
        os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])

    # Serving ------------------------------------------------------------------------------------

    def serve(self) -> NoReturn:
        while True:
            if self.asked:
                self.begin_anew_if_changed()
            while self.asked:
                self.fork(self.asked.pop(0))
            self.wait()

    def wait(self) -> None:
        poll = select.poll()
        poll.register(self.program, select.POLLIN)
        by_news = {one.news.fileno(): one for one in self.running}
        by_end = {one.pidfd: one for one in self.ending}
        for descriptor in (*by_news, *by_end):
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll():
            if descriptor in by_news:
                self.hear_about(by_news[descriptor])
            elif descriptor in by_end:
                self.reap(by_end[descriptor])
            else:
                self.hear_program(wait=True)

    def hear_program(self, wait: bool) -> None:
        while True:
            flags = socket.MSG_CMSG_CLOEXEC | (0 if wait else socket.MSG_DONTWAIT)
            try:
                # (Python 3.11's recv_fds ignores its flags.)
                message, extra, _, _ = self.program.recvmsg(64, socket.CMSG_SPACE(8), flags)
            except BlockingIOError:
                return
            except OSError:
                message, extra = b"", []
            if not message:
                self.end()
            for level, kind, data in extra:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS) and len(data) == 8:
                    self.asked.append(_Worker(*array.array("i", data)))
            if wait:
                return

    def end(self) -> NoReturn:
        for one in self.running + self.ending:
            self.kill(one)
        os._exit(0)

    def hear_about(self, worker: _Worker) -> None:
        try:
            message = worker.news.recv(64, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            message = b""
        self.kill(worker)
        if message == b"reap":
            self.reap(worker)
        else:
            self.running.remove(worker)
            self.ending.append(worker)

    @staticmethod
    def kill(worker: _Worker) -> None:
        # Until it is reaped both numbers are this child's.
        for kill, number in ((os.killpg, worker.pid), (os.kill, worker.pid)):
            with contextlib.suppress(OSError):
                kill(number, signal.SIGKILL)

    def reap(self, worker: _Worker) -> None:
        how = os.waitid(os.P_PID, worker.pid, os.WEXITED)
        if how is not None:
            _send(worker.news, f"ended {int(how.si_code != os.CLD_EXITED)} {how.si_status}")
        worker.news.close()
        os.close(worker.pidfd)
        for all_of_them in (self.running, self.ending):
            if worker in all_of_them:
                all_of_them.remove(worker)

    # Forking ------------------------------------------------------------------------------------

    def fork(self, worker: _Worker) -> None:
        gc.freeze()  # collecting garbage is not to copy what is shared
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        try:
            pid = os.fork()
        except OSError as error:
            _send(worker.news, f"failed out_of_memory forking a worker: {error}")
            os.close(worker.control)
            worker.news.close()
            return
        if pid == 0:
            self.become(worker, parent)
        worker.pid, worker.pidfd = pid, os.pidfd_open(pid)
        with contextlib.suppress(OSError):  # it may have done so itself, and be gone
            os.setpgid(pid, pid)
        os.close(worker.control)
        self.running.append(worker)

    def become(self, worker: _Worker, parent: int) -> NoReturn:
        """In the forked process."""
        try:
            os.setpgid(0, 0)
            _core._end_with_parent(parent)
            log = os.memfd_create("troupe-words", os.MFD_CLOEXEC)
            news = worker.news
            pidfd = os.pidfd_open(os.getpid())
            news.sendmsg(
                [f"forked {os.getpid()}".encode()],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [pidfd, log]))],
            )
            os.close(pidfd)
            for one in self.running + self.ending + self.asked:
                one.news.close()
                os.close(one.pidfd if one.pidfd >= 0 else one.control)
            os.dup2(worker.control, _CONTROL, inheritable=False)
            self.program.detach()
            os.close(worker.control)
            shown = _prepare(log)
            _core._run_worker(lambda ordinal: _started(news, ordinal), log, shown, _WHERE)
        except BaseException as error:
            _send(worker.news, "failed device_unavailable " + _why(error, "starting a worker"))
            os._exit(1)


def _prepare(log: int) -> int:
    """What a worker sets up before it serves. The answer is where its stderr goes.

    What Python writes there goes at once; what others do goes to the log first. So what they write
    at the worker's end, such as an assertion of a kernel, is part of the error.
    """
    shown = os.dup(2)
    for stream in (sys.stderr, sys.__stderr__):
        buffer = getattr(stream, "buffer", None)
        raw = getattr(buffer, "raw", buffer)
        if isinstance(raw, io.FileIO) and raw.fileno() == 2:
            raw.__init__(shown, "wb", closefd=False)  # type: ignore[misc] # whoever has it keeps it
    fcntl.fcntl(log, fcntl.F_SETFL, fcntl.fcntl(log, fcntl.F_GETFL) | os.O_APPEND)
    os.dup2(log, 2)
    faulthandler.enable(log, all_threads=False)
    faulthandler.register(_WHERE, log, all_threads=True, chain=False)
    _give_children_signals()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)
    try:  # where the system has no memory left, it is to take a worker, not the program
        with open("/proc/self/oom_score_adj", "r+") as file:
            score = int(file.read())
            file.seek(0)
            file.write(str(min(score + 500, 1000)))
    except OSError:
        pass
    return shown


def _give_children_signals() -> None:
    """A process that an operation forks has nothing to say of its worker, and ends by what it is
    sent, while a worker takes no notice of that. What comes meanwhile waits."""
    names = ("HUP", "QUIT", "ALRM", "TERM", "USR1", "USR2", "VTALRM", "PROF", "IO")
    numbers = [getattr(signal, "SIG" + one) for one in names]
    forking = threading.local()

    def before() -> None:
        forking.mask = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)

    def in_parent() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, forking.mask)

    def in_child() -> None:
        faulthandler.disable()
        for one in numbers:
            signal.signal(one, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)

    os.register_at_fork(before=before, after_in_parent=in_parent, after_in_child=in_child)


def _started(news: socket.socket, ordinal: int) -> str:
    """Called once the worker's device is up: a GPU, or -1. The answer is why it cannot serve."""
    try:
        streams.choose_gpu(ordinal)
        _send(news, "running what @troupe.on_worker_start names")
        operations.run_started()
    except BaseException as error:
        why = _why(error, "on_worker_start failed")
        _send(news, "failed library_missing " + why)
        return why
    news.close()
    return ""


def main(settings: dict[str, Any]) -> NoReturn:
    # Has torch.cuda.is_available(), which modules like to ask, look without CUDA: a process that
    # has used that cannot be forked.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    _core._begin_fork_server()
    faulthandler.enable()  # where an import crashes
    server = Server(settings["modules"])
    server.load()
    server.serve()


def _started_by_a_program() -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(_CONTROL).st_mode)
    except OSError:
        return False


if __name__ == "__main__":
    if len(sys.argv) < 2 or not _started_by_a_program():
        print(
            "troupe.worker is started by a program: in Python by system.device(0, operations=[...]), "
            "in C++ as the command of a troupe::fork_server: python -m troupe.worker MODULE...",
            file=sys.stderr,
        )
        sys.exit(2)
    from troupe import worker

    worker.main(
        {"modules": [os.path.abspath(one) if one.endswith(".py") else one for one in sys.argv[1:]]}
    )
