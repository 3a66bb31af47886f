"""The functions that expressions are made with; those that NumPy has too have its names."""

from __future__ import annotations

from typing import overload

from .._core import Complex, Expression, _apply, _cast, _complex, _source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Operand = Expression | float


def _parts(x: Any) -> tuple[Any, Any]:
    return (x.real, x.imag) if hasattr(x, "imag") else (x, 0)


def absolute(x: Operand | Complex) -> Expression:
    """The magnitude. abs(x) is the same."""
    return abs(x) if isinstance(x, Complex) else _apply("abs", x)


def sign(x: Operand) -> Expression:
    """-1, 0 or 1; of NaN, NaN."""
    return _apply("sign", x)


def ceil(x: Operand) -> Expression:
    """Rounds up."""
    return _apply("ceil", x)


def floor(x: Operand) -> Expression:
    """Rounds down."""
    return _apply("floor", x)


def trunc(x: Operand) -> Expression:
    """Rounds to zero."""
    return _apply("trunc", x)


def rint(x: Operand) -> Expression:
    """Rounds to nearest; halves to even."""
    return _apply("round", x)


def sqrt(x: Operand) -> Expression:
    """The square root."""
    return _apply("sqrt", x)


def rsqrt(x: Operand) -> Expression:
    """1 / sqrt(x)."""
    return _apply("rsqrt", x)


def cbrt(x: Operand) -> Expression:
    """The cube root."""
    return _apply("cbrt", x)


def square(x: Operand) -> Expression:
    """x * x."""
    return _apply("square", x)


def exp(x: Operand) -> Expression:
    """e to the power of x."""
    return _apply("exp", x)


def exp2(x: Operand) -> Expression:
    """2 to the power of x."""
    return _apply("exp2", x)


def expm1(x: Operand) -> Expression:
    """exp(x) - 1, exact near 0."""
    return _apply("expm1", x)


def log(x: Operand) -> Expression:
    """The natural logarithm."""
    return _apply("log", x)


def log2(x: Operand) -> Expression:
    """The logarithm to base 2."""
    return _apply("log2", x)


def log10(x: Operand) -> Expression:
    """The logarithm to base 10."""
    return _apply("log10", x)


def log1p(x: Operand) -> Expression:
    """log(1 + x), exact near 0."""
    return _apply("log1p", x)


def sin(x: Operand) -> Expression:
    """The sine."""
    return _apply("sin", x)


def cos(x: Operand) -> Expression:
    """The cosine."""
    return _apply("cos", x)


def tan(x: Operand) -> Expression:
    """The tangent."""
    return _apply("tan", x)


def arcsin(x: Operand) -> Expression:
    """The inverse of sin."""
    return _apply("asin", x)


def arccos(x: Operand) -> Expression:
    """The inverse of cos."""
    return _apply("acos", x)


def arctan(x: Operand) -> Expression:
    """The inverse of tan."""
    return _apply("atan", x)


def sinh(x: Operand) -> Expression:
    """The hyperbolic sine."""
    return _apply("sinh", x)


def cosh(x: Operand) -> Expression:
    """The hyperbolic cosine."""
    return _apply("cosh", x)


def tanh(x: Operand) -> Expression:
    """The hyperbolic tangent."""
    return _apply("tanh", x)


def arcsinh(x: Operand) -> Expression:
    """The inverse of sinh."""
    return _apply("asinh", x)


def arccosh(x: Operand) -> Expression:
    """The inverse of cosh."""
    return _apply("acosh", x)


def arctanh(x: Operand) -> Expression:
    """The inverse of tanh."""
    return _apply("atanh", x)


def erf(x: Operand) -> Expression:
    """The error function."""
    return _apply("erf", x)


def erfc(x: Operand) -> Expression:
    """1 - erf(x), exact for large x."""
    return _apply("erfc", x)


def lgamma(x: Operand) -> Expression:
    """The logarithm of the gamma function's magnitude."""
    return _apply("lgamma", x)


def tgamma(x: Operand) -> Expression:
    """The gamma function."""
    return _apply("tgamma", x)


def isnan(x: Operand) -> Expression:
    """True for NaN."""
    return _apply("is_nan", x)


def isinf(x: Operand) -> Expression:
    """True for the infinities."""
    return _apply("is_infinite", x)


def sigmoid(x: Operand) -> Expression:
    """1 / (1 + exp(-x))."""
    return _apply("sigmoid", x)


def silu(x: Operand) -> Expression:
    """x * sigmoid(x)."""
    return _apply("silu", x)


def relu(x: Operand) -> Expression:
    """maximum(x, 0)."""
    return _apply("relu", x)


def gelu(x: Operand) -> Expression:
    """x times the normal distribution's Φ(x), by erf."""
    return _apply("gelu", x)


def gelu_tanh(x: Operand) -> Expression:
    """The approximation of gelu by tanh."""
    return _apply("gelu_tanh", x)


def softplus(x: Operand) -> Expression:
    """log(1 + exp(x)), without overflow."""
    return _apply("softplus", x)


def mish(x: Operand) -> Expression:
    """x * tanh(softplus(x))."""
    return _apply("mish", x)


def leaky_relu(x: Operand, slope: Operand) -> Expression:
    """x, or x * slope where x is negative."""
    return _apply("leaky_relu", x, slope)


def elu(x: Operand, alpha: Operand) -> Expression:
    """x, or alpha * (exp(x) - 1) where x is negative."""
    return _apply("elu", x, alpha)


def floor_divide(a: Operand, b: Operand) -> Expression:
    """a // b, rounded down; of integers by zero, 0."""
    return _apply("quotient", a, b)


def remainder(a: Operand, b: Operand) -> Expression:
    """a % b, with the sign of b; of integers by zero, 0."""
    return _apply("remainder", a, b)


def power(a: Operand, b: Operand) -> Expression:
    """a to the power of b."""
    return _apply("power", a, b)


def arctan2(a: Operand, b: Operand) -> Expression:
    """The angle of the point (b, a)."""
    return _apply("atan2", a, b)


def hypot(a: Operand, b: Operand) -> Expression:
    """sqrt(a² + b²), without overflow."""
    return _apply("hypot", a, b)


def copysign(a: Operand, b: Operand) -> Expression:
    """The magnitude of a with the sign of b."""
    return _apply("copysign", a, b)


def minimum(a: Operand, b: Operand) -> Expression:
    """The lesser; NaN if either is."""
    return _apply("minimum", a, b)


def maximum(a: Operand, b: Operand) -> Expression:
    """The greater; NaN if either is."""
    return _apply("maximum", a, b)


def fmin(a: Operand, b: Operand) -> Expression:
    """The lesser; the other one if either is NaN."""
    return _apply("fmin", a, b)


def fmax(a: Operand, b: Operand) -> Expression:
    """The greater; the other one if either is NaN."""
    return _apply("fmax", a, b)


def fma(a: Operand, b: Operand, c: Operand) -> Expression:
    """a * b + c, rounded once."""
    return _apply("fma", a, b, c)


@overload
def where(condition: Operand, a: Operand, b: Operand) -> Expression: ...
@overload
def where(condition: Operand, a: Operand | Complex, b: Complex) -> Complex: ...
@overload
def where(condition: Operand, a: Complex, b: Operand) -> Complex: ...
def where(condition: Operand, a: Operand | Complex, b: Operand | Complex) -> Expression | Complex:
    """a where the condition is true or not zero, else b. Both are computed."""
    if not isinstance(a, Complex) and not isinstance(b, Complex):
        return _apply("select", condition, a, b)
    (x, y), (u, v) = _parts(a), _parts(b)
    return _complex(_apply("select", condition, x, u), _apply("select", condition, y, v))


def clip(x: Operand, least: Operand, most: Operand) -> Expression:
    """x within bounds; NaN stays NaN."""
    return _apply("clip", x, least, most)


def cast(x: Operand, dtype: Any) -> Expression:
    """Rounds to an element type, and computes on in the type that this computes in.

    Float to integer truncates; out of range gives the nearest bound, and NaN gives 0.
    """
    return _cast(x, dtype)


def index(axis_from_last: int = 0) -> Expression:
    """The index along an axis of the result, counted from the last, which is 0."""
    return _source("index", axis_from_last)


def position() -> Expression:
    """The number of the element in row-major order."""
    return _source("position")


def row_length() -> Expression:
    """The number of elements of a row. In device.rows only."""
    return _source("row_length")


@overload
def row_sum(x: Operand) -> Expression: ...
@overload
def row_sum(x: Complex) -> Complex: ...
def row_sum(x: Operand | Complex) -> Expression | Complex:
    """The sum of a row. Of f16, bf16 and fp8 in f32. In device.rows only."""
    if isinstance(x, Complex):
        return _complex(_apply("row_sum", x.real), _apply("row_sum", x.imag))
    return _apply("row_sum", x)


def row_prod(x: Operand) -> Expression:
    """The product of a row. In device.rows only."""
    return _apply("row_product", x)


def row_max(x: Operand) -> Expression:
    """The largest of a row; NaN if there is one. In device.rows only."""
    return _apply("row_maximum", x)


def row_min(x: Operand) -> Expression:
    """The least of a row; NaN if there is one. In device.rows only."""
    return _apply("row_minimum", x)


def row_argmax(x: Operand) -> Expression:
    """The first index of a row's largest, or of its first NaN. In device.rows only."""
    return _apply("row_argmax", x)


def row_argmin(x: Operand) -> Expression:
    """The first index of a row's least, or of its first NaN. In device.rows only."""
    return _apply("row_argmin", x)


def random_bits(seed: Operand, number: Operand) -> Expression:
    """32 random bits as an integer: one number of the Philox stream of a seed."""
    return _apply("philox", number, seed)


def random_uniform(seed: Operand, number: Operand) -> Expression:
    """A random number in (0, 1): random_uniform(seed, position()) has one for each element."""
    return _apply("random_uniform", seed, number)


def random_normal(seed: Operand, number: Operand) -> Expression:
    """A random number with mean 0 and deviation 1."""
    return _apply("random_normal", seed, number)


def complex(real: Operand | Complex, imag: Operand | None = None) -> Complex:
    """A complex number of two parts; or an input with complex elements as one.

    Where a function is traced without tensors, as by troupe.elementwise.function, an input is an
    Expression, and a request whose tensor is complex is refused unless this makes it a Complex.
    """
    return _complex(real, imag)


__all__ = [
    "absolute",
    "arccos",
    "arccosh",
    "arcsin",
    "arcsinh",
    "arctan",
    "arctan2",
    "arctanh",
    "cast",
    "cbrt",
    "ceil",
    "clip",
    "complex",
    "copysign",
    "cos",
    "cosh",
    "elu",
    "erf",
    "erfc",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "floor_divide",
    "fma",
    "fmax",
    "fmin",
    "gelu",
    "gelu_tanh",
    "hypot",
    "index",
    "isinf",
    "isnan",
    "leaky_relu",
    "lgamma",
    "log",
    "log10",
    "log1p",
    "log2",
    "maximum",
    "minimum",
    "mish",
    "position",
    "power",
    "random_bits",
    "random_normal",
    "random_uniform",
    "relu",
    "remainder",
    "rint",
    "row_argmax",
    "row_argmin",
    "row_length",
    "row_max",
    "row_min",
    "row_prod",
    "row_sum",
    "rsqrt",
    "sigmoid",
    "sign",
    "silu",
    "sin",
    "sinh",
    "softplus",
    "sqrt",
    "square",
    "tan",
    "tanh",
    "tgamma",
    "trunc",
    "where",
]
