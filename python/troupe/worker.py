"""The process that forks a device's workers, and the start of such a worker.

It imports the modules with operations once. A program asks it for workers over a socket; each is
forked within milliseconds, with everything imported. docs/guide/protocol.md has the messages.
"""

from __future__ import annotations

import array
import contextlib
import faulthandler
import fcntl
import gc
import os
import select
import signal
import socket
import stat
import sys
import time
import traceback
from typing import Any, NoReturn

from . import _core, operations, streams
from .workers import forked, imports

_CONTROL = 3  # the program's socket, and a worker's own
_LONGEST = 24 * 1024  # limit of a message with a traceback
_LONGEST_MESSAGE = 64 * 1024


def _send(to: socket.socket, text: str) -> None:
    with contextlib.suppress(OSError):  # a program that is gone needs no news
        to.send(text.encode(errors="replace"), socket.MSG_NOSIGNAL | socket.MSG_DONTWAIT)


def _why(error: BaseException, what: str) -> str:
    """The reason first, then the traceback without the frames of the import machinery."""
    frames = [
        f for f in traceback.extract_tb(error.__traceback__)
        if "importlib" not in f.filename and not f.filename.startswith(os.path.dirname(__file__))
    ]  # fmt: skip
    reason = "".join(traceback.format_exception_only(type(error), error)).strip()
    told = "".join(traceback.format_list(frames)).rstrip()
    if len(told) > _LONGEST:
        told = told[: _LONGEST // 2] + "\n  […]\n" + told[-_LONGEST // 2 :]
    return f"{what}: {reason[:_LONGEST]}" + (f"\n{told}" if told else "")


class _Worker:
    """A requested worker: its end of the control socket, and the socket for news of it."""

    def __init__(self, control: int, news: int) -> None:
        self.control = control
        self.news = socket.socket(fileno=news)
        self.pid = 0
        self.ended = -1  # readable once it has ended: a pidfd, or a pipe if there are no pidfds,
        self.runs = -1  # and that pipe's other end, which the server closes then, or by its own end

    def close(self) -> None:
        self.news.close()
        for one in (self.control, self.ended, self.runs):
            if one >= 0:
                os.close(one)
        self.control = self.ended = self.runs = -1


class Server:
    def __init__(self, modules: list[str], reload: bool) -> None:
        self.imports = imports.Imports(modules, self.note)
        self.reload = reload
        self.program = socket.socket(fileno=_CONTROL)
        self.forks: _Worker | None = None  # which worker, while it does
        self.asked: list[_Worker] = []
        self.running: list[_Worker] = []
        self.ending: list[_Worker] = []  # killed, and no longer needed
        self.known = "[]"  # the operations that the program knows from an earlier server
        self.is_to_look = False
        self.shown = ""  # on stderr, the last
        self.pidfds = True
        self.on_child: Any = signal.SIG_DFL  # the handler of SIGCHLD that modules have set
        self.program.set_inheritable(False)
        os.register_at_fork(after_in_child=self.let_go)

    def let_go(self) -> None:
        """In a forked process, before anything else runs there: closes the copies of this process's
        descriptors, which would hide its end from the program."""
        if self.forks is None:
            self.program.close()
        else:
            os.dup2(self.forks.control, self.program.detach(), inheritable=False)
            self.forks = None
        for one in self.running + self.ending + self.asked:
            one.close()
        self.running, self.ending, self.asked = [], [], []

    # Importing ----------------------------------------------------------------------------------

    def load(self) -> None:
        """Imports all modules. A failure is reported, and ends the process, which cannot serve."""
        try:
            self.imports.load()
            self.hear_program(wait=False)
            operations.check_known(self.known)
            described = _memory(operations.description().encode())
        except BaseException as error:
            self.fail(_why(error, f"importing {self.imports.module} failed"))
        to_program = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [described]))]
        self.program.sendmsg([b"described"], to_program)
        os.close(described)

    def note(self, importing: str) -> None:
        self.hear_program(wait=False)
        for to in [self.program, *(one.news for one in self.asked)]:
            _send(to, f"importing {importing}")

    def fail(self, why: str) -> NoReturn:
        self.hear_program(wait=False)
        for to in [self.program, *(one.news for one in self.asked)]:
            _send(to, f"failed library_missing {why}")
        os._exit(1)

    # Serving ------------------------------------------------------------------------------------

    def serve(self) -> NoReturn:
        try:
            os.close(os.pidfd_open(os.getpid()))
        except OSError:
            self.pidfds = False
        handler = signal.SIG_DFL if self.pidfds else self.note_ends
        self.on_child = signal.signal(signal.SIGCHLD, handler) or signal.SIG_DFL
        while True:
            # An exception that ended this process would end the workers that serve.
            try:
                while self.asked:
                    self.fork(self.asked.pop(0))
                if self.is_to_look:
                    self.is_to_look = False
                    changed = self.reload and self.imports.have_changed()
                    _send(self.program, "changed" if changed else "same")
                self.wait()
            except Exception as error:
                self.show(_why(error, "the fork server goes on after"))
                time.sleep(0.1)

    def wait(self) -> None:
        poll = select.poll()
        poll.register(self.program, select.POLLIN)
        by_news = {one.news.fileno(): one for one in self.running}
        by_end = {one.ended: one for one in self.ending}
        for descriptor in (*by_news, *by_end):
            poll.register(descriptor, select.POLLIN)
        for descriptor, _ in poll.poll():
            if descriptor in by_news:
                self.hear_about(by_news[descriptor])
            elif descriptor in by_end:
                self.reap(by_end[descriptor])
            else:
                self.hear_program(wait=True)

    def show(self, text: str) -> None:
        if text != self.shown:
            with contextlib.suppress(OSError, ValueError):
                print(f"troupe: {text}", file=sys.stderr, flush=True)
        self.shown = text

    def hear_program(self, wait: bool) -> None:
        while True:
            flags = socket.MSG_CMSG_CLOEXEC | (0 if wait else socket.MSG_DONTWAIT)
            try:
                # (Python 3.11's recv_fds ignores its flags.)
                message, extra, _, _ = self.program.recvmsg(
                    _LONGEST_MESSAGE, socket.CMSG_SPACE(8), flags
                )
            except BlockingIOError:
                return
            except OSError:
                message, extra = b"", []
            if not message:
                self.end()
            for level, kind, data in extra:
                if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS) and len(data) == 8:
                    self.asked.append(_Worker(*array.array("i", data)))
                elif (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS) and len(data) == 4:
                    with open(array.array("i", data)[0], encoding="utf-8") as memory:
                        self.known = memory.read()
            if message == b"look":
                self.is_to_look = True
            elif message.startswith(b"failed "):
                why = message.decode(errors="replace").split(" ", 2)[2]
                self.show(f"modules have changed, and new workers go on with what they were: {why}")
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
        for all_of_them in (self.running, self.ending):
            if worker in all_of_them:
                all_of_them.remove(worker)
        # A handler that a module has set may have reaped it.
        with contextlib.suppress(ChildProcessError):
            how = os.waitid(os.P_PID, worker.pid, os.WEXITED)
            if how is not None:
                _send(worker.news, f"ended {int(how.si_code != os.CLD_EXITED)} {how.si_status}")
        worker.close()

    def note_ends(self, *_: Any) -> None:
        """On SIGCHLD, where there are no pidfds."""
        for one in self.running + self.ending:
            with contextlib.suppress(OSError):
                how = os.WEXITED | os.WNOHANG | os.WNOWAIT
                if one.runs >= 0 and os.waitid(os.P_PID, one.pid, how):
                    os.close(one.runs)
                    one.runs = -1

    # Forking ------------------------------------------------------------------------------------

    def fork(self, worker: _Worker) -> None:
        gc.freeze()  # garbage collection must not copy shared pages
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        parent = os.getpid()
        try:
            if not self.pidfds:
                worker.ended, worker.runs = os.pipe()
            self.forks = worker
            worker.pid = os.fork()
            if worker.pid == 0:
                self.become(worker, parent)
            self.forks = None
            if self.pidfds:
                worker.ended = os.pidfd_open(worker.pid)
        except Exception as error:
            self.forks = None
            if worker.pid > 0:
                self.kill(worker)
                os.waitid(os.P_PID, worker.pid, os.WEXITED)
            _send(worker.news, f"failed out_of_memory forking a worker: {error}")
            worker.close()
            return
        with contextlib.suppress(OSError):  # it may have done so itself, and be gone
            os.setpgid(worker.pid, worker.pid)
        os.close(worker.control)
        worker.control = -1
        self.running.append(worker)
        if not self.pidfds:
            self.note_ends()

    def become(self, worker: _Worker, parent: int) -> NoReturn:
        """In the forked process."""
        try:
            os.setpgid(0, 0)
            _core._end_with_parent(parent)
            signal.signal(signal.SIGCHLD, self.on_child)
            log = os.memfd_create("troupe-output", os.MFD_CLOEXEC)
            news = worker.news
            ended = os.pidfd_open(os.getpid()) if self.pidfds else worker.ended
            news.sendmsg(
                [f"forked {os.getpid()}".encode()],
                [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [ended, log]))],
            )
            os.close(ended)
            os.close(worker.control)
            if worker.runs >= 0:
                os.close(worker.runs)
            shown = forked.prepare(log)
            _core._run_worker(lambda ordinal: _started(news, ordinal), log, shown, forked.WHERE)
        except BaseException as error:
            _send(worker.news, "failed device_unavailable " + _why(error, "starting a worker"))
        os._exit(1)


def _memory(data: bytes) -> int:
    """A descriptor of sealed memory that holds `data`."""
    memory = os.memfd_create("troupe-text", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    with open(memory, "wb", closefd=False) as file:
        file.write(data)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK)
    return memory


def _started(news: socket.socket, ordinal: int) -> str:
    """Called once the worker's device is up: a GPU, or -1. Returns the reason if it cannot serve."""
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
    # Makes torch.cuda.is_available(), which modules often call, answer without CUDA: a process
    # that has used CUDA cannot be forked.
    os.environ.setdefault("PYTORCH_NVML_BASED_CUDA_CHECK", "1")
    _core._begin_fork_server()
    faulthandler.enable()  # for crashes during an import
    server = Server(settings["modules"], settings["reload"])
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

    modules = [os.path.abspath(one) if one.endswith(".py") else one for one in sys.argv[1:]]
    worker.main({"modules": modules, "reload": True})
