"""Operations written in Python: `@troupe.operation`, and the roles of their arguments.

    import numpy as np, troupe

    @troupe.operation("vision.scale")
    def scale(x: troupe.Reads("n"), y: troupe.Writes("n", like="x"), *, factor: float = 1.0) -> None:
        np.multiply(x, factor, out=y)

A device runs them in its workers: `system.device(0, operations=["model"])`, where model is the
module with these lines; then `gpu.vision.scale(x=tensor, factor=2.0)`.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import keyword
import pathlib
import re
import sys
import types
import typing
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from . import _core

Function = TypeVar("Function", bound=Callable[..., Any])

_ARRAYS = (None, "numpy", "torch", "cupy")
_OPTIONS = ("deadline", "run_limit", "quarantine", "tag")


class Role:
    """How an operation uses a tensor, with its shape and element types, as far as it declares them.

    shape: for each dimension a number, the name of a symbol ("n"), a scaled one ("2*n", "n/2+1"),
    or `...` for any number of dimensions. A symbol is the same number throughout a request. Without
    a shape the tensor may have any. dtype: one name or several; like: another tensor, which has the
    same type.
    """

    role = "read"
    many = False

    def __init__(
        self,
        *shape: int | str | types.EllipsisType,
        dtype: Any = None,
        like: str | None = None,
        text: str = "",
    ) -> None:
        if dtype is not None and like is not None:
            raise TypeError("an argument has a dtype of its own, or is like another; not both")
        names = [dtype] if dtype is None or not isinstance(dtype, (list, tuple)) else list(dtype)
        self.dtypes = None if dtype is None else [_core._dtype_name(one) for one in names]
        self.like = like
        self.shape = [_extent(one) for one in shape] if shape else None
        self.text = text

    def field(self, name: str) -> dict[str, Any]:
        """The argument of this name in the description of an operation."""
        return {
            "name": name,
            "kind": "tensors" if self.many else "tensor",
            "role": self.role,
            "shape": self.shape,
            "dtypes": self.dtypes,
            "like": self.like,
            "text": self.text,
        }


class Reads(Role):
    """A tensor that the operation reads."""


class Writes(Role):
    """A tensor that the operation overwrites, all of it. Left out of a call, it is allocated."""

    role = "write"


class Updates(Role):
    """A tensor that the operation reads and changes."""

    role = "update"


class ReadsMany(Role):
    """A list of tensors that the operation reads, or a set that was bound (`device.bind`)."""

    many = True


_EXTENT = re.compile(r"(?:(\d+)\*)?([A-Za-z_]\w*)(?:/(\d+))?(?:\+(\d+))?")


def _extent(one: Any) -> Any:
    if one is ...:
        return {"symbol": "..."}
    if isinstance(one, int) and not isinstance(one, bool):
        return one
    found = _EXTENT.fullmatch(one.replace(" ", "")) if isinstance(one, str) else None
    if found is None:
        raise TypeError(
            f"an extent is a number, '...' or such as 'n', '2*n', 'n/2+1'; it is {one!r}"
        )
    times, symbol, over, plus = found.groups()
    return {
        "symbol": symbol,
        "times": int(times or 1),
        "over": int(over or 1),
        "plus": int(plus or 0),
    }


# Kinds of plain values: their names here and in descriptions, and their missing value.
_VALUES: dict[Any, tuple[str, Any]] = {
    bool: ("bool", False),
    int: ("integer", 0),
    float: ("real", 0.0),
    complex: ("scalar", 0),
    str: ("text", ""),
}
_ITEMS: dict[Any, tuple[str, Any]] = {int: ("integers", []), float: ("scalars", [])}


class PythonOperation:
    """A function that is an operation."""

    def __init__(self, name: str, function: Callable[..., Any], arrays: str | None) -> None:
        self.name = name
        self.function = function
        self.arrays = arrays
        self.spec = _describe(name, function)


_registered: dict[str, PythonOperation] = {}
_started: list[Callable[[], Any]] = []


def operation(name: str, *, arrays: str | None = None) -> Callable[[Function], Function]:
    """Makes a function an operation, `library.name`. The function itself stays as it is.

    Its parameters say by annotations what they are: Reads, Writes, Updates, ReadsMany for tensors
    (the class, an instance with shape and dtype, or typing.Annotated with one), and bool, int,
    float, complex, str, list[int], list[float] or Literal for values.

    arrays: what the function gets for a tensor: "torch" or "cupy" for arrays of these, by default
    those of NumPy on the CPU, and on a GPU objects that torch.from_dlpack and cupy.asarray take.

    What it returns is the answer, if it can be pickled; where it returns nothing, or is annotated
    with `-> None`, the answer is the tensors that it writes.
    """
    if not re.fullmatch(r"[a-z_]\w*\.[a-z_]\w*", name):
        raise ValueError(f"an operation's name is such as 'vision.embed'; it is {name!r}")
    library = name.partition(".")[0]
    if library in _core._own_libraries():
        raise ValueError(f"{name}: {library} is a library of Troupe's own; choose another name")
    if hasattr(_core.Device, library):
        raise ValueError(
            f"{name}: a device has something else called {library}; choose another name"
        )
    if arrays not in _ARRAYS:
        raise ValueError(f"arrays must be 'numpy', 'torch' or 'cupy'; it is {arrays!r}")

    def register(function: Function) -> Function:
        before = _registered.get(name)
        if before is not None and before.function.__module__ != function.__module__:
            raise ValueError(
                f"{name} is an operation of {before.function.__module__} already; "
                f"{function.__module__} defines another"
            )
        _registered[name] = PythonOperation(name, function, arrays)
        return function

    return register


def on_worker_start(function: Callable[[], Any]) -> Callable[[], Any]:
    """Has a function called in each worker when it starts, after it has been forked.

    Here belongs what a forked process must make for itself: a CUDA context, threads, connections; and
    a first run of the model, so that a worker which takes over has all loaded.
    """
    _started.append(function)
    return function


def _describe(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise TypeError(f"{name}: an operation is a plain function, no coroutine or generator")
    signature = inspect.signature(function, eval_str=True)
    fields = [_field(name, one) for one in signature.parameters.values()]
    summary = (inspect.getdoc(function) or "").strip().split("\n", 1)[0]
    return {
        "name": name,
        "about": summary or f"Calls {function.__module__}.{function.__qualname__}.",
        "fields": fields,
        "replies": signature.return_annotation not in (None, types.NoneType),
    }


def _field(operation: str, parameter: inspect.Parameter) -> dict[str, Any]:
    name, annotation = parameter.name, parameter.annotation
    where = f"{operation}: {name}"
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise TypeError(f"{where} must be a parameter that can be given by name")
    if name in _OPTIONS or keyword.iskeyword(name):
        raise TypeError(f"{where} is the name of an option of every request; choose another")
    for one in typing.get_args(annotation) if typing.get_origin(annotation) else ():
        if isinstance(one, Role) or (isinstance(one, type) and issubclass(one, Role)):
            annotation = one
    if isinstance(annotation, type) and issubclass(annotation, Role):
        annotation = annotation()
    if isinstance(annotation, Role):
        if parameter.default is not parameter.empty:
            raise TypeError(f"{where} is a tensor, which has no default")
        return annotation.field(name)
    return _value(where, parameter, annotation)


def _value(where: str, parameter: inspect.Parameter, annotation: Any) -> dict[str, Any]:
    default = parameter.default
    required = default is parameter.empty
    field: dict[str, Any] = {"name": parameter.name, "required": required, "text": ""}
    origin, items = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is parameter.empty and not required:
        annotation = type(default)
    if origin is typing.Literal and all(isinstance(one, str) for one in items):
        first = items[0] if required else default
        # The default is the first.
        names = [first, *(one for one in items if one != first)]
        return {**field, "kind": "enumeration", "enumerators": names, "default": first}
    kind = _VALUES.get(annotation)
    if kind is None and origin in (list, Sequence, tuple) and items:
        kind = _ITEMS.get(items[0])
    if kind is None:
        raise TypeError(
            f"{where} must be annotated with a role (troupe.Reads, Writes, Updates, ReadsMany), bool, "
            f"int, float, complex, str, list[int], list[float] or Literal of strings; it is "
            f"{'not annotated' if annotation is parameter.empty else annotation!r}"
        )
    if not required and not _fits(annotation, default):
        raise TypeError(f"{where}: the default must be of its type; it is {default!r}")
    value = kind[1] if required else default
    if kind[0] == "real":
        value = float(value)
    elif kind[0] == "scalar":
        value = [complex(value).real, complex(value).imag]
    elif isinstance(value, tuple):
        value = list(value)
    return {**field, "kind": kind[0], "default": value}


def _fits(kind: Any, default: Any) -> bool:
    if isinstance(default, bool) or kind in (bool, str):
        return isinstance(default, kind) if isinstance(kind, type) else False
    numbers: dict[Any, Any] = {int: int, float: (int, float), complex: (int, float, complex)}
    return isinstance(default, numbers.get(kind, (list, tuple)))


# Modules ----------------------------------------------------------------------------------------


def load(names: Iterable[str], note: Callable[[str], None] = lambda _: None) -> None:
    """Imports modules with operations, given by name or as the path of a .py file."""
    for name in names:
        note(name)
        if name.endswith(".py"):
            _load_file(pathlib.Path(name))
        else:
            importlib.import_module(name)


def _load_file(path: pathlib.Path) -> None:
    # A script's folder is on the path too: the file may import its neighbours.
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    # A name of the standard library, or of another file, is not taken over.
    name = path.stem
    there = sys.modules.get(name)
    if there is not None and getattr(there, "__file__", None) == str(path):
        return
    if there is not None or name in sys.stdlib_module_names:
        name = str(path)
        if name in sys.modules:
            return
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)


def description() -> str:
    """All that are registered, for the program."""
    return json.dumps([one.spec for one in _registered.values()])


def check_known(text: str) -> None:
    """Raises if an operation that the program knows no longer exists or takes other arguments: an
    edit is unfinished, or is meant for the next program."""
    here = {spec["name"]: spec for spec in json.loads(description())}
    for spec in json.loads(text):
        name = spec["name"]
        if name not in here or _differ(here[name], spec):
            what = "has other arguments now" if name in here else "no longer exists"
            raise ImportError(f"{name} {what}; restart the program to use the edit")


def _differ(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return any(one[what] != other[what] for what in ("fields", "replies"))


_defined: dict[str, Any] = {}


def define(text: str) -> None:
    """Makes the requests of operations that a worker has, in a program that only asks for them."""
    for spec in json.loads(text):
        name = spec["name"]
        known = _defined.get(name)
        if known is None:
            _core._define_operation(spec, None, None, None)
            _defined[name] = spec
        elif _differ(known, spec):
            raise ValueError(
                f"{name} is in this program already, with other arguments: as another device has "
                "it, or from before its module was edited. Choose another name, or start the "
                "program anew"
            )


def define_with_functions() -> None:
    """Makes the requests of all that are registered, and their functions run here."""
    from . import streams

    for one in _registered.values():
        _core._define_operation(
            one.spec, one.function, streams.converter(one.arrays), streams.on_stream
        )


def run_started() -> None:
    """Calls what was registered by `on_worker_start`."""
    for one in _started:
        one()
