"""The setting up of a worker that was forked, before it serves."""

from __future__ import annotations

import faulthandler
import fcntl
import io
import os
import signal
import sys
import threading

WHERE = signal.SIGRTMAX - 4  # makes a worker print its stack


def prepare(log: int) -> int:
    """Sets up a worker before it serves. Returns the descriptor for its stderr.

    Python's output goes there at once; that of C code goes to the log first. So output at the
    worker's end, such as an assertion of a kernel, becomes part of the error.
    """
    shown = os.dup(2)
    for stream in (sys.stderr, sys.__stderr__):
        buffer = getattr(stream, "buffer", None)
        raw = getattr(buffer, "raw", buffer)
        if isinstance(raw, io.FileIO) and raw.fileno() == 2:
            raw.__init__(shown, "wb", closefd=False)  # type: ignore[misc]  # its holders keep it
    fcntl.fcntl(log, fcntl.F_SETFL, fcntl.fcntl(log, fcntl.F_GETFL) | os.O_APPEND)
    os.dup2(log, 2)
    faulthandler.enable(log, all_threads=False)
    faulthandler.register(WHERE, log, all_threads=True, chain=False)
    _give_children_signals()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(line_buffering=True)
    try:  # if the system runs out of memory, it must kill a worker, not the program
        with open("/proc/self/oom_score_adj", "r+") as file:
            score = int(file.read())
            file.seek(0)
            file.write(str(min(score + 500, 1000)))
    except OSError:
        pass
    return shown


def _give_children_signals() -> None:
    """Gives a process that an operation forks the default handling of signals, which a worker
    ignores. A signal that arrives during the fork waits."""
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
