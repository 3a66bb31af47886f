"""The parts of Future that are written in Python: what stands for a result before it is there."""

from __future__ import annotations

from .._core import Future, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# Attributes of a tensor: those that are known at once, and those that are views of it.
_KNOWN = ("shape", "strides", "dtype", "ndim", "size", "nbytes", "in_host_memory")
_VIEWS = ("reshape", "permute", "transpose")


def attribute(self: Future[Any], name: str) -> Any:
    """A result by its name, or what a tensor has: shape and type, and views, as futures."""
    if not name.startswith("_"):
        written, names = self._written, self._names
        if name in names:
            one = written[names.index(name)] if isinstance(written, tuple) else written
            return self._part(one)
        if isinstance(written, Tensor):
            if name in _KNOWN:
                return getattr(written, name)
            if name == "T":
                return self._part(written.T)
            if name in _VIEWS:
                view = getattr(written, name)
                return lambda *args, **kwargs: self._part(view(*args, **kwargs))
        raise AttributeError(f"a Future has no {name!r}{_advice(name, written, names)}")
    raise AttributeError(f"a Future has no '{name}'")


def _advice(name: str, written: Any, names: tuple[str, ...]) -> str:
    from .suggestions import computes

    advice = computes(name) if isinstance(written, Tensor) else ""
    if advice:
        return f": {advice}"
    results = f": its results are {', '.join(names)}" if names else ""
    return f"{results}; await it, or wait with result()"


def item(self: Future[Any], index: Any) -> Future[Any]:
    """The same of the result: one of several, or a view of a tensor."""
    written = self._written
    if written is None:
        raise TypeError(
            "this Future stands for no tensor that is there yet: await it, or wait with result()"
        )
    return self._part(written[index])


def parts(self: Future[Any]) -> Iterator[Future[Any]]:
    """Futures of the parts of the result: of several results, or of a tensor along its first axis."""
    count = len(self._written) if self._written is not None else 1  # `item` refuses it
    for index in range(count):
        yield item(self, index)


def numpy(self: Future[Any]) -> Any:
    """Waits for the result, a tensor, and copies its elements to a new NumPy array."""
    return self.result().numpy()


def as_array(self: Future[Any], dtype: Any = None, copy: bool | None = None) -> Any:
    return self.result().__array__(dtype, copy)


def tolist(self: Future[Any]) -> Any:
    """Waits for the result, a tensor, and returns its elements as nested lists."""
    return self.result().tolist()


def value(self: Future[Any]) -> Any:
    """Waits for the result, a tensor, and returns its only element."""
    return self.result().item()


def mapped(self: Future[Any], *args: Any, **kwargs: Any) -> Any:
    """Waits for the result, a tensor, and maps it: see Tensor.mapped."""
    return self.result().mapped(*args, **kwargs)
