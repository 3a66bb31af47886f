"""How a device's fork server is started: a command and an environment. Imports little."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_TITLE = 48  # characters, as src/worker/process/process_title.cpp has them

# `python -m troupe.worker`, where the program's own path finds Troupe. Nothing is imported from the
# current folder before that is set (-P).
_PROGRAM = (
    "import json, sys; settings = json.loads(sys.argv[1]); sys.path[:] = settings['path']; "
    "from troupe.worker import main; main(settings)"
)


def modules(operations: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The modules that a device is to have, as names or absolute paths of files."""
    is_one = isinstance(operations, (str, os.PathLike)) or not hasattr(operations, "__iter__")
    given: list[Any] = [operations] if is_one else list(operations)  # type: ignore[arg-type]
    names = []
    for one in given:
        if not isinstance(one, (str, os.PathLike)):
            raise TypeError(f"operations: {_no_module(one)}")
        name = os.fspath(one)
        if name == "__main__":
            raise ValueError(
                "operations: workers import modules, and __main__ is none: a script gives its "
                "__file__ and makes devices under `if __name__ == '__main__':`; functions of a "
                "notebook are written to a file first (%%writefile model.py)"
            )
        if name.endswith(".py"):
            name = os.path.abspath(name)
            if not os.path.exists(name):
                raise FileNotFoundError(f"operations: there is no file {name}")
        names.append(name)
    if not names:
        raise ValueError("operations: no module is named")
    return names


def _no_module(given: object) -> str:
    """Why something is no module to import, and what to give instead."""
    import types

    wants = "workers import modules, which are given by name or as the path of a .py file"
    if isinstance(given, types.ModuleType):
        return f"{wants}; give the name of this one: operations=[{given.__name__!r}]"
    if not callable(given):
        return f"{wants}; it is {given!r}"
    name = getattr(given, "__qualname__", repr(given))
    module = getattr(given, "__module__", None)
    where = "[__file__]" if module == "__main__" else f"[{module!r}]"
    return (
        f"{wants}; {name} is a function: decorate it with @troupe.operation('library.{name}') and "
        f"give its module, operations={where}"
    )


def paths(what: str, given: object) -> list[str]:
    """A path, or several."""
    many: object = [given] if isinstance(given, (str, bytes, os.PathLike)) else given
    try:
        return [os.fsdecode(one) for one in many]  # type: ignore[attr-defined]
    except TypeError:
        raise TypeError(f"{what} must be a path, or a list of paths; it is {given!r}") from None


def command(names: list[str], reload: bool) -> list[str]:
    import json
    import subprocess

    # Flags such as -O, -X or -W, as multiprocessing passes them on.
    flags = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    path = [os.path.abspath(one) for one in sys.path]
    settings = json.dumps({"path": path, "modules": names, "reload": reload})
    # The last argument is what `ps` shows; each worker that is forked rewrites its own.
    return [sys.executable, "-P", *flags, "-c", _PROGRAM, settings, f"{'[fork server]':{_TITLE}}"]


def environment() -> list[bytes]:
    """A copy, because the program may change its own while a worker starts."""
    return [name + b"=" + value for name, value in os.environb.items()]
