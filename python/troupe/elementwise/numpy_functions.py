"""NumPy's functions applied to Expressions: `np.exp(x)` is `ew.exp(x)`."""

from __future__ import annotations

import operator
from typing import Any

from . import functions

# NumPy's functions that are operators in Python.
_OPERATORS = {
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": operator.truediv,
    "power": operator.pow,
    "negative": operator.neg,
    "positive": operator.pos,
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "bitwise_and": operator.and_,
    "bitwise_or": operator.or_,
    "bitwise_xor": operator.xor,
    "invert": operator.invert,
    "left_shift": operator.lshift,
    "right_shift": operator.rshift,
}


def array_ufunc(self: Any, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
    """NumPy's protocol; numbers of NumPy on the left of an operator come here as well."""
    name = ufunc.__name__
    known = name in _OPERATORS or name in functions.__all__
    if method != "__call__" or options or not known:
        raise TypeError(
            f"numpy.{name} is no function of Expressions; those are in troupe.elementwise"
        )
    # These would come back here: a number of NumPy's, and an array, which no function takes.
    inputs = tuple(one.item() if getattr(one, "shape", None) == () else one for one in inputs)
    for one in inputs:
        if hasattr(one, "shape"):
            raise TypeError(
                f"numpy.{name} takes Expressions and numbers here; this is a "
                f"{type(one).__name__}: pass it to the function as an input"
            )
    apply: Any = _OPERATORS.get(name) or getattr(functions, name)
    return apply(*inputs)
