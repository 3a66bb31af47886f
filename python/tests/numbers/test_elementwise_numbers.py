"""Numbers that functions of one's own must not lose: u64, f64, complex ones, what is far out."""

import math

import numpy as np
import pytest
import troupe
import troupe.elementwise as ew

TYPES = ["f64", "f32", "f16", "bf16"]


U64 = np.array([2**63 + 5, 2**64 - 1, 7, 0, 2**63, 2**53 + 1], "u8")
OF_U64 = {
    "quotient": lambda x: x // 2,
    "remainder": lambda x: x % 7,
    "sum": lambda x: x * 3 - 1,
    "maximum": lambda x: np.maximum(x, 9),
    "choice": lambda x: (np if isinstance(x, np.ndarray) else ew).where(x > 2**53, x, 1),
    "order": lambda x: x > 2**63,
    "shift": lambda x: x >> 3,
}


@pytest.mark.parametrize("name", OF_U64)
def test_u64_has_no_sign(gpu, name):
    y = gpu.map(OF_U64[name], gpu.tensor(U64)).result().numpy()
    expected = OF_U64[name](U64)
    assert y.dtype == expected.dtype
    np.testing.assert_array_equal(y, expected)


def test_u64_as_reals_and_beside_signed_integers(gpu):
    x, i = gpu.tensor(U64), gpu.zeros(6, "i32")
    for dtype in ("f8", "f4"):
        y = gpu.map(lambda x: x, x, dtype=dtype).result()
        np.testing.assert_array_equal(y.numpy(), U64.astype(dtype))
    np.testing.assert_array_equal(gpu.map(lambda x: x * 0.5, x, dtype="f64").result(), U64.astype("f4") * np.float32(0.5))  # fmt: skip
    for f in (lambda x, i: x + i, lambda x, i: x > i, lambda x, i: ew.maximum(x, -1)):
        with pytest.raises(troupe.TypeMismatch, match="u64 and integers that may be negative"):
            gpu.map(f, x, i)
    assert gpu.map(lambda x, i: x + ew.cast(i - 1, "u64"), x, i).result().tolist()[2] == 6


@pytest.mark.parametrize("dtype", ["f8", "f4", "f2"])
def test_quotient_and_remainder_agree(gpu, dtype):
    a = np.array([1, 0.3, 6, -1, 1e4, 4.35, -0.1, 0, -7.5, 3, -3, 1], dtype)
    b = np.array([0.1, 0.1, 0.1, 0.1, 0.7, 0.01, 1, 3, 2.5, np.inf, np.inf, 0], dtype)
    q, r = gpu.map(lambda a, b: (a // b, a % b), gpu.tensor(a), gpu.tensor(b)).result()
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(q.numpy(), np.floor_divide(a, b))
        np.testing.assert_array_equal(r.numpy(), np.mod(a, b))


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (lambda v: ew.where(v > 0, 0.1, 0.2), 0.1),
        (lambda v: v * (ew.where(v > 1, 3, 1) * 0.1), [0.1, 6 * 0.1]),
        (lambda v: (v > 0) / 3 + ew.index() * 0.1, [1 / 3, 1 / 3 + 0.1]),
        (ew.function(lambda v: ew.relu(v / 3)).derivative(), 1 / 3),
        (ew.function(lambda v: ew.leaky_relu(-v, 0.1)).derivative(), -0.1),
        (ew.function(lambda v: ew.clip(v / 3, 0, 5)).derivative(), 1 / 3),
        (ew.function(lambda v: v * ew.clip(v + 3, 0, 6) / 6).derivative(), [5 / 6, 7 / 6]),
        (ew.function(lambda v: ew.where(v > 0, ew.maximum(v * 0.1, 0), 0.3)).derivative(), 0.1),
    ],
)
def test_constants_have_all_digits_of_f64(gpu, f, expected):
    y = gpu.map(f, gpu.tensor([1.0, 2.0], "f64")).result()
    assert y.dtype == "f64"
    np.testing.assert_allclose(y.numpy(), np.broadcast_to(expected, 2), rtol=3e-16)
    ones = gpu.tensor(np.ones((1, 3)))
    assert gpu.rows(lambda v: ew.row_sum(v) * (1 / ew.row_length()), ones).result().item() == 1


def test_complex_inputs_are_complex(gpu):
    a = np.array([3 + 4j, 1 - 2j, 0])
    x = gpu.tensor(a)
    for f, expected in (
        (abs, abs(a)),
        (lambda z: z * 2 + 1j, a * 2 + 1j),
        (lambda z: z.real, a.real),
        (lambda z: ew.where(z == 0, 1, z), np.where(a == 0, 1, a)),
        (lambda z: ew.where(z != 3 + 4j, z, z.imag), np.where(a != 3 + 4j, a, a.imag)),
    ):
        np.testing.assert_array_equal(gpu.map(f, x).result().numpy(), expected)
    assert gpu.map(lambda x, k: x * k, gpu.tensor([2.0]), 2 + 3j).result().item() == 4 + 6j
    k = np.complex64(1 - 1j)
    assert gpu.map(lambda x, k: x + k, gpu.tensor([2.0]), k).result().item() == 3 - 1j
    assert gpu.map(lambda x: ew.complex(x, x) * k, gpu.tensor([2.0])).result().item() == 4
    assert gpu.rows(ew.row_sum, x).result().item() == a.sum()
    assert gpu.reduce("sum", x, before=lambda z: z * 1j, after=abs).result().item() == abs(a.sum())
    mean = gpu.reduce("mean", x, after=abs).result().item()
    assert mean == pytest.approx(abs(a.mean()), rel=1e-15)


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda g, z: g.map(ew.function(lambda x: x * 2), z), troupe.TypeMismatch, r"inputs\[0\] is c64.*complex\(\)"),
        (lambda g, z: g.rows(ew.function(lambda x: ew.row_sum(x)), z), troupe.TypeMismatch, "as a real number"),
        (lambda g, z: g.reduce("sum", z, before=ew.function(abs)), troupe.TypeMismatch, "as a real number"),
        (lambda g, z: g.map(ew.function(lambda x, k: x * k), g.zeros(2), 2j), troupe.InvalidArgument, "input 1 is a complex number"),
        (lambda g, z: g.map(ew.exp, z), TypeError, r"elementwise.exp takes Expressions.*Complex: use its .real"),
        (lambda g, z: g.map(lambda x: 1 if x else 0, z), TypeError, "no truth value"),
    ],
)  # fmt: skip
def test_a_complex_input_is_no_number(gpu, call, kind, text):
    with pytest.raises(kind, match=text):
        call(gpu, gpu.zeros(2, "c64"))


FAR = [-np.inf, -1e30, -1000.0, -89.0, 89.0, 1000.0, 1e30, np.inf]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ["sigmoid", "silu", "softplus", "tanh", "gelu", "gelu_tanh", "mish", "by hand"])  # fmt: skip
def test_far_out_derivatives_are_their_limits(gpu, name, dtype):
    f = ew.function(lambda x: 1 / (1 + ew.exp(-x)) if name == "by hand" else getattr(ew, name)(x))
    x = gpu.tensor(np.array([v for v in FAR if dtype != "f16" or abs(v) != 1e30]), dtype)
    for order in (1, 2):
        f = f.derivative()
        flat = order == 2 or name in ("sigmoid", "tanh", "by hand")
        limits = [0.0 if v < 0 or flat else 1.0 for v in x.numpy().astype("f8")]
        np.testing.assert_allclose(gpu.map(f, x).result().numpy().astype("f8"), limits, atol=1e-30)


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (ew.softplus, [0.5, 0.25, 0]),
        (ew.sigmoid, [0.25, 0, -0.125]),
        (ew.mish, [0.6, 0.64, -0.096]),
        (ew.silu, [0.5, 0.5, 0]),
        (lambda x: x**0, [0, 0, 0]),
        (lambda x: x**1 + ew.square(x), [1, 2, 0]),
        (lambda x: x**3, [0, 0, 6]),
    ],
)
def test_derivatives_at_zero(gpu, f, expected):
    f = ew.function(f, 1)
    for one in expected:
        f = f.derivative()
        np.testing.assert_allclose(gpu.map(f, gpu.tensor([0.0, -0.0], "f64")).result(), one, atol=1e-15)  # fmt: skip


@pytest.mark.parametrize("name", ["gelu", "gelu_tanh"])
@pytest.mark.parametrize(("dtype", "at", "tolerance"), [("f32", -5.0, 1e-5), ("f64", -9.0, 1e-13)])
def test_digits_in_the_tail_of_gelu(gpu, name, dtype, at, tolerance):
    u = math.sqrt(8 / math.pi) * (at + 0.044715 * at**3)
    expected = at / 2 * math.erfc(-at / math.sqrt(2)) if name == "gelu" else at / (1 + math.exp(-u))
    x = gpu.tensor([at], dtype)
    found = [gpu.map(getattr(ew, name), x), gpu.elementwise.activation(x=x, kind=name)]
    np.testing.assert_allclose([one.result().item() for one in found], expected, rtol=tolerance)
