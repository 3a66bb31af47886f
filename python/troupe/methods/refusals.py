"""What tensors and futures refuse, and what to call instead.

A tensor's elements are in a device's memory, and requests compute. Operators of Python would hide
that each is a request; worse are those that Python answers itself, such as == and bool().
"""

from __future__ import annotations

from .._core import Device, Future, Library, MappedTensor, Operation, System, Tensor, _ActorRef

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

_BINARY = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "matmul": "@", "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
_UNARY = {"neg": "-x", "pos": "+x", "invert": "~x", "abs": "abs(x)"}
_CONVERSIONS = {"float": "float()", "int": "int()", "complex": "complex()", "round": "round()"}


def _refuse(self: Any, advice: str) -> NoReturn:
    kind = type(self).__name__
    if isinstance(self, Future) and self._written is None:
        raise TypeError(
            f"a {kind} has no operators: await it, or wait with result(), and use what it answers"
        )
    raise TypeError(f"a {kind} has no operators: {advice}")


def _mapped(computed: str, inputs: str) -> str:
    return f"device.map(lambda {inputs}: {computed}, {inputs}) computes {computed} for each element"


def _is_numpys_number(one: object) -> bool:
    return hasattr(one, "__array_interface__") and not hasattr(one, "__setitem__")


def _binary(symbol: str, reflected: bool) -> Callable[[Any, object], Any]:
    def refuse(self: Any, other: object) -> Any:
        is_number = isinstance(other, (int, float, complex)) or _is_numpys_number(other)
        names = ["x", str(other) if is_number else "y"]
        if reflected:
            names = [names[1], "x"] if is_number else ["y", "x"]
        left, right = names
        if symbol == "@":
            _refuse(self, f"device.blas.gemm(a={left}, b={right}) multiplies matrices")
        _refuse(self, _mapped(f"{left} {symbol} {right}", "x" if is_number else "x, y"))

    return refuse


def _equality(symbol: str) -> Callable[[Any, object], Any]:
    compare = _binary(symbol, False)

    def refuse(self: Any, other: object) -> Any:
        # Futures are kept in lists and sets, as those of asyncio are.
        if isinstance(self, Future) and isinstance(other, Future):
            return (self is other) == (symbol == "==")
        if other is None:
            raise TypeError(f"a {type(self).__name__} is not compared with None: `is None` tells")
        return compare(self, other)

    return refuse


def _unary(computed: str) -> Callable[[Any], Any]:
    return lambda self: _refuse(self, _mapped(computed, "x"))


def _conversion(name: str) -> Callable[..., Any]:
    def refuse(self: Any, *_: object) -> Any:
        kind = type(self).__name__
        raise TypeError(
            f"{name} does not take a {kind}: item() waits for it and copies its only element out"
        )

    return refuse


def _no_truth(self: Any) -> bool:
    if isinstance(self, Future):
        raise TypeError(
            "a Future has no truth value: await it, or wait with result(); done() and `is None` "
            "tell of the Future itself"
        )
    raise TypeError(
        "a Tensor has no truth value: device.reduce('any', x) and device.reduce('all', x) compute "
        "one, and item() waits for it"
    )


def _no_membership(self: Any, item: object) -> bool:
    _refuse(self, "`in` compares each element: numpy() copies them out")


def _no_assignment(self: Any, index: object, value: object) -> None:
    raise TypeError(
        f"a {type(self).__name__} is not assigned to: device.copy(array, x[index]) and "
        "device.memory.fill(to=x[index], value=...) write there"
    )


def _no_dlpack(self: Any, *_: object, **__: object) -> Any:
    raise TypeError(
        f"a {type(self).__name__} is in a device's memory, which requests write: "
        "from_dlpack(x.mapped()) shows it in place until unmap(), and x.numpy() copies it"
    )


# Why an object is not pickled, or copied by the module `copy`, and what is.
_UNPICKLED = {
    Tensor: "it is memory of a device: numpy() copies its elements out, and device.tensor(array) "
    "back to a device; device.tensor(tensor) copies it there",
    MappedTensor: "it shows memory of a device: numpy() has its elements",
    Future: "it waits for an answer in this process: pickle what result() returns; of a tensor, "
    "what numpy() does",
    Device: "its workers belong to this process: another process makes a System of its own",
    Library: "its device belongs to this process: another process makes a System of its own",
    Operation: "its device belongs to this process: another process makes a System of its own",
    System: "its devices and actors belong to this process: another process makes its own",
    _ActorRef: "the actor belongs to this process: send what it answers",
}


def _no_pickle(self: Any, protocol: object = None) -> Any:
    why = next(text for kind, text in _UNPICKLED.items() if isinstance(self, kind))
    name = type(self).__name__.lstrip("_")
    raise TypeError(f"{'an' if name[0] in 'AO' else 'a'} {name} cannot be pickled: {why}")


def missing_attribute(self: Tensor, name: str) -> Any:
    """For `Tensor.__getattr__`."""
    end = ""
    if not name.startswith("_"):
        from .suggestions import computes, did_you_mean

        advice = computes(name)
        end = f": {advice}" if advice else did_you_mean(name, dir(Tensor))
    raise AttributeError(f"a Tensor has no {name!r}{end}")


def install() -> None:
    """Gives the classes these methods."""
    methods: dict[str, Any] = {
        **{name: _binary(symbol, False) for name, symbol in (_BINARY | _COMPARISONS).items()},
        **{f"r{name}": _binary(symbol, True) for name, symbol in _BINARY.items()},
        **{name: _equality(_COMPARISONS[name]) for name in ("eq", "ne")},
        **{name: _unary(computed) for name, computed in _UNARY.items()},
        **{name: _conversion(shown) for name, shown in _CONVERSIONS.items()},
        "bool": _no_truth,
        "contains": _no_membership,
        "setitem": _no_assignment,
        "dlpack": _no_dlpack,
        "dlpack_device": _no_dlpack,
        # Arrays and numbers of NumPy leave their operators to these, and do not copy the tensor.
        "array_priority": 1000.0,
    }
    for kind in (Tensor, Future):
        for name, method in methods.items():
            setattr(kind, f"__{name}__", method)
    for unpickled in _UNPICKLED:
        unpickled.__reduce_ex__ = _no_pickle  # type: ignore[method-assign]
