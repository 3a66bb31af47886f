"""Functions of one's own, beside NumPy: values, types, broadcasting, rows, derivatives, errors."""

import gc
import math
import pickle

import numpy as np
import pytest
import troupe
import troupe.elementwise as ew
from scripts import run_python
from troupe.elementwise import tracing

np_erf = np.vectorize(math.erf, otypes=["f8"])

# Functions of one input, of Expressions, and of arrays of f64.
ONE = {
    "polynomial": (lambda x: 3 * x**2 - x / 2 + 1, lambda x: 3 * x**2 - x / 2 + 1),
    "exponentials": (
        lambda x: ew.exp(-abs(x)) + ew.expm1(x / 4),
        lambda x: np.exp(-abs(x)) + np.expm1(x / 4),
    ),
    "logarithms": (
        lambda x: ew.log1p(x * x) - ew.log2(abs(x) + 1),
        lambda x: np.log1p(x * x) - np.log2(abs(x) + 1),
    ),
    "roots": (
        lambda x: ew.rsqrt(abs(x) + 1) * ew.sqrt(abs(x)) + ew.cbrt(x),
        lambda x: np.sqrt(abs(x)) / np.sqrt(abs(x) + 1) + np.cbrt(x),
    ),
    "angles": (lambda x: ew.arctan2(ew.sin(x), ew.cos(x)), lambda x: np.arctan2(np.sin(x), np.cos(x))),
    "by NumPy's names": (lambda x: np.tanh(x) * np.float64(2) + np.exp(x), lambda x: np.tanh(x) * 2 + np.exp(x)),
    "sigmoid": (ew.sigmoid, lambda x: 1 / (1 + np.exp(-x))),
    "silu": (ew.silu, lambda x: x / (1 + np.exp(-x))),
    "gelu": (ew.gelu, lambda x: 0.5 * x * (1 + np_erf(x / np.sqrt(2)))),
    "relu and clip": (lambda x: ew.relu(x) - ew.clip(x, -0.5, 0.5), lambda x: np.maximum(x, 0) - np.clip(x, -0.5, 0.5)),
    "where": (lambda x: ew.where((x > 0) & ~(x > 1), x, -x), lambda x: np.where((x > 0) & ~(x > 1), x, -x)),
    "softplus": (ew.softplus, lambda x: np.log1p(np.exp(x))),
}  # fmt: skip
TYPES = {"f64": 1e-12, "f32": 2e-6, "f16": 2e-3, "bf16": 1.6e-2}
LAYOUTS = {
    "packed": lambda t: t,
    "transposed": lambda t: t.T,
    "every other": lambda t: t[1::2, ::3],
    "one row": lambda t: t[3],
    "nothing": lambda t: t[:0],
}


def as_f64(tensor):
    return tensor.numpy().astype("f8")


def close(found, expected, tolerance):
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_input(gpu, rng, name, dtype, layout):
    ours, numpys = ONE[name]
    x = LAYOUTS[layout](gpu.tensor(rng.standard_normal((12, 17)), dtype))
    y = gpu.map(ours, x).result()
    assert (y.shape, y.dtype) == (x.shape, dtype)
    close(as_f64(y), numpys(as_f64(x)), TYPES[dtype])


@pytest.mark.parametrize("shapes", [((3, 4), (4,)), ((3, 1), (1, 4)), ((), (2, 3)), ((5, 1, 2), (4, 1)), ((0, 3), (1,))])  # fmt: skip
def test_inputs_are_broadcast(gpu, rng, shapes):
    a, b = (rng.standard_normal(shape) for shape in shapes)
    y = gpu.map(lambda a, b: a * b - b, gpu.tensor(a), gpu.tensor(b)).result()
    assert y.shape == np.broadcast_shapes(*shapes)
    np.testing.assert_allclose(y.numpy(), a * b - b)


@pytest.mark.parametrize(
    ("types", "f", "expected"),
    [
        ("f16 f16", lambda a, b: a + b, "f16"),
        ("f16 bf16", lambda a, b: a + b, "f32"),
        ("f32 f64", lambda a, b: a + b, "f64"),
        ("bf16 i32", lambda a, b: a + b, "bf16"),
        ("i32 i32", lambda a, b: 2 * a + b, "i32"),
        ("i32 i32", lambda a, b: a / b, "f32"),
        ("i32 i32", lambda a, b: a + 0.5, "f32"),
        ("u8 i8", lambda a, b: a - b, "i16"),
        ("u8 u32", lambda a, b: a ^ b, "u32"),
        ("u64 u8", lambda a, b: a + b, "u64"),
        ("u64 f32", lambda a, b: a // 2 + ew.index(), "u64"),
        ("f64 i32", lambda a, b: b / 2, "f64"),
        ("bf16 i32", lambda a, b: ew.where(a > 0, 0.5, b / 2), "bf16"),
        ("bool bool", lambda a, b: a & b, "bool"),
        ("bool bool", lambda a, b: a + b, "i64"),
        ("f32 f16", lambda a, b: (a < b) & ew.isnan(a), "bool"),
        ("f32 i8", lambda a, b: ew.where(a > 0, b, 2 * b), "i8"),
        ("f64 i8", lambda a, b: ew.cast(a, "u16"), "u16"),
        ("bf16 c64", lambda a, b: ew.complex(b) * a, "c64"),
        ("f64 f32", lambda a, b: ew.complex(a, b), "c128"),
        ("c128 c64", lambda a, b: abs(ew.complex(a)), "f64"),
        ("c64 f32", lambda a, b: a.conjugate() * b, "c64"),
        ("f32 f32", lambda a, b: ew.index() + ew.position(), "i64"),
        ("f32 f32", lambda a, b: 1, "i64"),
    ],
)
def test_the_type_of_an_output(gpu, types, f, expected):
    a, b = (gpu.zeros(4, one) for one in types.split())
    y = gpu.map(f, a, b).result()
    assert y.dtype == expected
    assert gpu.map(f, a, b, dtype="f64" if y.dtype[0] != "c" else "c128").result().numpy().size == 4


def test_integers_keep_all_their_bits(gpu):
    big = np.array([2**62 + 1, -(2**61) - 3], "i8")
    x = gpu.tensor(big)
    np.testing.assert_array_equal(
        gpu.map(lambda x: x**2 // 7 + 1, x).result().numpy(), big**2 // 7 + 1
    )
    np.testing.assert_array_equal(
        gpu.map(lambda x: (x << 1 | 1) % 5, x).result().numpy(), (big << 1 | 1) % 5
    )
    np.testing.assert_array_equal(
        gpu.map(lambda x: 1 - (~x >> 3), x).result().numpy(), 1 - (~big >> 3)
    )


def test_reflected_operators(gpu):
    a = np.array([1.0, 2.0, 5.0])
    x = gpu.tensor(a)
    for f in (
        lambda x: 1 - x,
        lambda x: 7 / x,
        lambda x: 2**x,
        lambda x: 7 // x,
        lambda x: 7 % x,
        lambda x: (x < 2) * 1.0,
        lambda x: (x <= 2) * (x >= 2) + (x == 2) * 2 + (x != 2) * 4 + +x,
    ):
        np.testing.assert_allclose(gpu.map(f, x).result().numpy(), f(a))


def test_several_outputs_in_place_and_numbers(gpu):
    x = gpu.tensor([1.0, 2.0, 3.0], "f32")
    both = gpu.map(lambda x, k: (x * k, x < k), x, 2).result()
    assert [(one.dtype, one.tolist()) for one in both] == [
        ("f32", [2, 4, 6]),
        ("bool", [True, False, False]),
    ]
    assert gpu.map(lambda x, k: x * k, x, 0.5, out=x).result() is x
    assert x.tolist() == [0.5, 1.0, 1.5]
    y = gpu.empty(3, "i8")
    made = gpu.map(lambda x: (x * 4, x), x, out=(y, None), dtype=("i8", "f64")).result()
    assert made[0] is y and y.tolist() == [2, 4, 6] and made[1].dtype == "f64"
    assert gpu.map(lambda a, b: a + b, 1, 2.5).result().item() == 3.5
    np.testing.assert_array_equal(
        gpu.map(lambda: ew.index(0) + 10 * ew.index(1), out=gpu.empty((2, 3))).result().numpy(),
        [[0, 1, 2], [10, 11, 12]],
    )


def test_complex_numbers(gpu, rng):
    a, b = (rng.standard_normal(9) + 1j * rng.standard_normal(9) for _ in range(2))
    x, y = gpu.tensor(a), gpu.tensor(b)

    def ours(x, y):
        z, w = ew.complex(x), ew.complex(y)
        return (z * w + z.conjugate()) / (w - 2j) - 1 / z + 2 * -w, abs(x), w.imag + y.real

    z, size, sum_of_parts = gpu.map(ours, x, y).result()
    np.testing.assert_allclose(z.numpy(), (a * b + a.conj()) / (b - 2j) - 1 / a - 2 * b)
    np.testing.assert_allclose(size.numpy(), abs(a))
    np.testing.assert_allclose(sum_of_parts.numpy(), b.imag + b.real)


def test_numbers_as_complex_inputs(gpu):
    x = gpu.tensor([1 + 2j])
    f = ew.function(lambda x, k: ew.complex(x) * ew.complex(k))
    assert gpu.map(f, x, 3j).result().item() == (1 + 2j) * 3j
    assert gpu.map(f, x, 3).result().item() == (1 + 2j) * 3
    assert (
        gpu.map(lambda x: f(x, 2j) + ew.complex(ew.exp(0)), x).result().item() == (1 + 2j) * 2j + 1
    )


def test_random_numbers(gpu):
    x = gpu.map(lambda: ew.random_normal(7, ew.position()), out=gpu.empty(100_000)).result().numpy()
    assert abs(x.mean()) < 0.02 and abs(x.std() - 1) < 0.02
    u = (
        gpu.map(lambda s: ew.random_uniform(s, ew.position()), 3, out=gpu.empty(100_000))
        .result()
        .numpy()
    )
    assert u.min() > 0 and u.max() < 1 and abs(u.mean() - 0.5) < 0.01


def softmax(x):
    e = ew.exp(x - ew.row_max(x))
    return e / ew.row_sum(e)


def layer_norm(x, weight, bias):
    centred = x - ew.row_sum(x) / ew.row_length()
    return centred * ew.rsqrt(ew.row_sum(centred**2) / ew.row_length() + 1e-5) * weight + bias


@pytest.mark.parametrize("axis", [-1, 0, (0, 1), (-1, 0)])
@pytest.mark.parametrize("dtype", TYPES)
def test_softmax(gpu, rng, dtype, axis):
    x = gpu.tensor(rng.standard_normal((5, 7, 9)), dtype)
    y = gpu.rows(softmax, x, axis=axis).result()
    assert (y.shape, y.dtype) == ((5, 7, 9), dtype)
    e = np.exp(as_f64(x) - as_f64(x).max(axis, keepdims=True))
    close(as_f64(y), e / e.sum(axis, keepdims=True), TYPES[dtype])


def test_layer_norm(gpu, rng):
    a, w, b = rng.standard_normal((6, 33)), rng.standard_normal(33), rng.standard_normal(33)
    y = gpu.rows(layer_norm, gpu.tensor(a), gpu.tensor(w), gpu.tensor(b)).result()
    expected = (a - a.mean(-1, keepdims=True)) / np.sqrt(a.var(-1, keepdims=True) + 1e-5) * w + b
    np.testing.assert_allclose(y.numpy(), expected, atol=1e-12)


@pytest.mark.parametrize("axis", [-1, 1, (0, 2), (2, 1, 0)])
def test_reductions(gpu, rng, axis):
    a = rng.standard_normal((4, 5, 6))
    x = gpu.tensor(a)
    f = ew.function(lambda x: (ew.row_sum(x), ew.row_max(x) - ew.row_min(x), x - ew.row_min(x)))
    for keep in (False, True):
        total, spread, rest = gpu.rows(f, x, axis=axis, keepdims=keep).result()
        np.testing.assert_allclose(total.numpy(), a.sum(axis, keepdims=keep))
        np.testing.assert_allclose(spread.numpy(), np.ptp(a, axis, keepdims=keep))
        assert total.shape == a.sum(axis, keepdims=keep).shape and rest.shape == a.shape
    total = gpu.empty(a.sum(axis).shape, "f64")
    assert gpu.rows(f, x, axis=axis, out=(total, None, None)).result()[0] is total
    np.testing.assert_allclose(total.numpy(), a.sum(axis))


def test_reductions_of_integers_and_arguments(gpu):
    a = np.array([[100, 100, 3], [1, 2, 100]], "i1")
    x = gpu.tensor(a)
    f = ew.function(lambda x: (ew.row_sum(x), ew.row_prod(x), ew.row_argmax(x), ew.row_min(x)))
    made = gpu.rows(f, x).result()
    assert [one.dtype for one in made] == ["i64", "i64", "i64", "i8"]
    assert [one.tolist() for one in made] == [[203, 103], [30000, 200], [0, 2], [3, 1]]
    # A value with extent 1 along the rows is the same for them, and so are functions of it.
    offset = gpu.tensor(np.array([[1.0], [2.0]]))
    assert gpu.rows(lambda x, o: ew.row_sum(x) * o, x, offset).result().tolist() == [203, 206]


@pytest.mark.parametrize("name", sorted(set(ONE) - {"where", "relu and clip", "by NumPy's names"}))
def test_derivatives(gpu, name):
    f = ew.function(ONE[name][0])
    a, h = np.linspace(-0.9, 1.1, 21) + 0.013, 1e-6
    x = gpu.tensor(a)
    found = gpu.map(f.derivative(), x).result().numpy()
    more, less = (gpu.map(f, gpu.tensor(a + s * h)).result().numpy() for s in (1, -1))
    np.testing.assert_allclose(found, (more - less) / (2 * h), rtol=1e-6, atol=1e-6)


def test_derivatives_by_each_input_of_each_output(gpu):
    f = ew.function(lambda x, y: (x * y, x + 3 * y))
    x, y = gpu.tensor([2.0]), gpu.tensor([5.0])
    found = [[gpu.map(f.derivative(i, o), x, y).result().item() for i in (0, 1)] for o in (0, 1)]
    assert found == [[5, 2], [1, 3]]
    with pytest.raises(troupe.InvalidArgument, match="input"):
        f.derivative(2)


def test_a_function_is_a_value(gpu):
    f, g = (ew.function(lambda x, b: (x + b) / (1 + ew.exp(-(x + b)))) for _ in range(2))
    assert f == g and hash(f) == hash(g) and f != ew.function(lambda x, b: ew.exp(x - b)) and f != 1
    assert (f.inputs, f.outputs, f.has_row_operations) == (2, 1, False)
    assert str(f) == "t0 = x0 + x1; y0 = t0 / (1 + exp(-t0))" and repr(f) == f'Function("{f}")'
    again = pickle.loads(pickle.dumps(f))
    assert again == f and gpu.map(again, gpu.zeros(1), 1).result().item() > 0.7
    assert ew.function(f) is f
    with pytest.raises(troupe.InvalidArgument):
        ew.Function.__new__(ew.Function).__setstate__(([1 | 1 << 16, 255], ()))


def test_functions_within_functions(gpu):
    twice = ew.function(lambda x: 2 * x)
    split = ew.function(lambda x, k=3: (x + k, x - k))

    @ew.function
    def all_of_it(x, y):
        a, b = split(twice(x))
        return a * b + twice(y) + twice(1)

    assert all_of_it.inputs == 2
    assert gpu.map(all_of_it, gpu.tensor([5.0]), gpu.tensor([1.0])).result().item() == 95


def traces(f, *inputs, gpu):
    before = len(tracing._known)
    y = gpu.map(f, *inputs).result().tolist()
    return y, len(tracing._known) - before


def test_a_lambda_is_traced_once(gpu):
    x = gpu.tensor([3.0])
    calls = []

    def scaled(k):
        return lambda x: x * k * 1.25

    assert [traces(scaled(k), x, gpu=gpu) for k in (2, 2.0, 2, 2.0, True)] == [
        ([7.5], 1),
        ([7.5], 1),
        ([7.5], 0),
        ([7.5], 0),
        ([3.75], 1),
    ]

    def seen(x):
        calls.append(1)
        return x + 1

    for _ in range(3):
        assert traces(seen, x, gpu=gpu) == ([4.0], 0)
    assert len(calls) == 3  # it has an effect: it may do another thing each time
    f = ew.function(lambda x: x * 1.5)
    assert [traces(lambda x: f(x) + 17, x, gpu=gpu)[1] for _ in range(2)] == [1, 0]


FACTOR = 2.0
FACTORS = [2.0]


def factor():
    return FACTOR


def test_no_result_is_stale(gpu):
    global FACTOR
    x = gpu.tensor([3.0])
    state = [1.0]
    local = 1.0

    def from_a_list(x):
        return x * state[0]

    def from_a_variable(x):
        return x * local

    def from_a_global(x):
        return x * FACTOR

    def from_a_global_list(x):
        return (lambda: x * FACTORS[0])()

    def from_a_function(x):
        return x * factor()

    def by_default(x, k=1.0):
        return x * k

    all_of_them = (from_a_list, from_a_variable, from_a_global, from_a_global_list, from_a_function)
    for value in (1.0, 4.0, 1.0):
        state[0] = local = FACTOR = FACTORS[0] = value
        by_default.__defaults__ = (value,)
        for f in (*all_of_them, by_default):
            assert gpu.map(f, x).result().tolist() == [3 * value], f.__name__


def test_random_numbers_of_the_program_are_not_kept(gpu):
    x = gpu.tensor([1.0])

    def of_random(x):
        import random

        return x * random.random()

    def of_globals(x):
        return x * globals()["FACTOR"] * np.random.random()

    for f in (
        of_random,
        of_globals,
        lambda x: x * np.random.random(),
        lambda x: x * rng_of_the_module.random(),
    ):
        assert gpu.map(f, x).result().item() != gpu.map(f, x).result().item()
    _, added = traces(lambda x: np.exp(x) * np.pi + np.float32(27), x, gpu=gpu)
    assert added == 1


rng_of_the_module = np.random.default_rng()


def test_the_cache_has_bounds(gpu):
    x = gpu.tensor([1.0])
    for k in range(2 * tracing._MOST):
        tracing.traced(lambda x, k=k: x + k, 1)
    assert len(tracing._known) == tracing._MOST
    assert gpu.map(lambda x, k=3: x + k, x).result().item() == 4


class OwnError(Exception):
    pass


def test_exceptions_come_out_unchanged(gpu):
    x = gpu.tensor([1.0])
    why = OwnError("of the lambda's own")

    def fails(x):
        x + 1
        raise why

    with pytest.raises(OwnError) as caught:
        gpu.map(fails, x)
    assert caught.value is why
    # Nothing is half built: no function is being traced now, and the next one is right.
    with pytest.raises(troupe.InvalidArgument, match="only while it is built"):
        kept.append(ew.function(lambda x: kept.append(x) or x)) or kept[0] + 1
    assert gpu.map(lambda x: x + 1, x).result().item() == 2
    kept.clear()
    gc.collect()


kept = []


def of_another(x):
    inner = ew.function(lambda y: y + x)
    return inner(x)


@pytest.mark.parametrize(
    ("f", "kind", "text"),
    [
        (lambda x: x if x > 0 else -x, TypeError, r"no truth value.*elementwise.where\(condition, a, b\)"),
        (lambda x: 0 < x < 1, TypeError, "no truth value"),
        (lambda x: max(x, 0), TypeError, "no truth value"),
        (lambda x: math.exp(x), TypeError, "no number.*instead of those of math"),
        (lambda x: int(x), TypeError, r"cast\(\) instead of int\(\)"),
        (lambda x: x + np.ones(3), TypeError, "ndarray: pass it to the function as an input"),
        (lambda x: np.ones(3) * x, TypeError, "ndarray: pass it to the function as an input"),
        (lambda x: ew.exp(np.ones(3)), TypeError, "elementwise.exp takes Expressions and numbers.*ndarray"),
        (lambda x: np.add.reduce(x), TypeError, "axis|no function of Expressions|Expression"),
        (lambda x: np.spacing(x), TypeError, "numpy.spacing is no function of Expressions"),
        (lambda x: x + "1", TypeError, "unsupported operand"),
        (lambda x: None, TypeError, "this one returned None"),
        (lambda x: "x", TypeError, "this one returned a str"),
        (lambda x: (), TypeError, "at least one"),
        (lambda x, y: x, TypeError, "missing 1 required positional argument"),
        (lambda x: ew.cast(x, "f31"), TypeError, "no element type is called 'f31'"),
        (of_another, troupe.InvalidArgument, "value of another function"),
        (lambda x: x & 1, troupe.TypeMismatch, "bit_and takes integers"),
        (lambda x: ew.row_sum(x), troupe.InvalidArgument, "row operations, which elementwise.rows takes"),
        (lambda x: ew.complex(x + 1), troupe.InvalidArgument, "takes an input"),
        (lambda x: sum(ew.index(i % 8) * i for i in range(200)), troupe.InvalidArgument, "constants"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_function(gpu, f, kind, text):
    with pytest.raises(kind, match=text):
        gpu.map(f, gpu.zeros(3)).result()
    assert gpu.map(lambda x: x + 1, gpu.zeros(1)).result().item() == 1


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda g, x: g.map(lambda a: a, np.ones(3)), TypeError, "an input must be a troupe.Tensor or a number; it is a ndarray.*device.tensor"),
        (lambda g, x: g.map(lambda a: a, "x"), TypeError, "it is a str"),
        (lambda g, x: g.map(ew.function(lambda a: a), x, x), TypeError, "takes 1 inputs; 2 are given"),
        (lambda g, x: g.map(lambda a, b: a + b, x, g.zeros(4)), troupe.ShapeMismatch, r"inputs\[1\] is \[4\].*\[3\]"),
        (lambda g, x: g.map(lambda a: a, x, out=g.zeros(4)), troupe.ShapeMismatch, "broadcast"),
        (lambda g, x: g.map(lambda a: a, x, out=np.ones(3)), TypeError, "out must be a troupe.Tensor"),
        (lambda g, x: g.map(lambda a: (a, a), x, out=x), TypeError, "2 outputs: out must be a tuple"),
        (lambda g, x: g.map(lambda a: (a, a), x, out=(x,)), TypeError, "2 outputs; out has 1"),
        (lambda g, x: g.map(lambda a: (a, a), x, dtype=["f32"]), TypeError, "2 outputs; dtype has 1"),
        (lambda g, x: g.rows(softmax, x, axis=1), troupe.InvalidArgument, r"axes is \[1\]"),
        (lambda g, x: g.rows(softmax, x, axis=(0, -1)), troupe.InvalidArgument, r"names another one"),
        (lambda g, x: g.rows(softmax, x, out=g.zeros(1)), troupe.Failure, "same for the whole row"),
        (lambda g, x: ew.function(lambda *a: a[0]), TypeError, "say how many"),
        (lambda g, x: ew.function(lambda a: a)(x), TypeError, r"device.map\(function, tensor\)"),
        (lambda g, x: ew.function(lambda a: a)(), TypeError, "takes 1 inputs; 0 are given"),
        (lambda g, x: ew.exp(x), TypeError, "takes Expressions and numbers; this is a Tensor"),
        (lambda g, x: ew.position(), troupe.InvalidArgument, "only while it is built"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_call(gpu, call, kind, text):
    with pytest.raises(kind, match=text):
        call(gpu, gpu.zeros(3))


def test_functions_of_many_inputs(gpu):
    f = ew.function(lambda *x: sum(x), inputs=5)
    assert gpu.map(f, *[gpu.tensor([float(i)]) for i in range(5)]).result().item() == 10
    assert (
        gpu.map(lambda *x: x[0] + x[-1], *[gpu.tensor([float(i)]) for i in range(3)])
        .result()
        .item()
        == 2
    )


async def awaited(gpu):
    x = gpu.tensor([1.0, 2.0])
    return (await gpu.map(lambda x: x + 1, x)).tolist(), (await gpu.rows(ew.row_sum, x)).item()


def test_in_asyncio(gpu):
    import asyncio

    assert asyncio.run(awaited(gpu)) == ([2.0, 3.0], 3.0)


def test_it_is_imported_when_it_is_used():
    run_python(
        """
        import sys
        before = set(sys.modules)
        import troupe
        late = {"troupe.elementwise", "asyncio", "inspect", "logging", "numpy", "re", "traceback", "typing"}
        assert not late & (set(sys.modules) - before)
        with troupe.System() as system:
            gpu = system.device(0)
            assert gpu.map(lambda x: troupe.elementwise.exp(x), gpu.zeros(1)).result().item() == 1
            assert gpu.rows(lambda x: troupe.elementwise.row_sum(x), gpu.zeros(3)).result().item() == 0
        """
    )


def test_the_same_as_torch(gpu, rng):
    torch = pytest.importorskip("torch")
    a = torch.from_numpy(rng.standard_normal((8, 65)).astype("f4"))
    functional = torch.nn.functional
    for ours, theirs in (
        (ew.silu, functional.silu),
        (ew.gelu, functional.gelu),
        (ew.gelu_tanh, lambda x: functional.gelu(x, approximate="tanh")),
        (ew.softplus, functional.softplus),
        (ew.mish, functional.mish),
        (lambda x: ew.elu(x, 0.5), lambda x: functional.elu(x, 0.5)),
        (lambda x: ew.leaky_relu(x, 0.1), lambda x: functional.leaky_relu(x, 0.1)),
    ):
        close(gpu.map(ours, gpu.tensor(a)).result().numpy(), theirs(a).numpy(), 2e-6)
    close(gpu.rows(softmax, gpu.tensor(a)).result().numpy(), torch.softmax(a, -1).numpy(), 2e-6)
