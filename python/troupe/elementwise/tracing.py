"""From Python functions to programs, and which of them are known already."""

from __future__ import annotations

import builtins
import functools
import opcode
import types
from collections.abc import Callable
from typing import Any

from .._core import Function, _trace
from . import functions as _functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .._core import _Traceable

# Constants that a function refers to: not only the value, but also its attributes never change.
_CONSTANT_MODULES = {"troupe", "troupe.elementwise", "numpy", "math"}
_NUMPY_CONSTANT = ("ufunc", "float", "type", "_DTypeMeta")
# Builtins that reach names which the function's code does not list.
_SEARCHING = {"eval", "exec", "globals", "locals", "vars", "__import__", "input", "open", "id"}
_IMPORT = opcode.opmap["IMPORT_NAME"]
_PLAIN = (int, str, bytes, bool, type(None), Function)
_MOST = 1024

_known: dict[Any, Function] = {}


class _Changeable(Exception):
    """A function refers to what may be another thing when it is called next."""


def function(f: Function | _Traceable, inputs: int | None = None) -> Function:
    """Traces a Python function: calls it once with Expressions, and keeps what it computes.

    An input with complex elements is taken by troupe.elementwise.complex(x). (device.map, rows and
    reduce know the types of their inputs, and call a Python function with a Complex for such ones.)
    It returns an Expression, a number, a Complex, or a tuple of these. inputs: how many Expressions
    it is called with; else as many as it has parameters without default. Also a decorator.
    """
    if isinstance(f, Function):
        return f
    return traced(f, count_of(f) if inputs is None else inputs)


def traced(f: Callable[..., Any], inputs: int, complex_inputs: int = 0) -> Function:
    """The function's program; traced only if it is not known what it would be.

    complex_inputs: a bit for each input that is a Complex.
    """
    try:
        key = (inputs, complex_inputs, _key_of(f))
    except _Changeable:
        return _trace(f, inputs, complex_inputs)
    known = _known.get(key)
    if known is None:
        known = _trace(f, inputs, complex_inputs)
        while len(_known) >= _MOST:
            del _known[next(iter(_known))]
        _known[key] = known
    return known


def count_of(f: Callable[..., Any]) -> int:
    """How many parameters without default it has."""
    import inspect

    one = inspect.Parameter
    needed = 0
    for parameter in inspect.signature(f).parameters.values():
        if parameter.kind is one.VAR_POSITIONAL:
            raise TypeError("a function of *inputs: say how many, as in function(f, inputs=3)")
        if parameter.default is not one.empty or parameter.kind is one.VAR_KEYWORD:
            continue
        if parameter.kind is one.KEYWORD_ONLY:
            raise TypeError(f"inputs are positional; {parameter.name} is a keyword without default")
        needed += 1
    return needed


def _key_of(f: Any, outer: tuple[Any, ...] = ()) -> Any:
    """A key of everything that a Python function's result depends on."""
    if type(f) is not types.FunctionType or f in outer:
        raise _Changeable
    outer = (*outer, f)
    code = f.__code__
    names = _names_of(code)
    cells = []
    for cell in f.__closure__ or ():
        try:
            cells.append(_value_of(cell.cell_contents, outer, names))
        except ValueError:  # assigned later
            raise _Changeable from None
    used = []
    for name in names:
        if name in f.__globals__:
            used.append((name, _value_of(f.__globals__[name], outer, names)))
        elif name in _SEARCHING:
            raise _Changeable
    defaults = [_value_of(one, outer, names) for one in f.__defaults__ or ()]
    keywords = [
        (name, _value_of(one, outer, names))
        for name, one in sorted((f.__kwdefaults__ or {}).items())
    ]
    return (code, tuple(cells), tuple(used), tuple(defaults), tuple(keywords))


@functools.lru_cache(_MOST)
def _names_of(code: types.CodeType) -> tuple[str, ...]:
    """Global names that it may look up, and attributes, which cannot be told apart."""
    if _IMPORT in code.co_code[::2]:
        raise _Changeable
    names = set(code.co_names)
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            names.update(_names_of(one))
    return tuple(sorted(names))


def _check_numpy(numpy: types.ModuleType, names: tuple[str, ...]) -> None:
    """NumPy has what always gives the same, as pi and exp, and what does not, as random."""
    for name in names:
        if type(getattr(numpy, name, 0.0)).__name__ not in _NUMPY_CONSTANT:
            raise _Changeable


def _value_of(value: Any, outer: tuple[Any, ...], names: tuple[str, ...]) -> Any:
    """Equal for equal values of one type, as 1, 1.0 and True are not."""
    kind = type(value)
    if kind is float:
        return (kind, value.hex())
    if kind in _PLAIN:
        return (kind, value)
    if kind is tuple:
        return (kind, tuple(_value_of(one, outer, names) for one in value))
    if kind is types.ModuleType and value.__name__ in _CONSTANT_MODULES:
        if value.__name__ == "numpy":
            _check_numpy(value, names)
        return value
    if kind.__name__ == "ufunc" and kind.__module__ == "numpy":
        return value
    if kind is types.BuiltinFunctionType and value.__module__ in ("builtins", "math"):
        return value
    if kind is types.FunctionType and value.__module__ == _functions.__name__:
        return value
    if kind is type and value.__module__ == "builtins" and hasattr(builtins, value.__name__):
        return value
    return _key_of(value, outer)
