"""What a wrong name probably means: a near name, or what computes the same here."""

from __future__ import annotations

from .._core import _aliases, libraries, requests

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Names that users of torch or NumPy try first, and ours.
_INSTEAD = {
    "cpu": "numpy() copies its elements out",
    "cuda": "device.tensor(array) copies an array to a device",
    "to": "numpy() copies its elements out, device.tensor(tensor, dtype) converts them",
    "astype": "device.tensor(tensor, dtype) converts it",
    "type": "dtype is its element type, device.tensor(tensor, dtype) converts it",
    "float": "device.tensor(tensor, 'f32') converts it",
    "double": "device.tensor(tensor, 'f64') converts it",
    "half": "device.tensor(tensor, 'f16') converts it",
    "detach": "it has no gradient",
    "backward": "it has no gradient",
    "grad": "it has no gradient",
    "device": "repr() says where it is",
    "view": "reshape() makes a view of packed elements",
    "flatten": "reshape(-1) makes a view of packed elements",
    "ravel": "reshape(-1) makes a view of packed elements",
    "squeeze": "reshape() makes a view in another shape",
    "unsqueeze": "reshape() makes a view in another shape",
    "numel": "size is the number of its elements",
    "dim": "ndim is the number of its dimensions",
    "clone": "device.tensor(tensor) copies it",
    "copy": "device.tensor(tensor) copies it",
    "copy_": "device.copy(source, tensor) copies into it",
    "fill": "device.memory.fill(to=tensor, value=...) fills it",
    "fill_": "device.memory.fill(to=tensor, value=...) fills it",
    "zero_": "device.memory.fill(to=tensor, value=0) fills it",
    "mm": "device.blas.gemm(a=x, b=y) multiplies matrices",
    "matmul": "device.blas.gemm(a=x, b=y) multiplies matrices",
    "dot": "device.blas.dot(x=x, y=y) computes it",
    "std": "device.rows computes what troupe.elementwise's row operations make",
    "var": "device.rows computes what troupe.elementwise's row operations make",
}
_REDUCTIONS = (
    "sum", "product", "minimum", "maximum", "argmin", "argmax", "mean", "any", "all",
)  # fmt: skip
# Of torch, NumPy's or Python's own names, and those of `troupe.elementwise`.
_FUNCTIONS = {"abs": "absolute", "clamp": "clip", "pow": "power", "round": "rint"}


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of a message: a question, if known names are near. Of very near ones up to three."""
    import difflib

    by_lower = {one.lower(): one for one in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.75)
    found = found or difflib.get_close_matches(name.lower(), by_lower, n=1)
    names = [repr(by_lower[one]) for one in found]
    last = names.pop() if names else ""
    return f"; did you mean {', '.join(names)}{' or ' if names else ''}{last}?" if last else ""


def for_device(name: str, known: Iterable[str]) -> str:
    """The same for an attribute of a device: one of its own, or a request of a library."""
    there = [one for one in requests() if one.partition(".")[2] == name]
    if there:
        return f"; did you mean device.{there[0]}?"
    return did_you_mean(name, known)


def for_request(name: str, known: Iterable[str]) -> str:
    """The same for a request of a library: this name in another one, or near names in it."""
    there = [one for one in libraries() if f"{one}.{name}" in requests(one)]
    return f"; did you mean device.{there[0]}.{name}?" if there else did_you_mean(name, known)


def computes(name: str) -> str:
    """For a method that arrays have elsewhere: what computes it here. Empty if nothing does."""
    if name in _INSTEAD:
        return _INSTEAD[name]
    reduction = _aliases.get(name, name)
    if reduction in _REDUCTIONS:
        return f"device.reduce({reduction!r}, tensor) computes it"
    from ..elementwise import functions

    function = _FUNCTIONS.get(name, name)
    if function in functions.__all__:
        return f"device.map(troupe.elementwise.{function}, tensor) computes it"
    there = [one for one in requests() if one.partition(".")[2] == name]
    return f"device.{there[0]} computes it" if there else ""
