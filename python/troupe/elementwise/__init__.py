"""Your own functions of elements, which a device runs in one pass over memory.

    import troupe.elementwise as ew

    swish = ew.function(lambda x, b: ew.silu(x + b))   # traced once, to a small program
    y = gpu.map(swish, x, b).result()                  # or await; x and b are broadcast
    g = gpu.map(swish.derivative(0), x, b)             # by x

    softmax = ew.function(lambda x: ew.exp(x - ew.row_max(x)))
    p = gpu.rows(lambda x: (e := softmax(x)) / ew.row_sum(e), x, axis=-1)

A function is called once, with `Expression`s in place of elements. What it does with them becomes
a program; nothing of Python runs on the device. It has no types of its own: it computes in f32 for
f16, bf16, f32 and fp8, in f64 for f64, in i64 for integers, and rounds once, when it stores.
"""

from .._core import Complex, Expression, Function
from .functions import *
from .functions import __all__ as _functions
from .numpy_functions import array_ufunc as _array_ufunc
from .tracing import function

Expression.__array_ufunc__ = _array_ufunc

__all__ = ["Complex", "Expression", "Function", "function"]
__all__ += _functions
