"""The modules of a fork server: imports them, checks that it can fork, and sees when files change."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
import sysconfig
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from typing import Any

from .. import _core, operations

# Threads of C code that a forked process does without, by how their names begin: jemalloc's, which is
# started again, and the CUDA driver's ("cuda" and a number), seen after an import of torch 2.11. A
# CUDA context cannot be forked; `check` refuses it.
_KNOW_FORKS = ("jemalloc_bg_thd", "cuda0")


class _Notes:
    """A finder that finds nothing; the import system calls it for every import."""

    def __init__(self, hear: Callable[[str], None]) -> None:
        self.hear = hear

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: Any = None
    ) -> ModuleSpec | None:
        self.hear(name)
        return None


class Imports:
    """tell: is called with what is being imported, each time that another import begins."""

    def __init__(self, modules: list[str], tell: Callable[[str], None]) -> None:
        self.modules = modules
        self.tell = tell
        self.module = self.importing = ""  # the module being loaded, and its current import
        self.threads: dict[str, str] = {}  # the import during which each was first seen
        self.files: dict[str, tuple[Any, bytes]] = {}

    def load(self) -> None:
        notes = _Notes(self.note)
        sys.meta_path.insert(0, notes)
        before = set(sys.modules)
        began = time.time_ns()

        def begin(name: str) -> None:
            self.module = name
            self.note(name)

        operations.load(self.modules, begin)
        operations.define_with_functions()  # which may import more
        sys.meta_path.remove(notes)
        self.check()
        self.files = {file: _state(file, began) for file in _own_files(before)}

    def note(self, name: str) -> None:
        self.note_threads()
        # The end of an import is not reported, so the module's own lines may be what takes long.
        last = "" if name == self.module else f", which began {name} last"
        self.importing = self.module + last
        self.tell(self.importing)

    def note_threads(self) -> None:
        for one in os.listdir("/proc/self/task"):
            self.threads.setdefault(one, self.importing)

    def check(self) -> None:
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            raise ImportError(
                f"{self.module} uses CUDA while it is imported, and a process with a CUDA context "
                "cannot be forked: do that in a function with @troupe.on_worker_start"
            )
        self.note_threads()
        left = self.threads_in_forks()
        if left:
            _pause_openmp()
            left = self.threads_in_forks()
        others = {str(one.native_id): one.name for one in threading.enumerate()}
        names = {one: others.get(one) or _thread_name(one) for one in left}
        left = [one for one in left if not names[one].startswith(_KNOW_FORKS)]
        if left:
            where = self.threads.get(left[0], self.importing)
            raise ImportError(
                f"{where}: it starts threads ({', '.join(names[one] for one in left)}), and they are "
                "not in a forked process: start them in a function with "
                "@troupe.on_worker_start"
            )

    @staticmethod
    def threads_in_forks() -> list[str]:
        """The threads that exist at the moment of a fork. A library that handles forks, such as
        OpenBLAS, has ended its own by then, and starts them again."""
        if len(os.listdir("/proc/self/task")) == 1:
            return []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about threads
            pid = os.fork()
        if pid == 0:
            os._exit(0)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)
        return [str(one) for one in _core._threads_at_fork()]

    def have_changed(self) -> bool:
        """True if a file of the user's own modules has changed since its import."""
        for file, (stamp, contents) in self.files.items():
            now = _stamp(file)
            if now != stamp:
                if _contents(file) != contents:
                    return True
                self.files[file] = (now, contents)
        return False


def _own_files(before: set[str]) -> set[str]:
    """The files of the user's modules that were imported since `before`."""
    others = {sysconfig.get_path(kind) for kind in ("stdlib", "platstdlib", "purelib", "platlib")}
    others.add(os.path.dirname(os.path.dirname(__file__)))  # Troupe
    files = {
        getattr(module, "__file__", None)
        for name, module in list(sys.modules.items())
        if name not in before
    }
    return {
        one for one in files if one and not any(one.startswith(other + os.sep) for other in others)
    }


def _stamp(file: str) -> Any:
    try:
        status = os.stat(file)
    except OSError:
        return None
    return (status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def _state(file: str, began: int) -> tuple[Any, bytes]:
    stamp = _stamp(file)
    if stamp is not None and began <= stamp[0] <= time.time_ns():
        return None, b""  # edited meanwhile: which contents were imported is unknown
    return stamp, _contents(file)


def _contents(file: str) -> bytes:
    try:
        with open(file, "rb") as source:
            return importlib.util.source_hash(source.read())
    except OSError:
        return b""


def _thread_name(number: str) -> str:
    """A thread's name. A thread without one has the process's: it is "of C code"."""
    names = []
    for one in (number, str(os.getpid())):
        with contextlib.suppress(OSError), open(f"/proc/self/task/{one}/comm") as file:
            names.append(file.read().strip())
    return names[0] if len(set(names)) == 2 else "of C code"


def _pause_openmp() -> None:
    """Ends the threads of OpenMP's libraries, which start them again when needed. A forked process
    would wait for threads that it does not have."""
    import ctypes

    with open("/proc/self/maps") as file:
        paths = {line.split(maxsplit=5)[-1].rstrip("\n") for line in file}
    hard = 2
    for path in paths:
        if os.path.basename(path).startswith(("libgomp", "libomp", "libiomp")):
            with contextlib.suppress(OSError, AttributeError):
                ctypes.CDLL(path, os.RTLD_NOLOAD | os.RTLD_LAZY).omp_pause_resource_all(hard)
