"""Requests by keyword: what is asked arrives, what is wrong is said, and nothing is missing."""

import inspect
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import troupe
import troupe.elementwise as ew
from scripts import run_python


def test_gemm_matches_numpy(gpu, rng):
    a, b = rng.standard_normal((37, 21)), rng.standard_normal((21, 53))
    x, w, y = gpu.tensor(a), gpu.tensor(b), gpu.full((37, 53), np.nan, "f64")
    assert gpu.blas.gemm(a=x, b=w, c=y).result() is y
    np.testing.assert_allclose(y.numpy(), a @ b, rtol=1e-12)


def test_a_result_that_is_left_out_is_allocated(gpu, rng):
    a, b = rng.standard_normal((2, 3)).astype("f4"), rng.standard_normal((3, 4)).astype("f4")
    y = gpu.blas.gemm(a=gpu.tensor(a), b=gpu.tensor(b)).result()
    assert (y.shape, y.dtype) == ((2, 4), "f32")
    np.testing.assert_allclose(y.numpy(), a @ b, rtol=1e-5)
    z = gpu.fft.r2c(in_=gpu.tensor(a)).result()
    assert (z.shape, z.dtype) == ((2, 2), "c64")
    np.testing.assert_allclose(z.numpy(), np.fft.rfft(a), rtol=1e-5, atol=1e-5)


def test_functions_are_traced(gpu, rng):
    samples = rng.integers(-100, 100, (3, 16)).astype("i2")
    window, keep = np.hanning(16).astype("f4"), rng.standard_normal(9).astype("f4")
    power = gpu.empty((3, 9))
    scaled = ew.function(lambda x, w: x * w / 128)
    gpu.fft.r2c(
        in_=gpu.tensor(samples), out=power, precision="f32",
        load=scaled, load_operands=[gpu.tensor(window)],
        store=lambda z, k: abs(ew.complex(z)) * k, store_operands=[gpu.tensor(keep)],
    )  # fmt: skip
    expected = np.abs(np.fft.rfft(samples * window / 128)) * keep
    np.testing.assert_allclose(power.numpy(), expected, rtol=1e-4, atol=1e-5)
    # Without a function on one side, that side says what is computed in.
    z = gpu.fft.c2c(in_=gpu.tensor(window), out=gpu.empty(16, "c128"), load=lambda x: x).result()
    np.testing.assert_allclose(z.numpy(), np.fft.fft(window.astype("f8")), rtol=1e-9, atol=1e-9)


def test_functions_are_checked(gpu):
    x, y = gpu.empty(8, "c64"), gpu.empty(8, "c64")
    with pytest.raises(TypeError, match=r"load must be a troupe.elementwise.Function, or a Python"):
        gpu.fft.c2c(in_=x, out=y, load=3)
    with pytest.raises(
        troupe.InvalidArgument, match="load must have 1 inputs, as it has 0 operands"
    ):
        gpu.fft.c2c(in_=x, out=y, load=lambda a, b: a + b).result()
    with pytest.raises(TypeError, match="has no argument load_program"):
        gpu.fft.c2c(in_=x, out=y, load_program=[1])
    what = inspect.signature(gpu.elementwise.map).parameters["what"]
    assert what.default is None
    twice = gpu.empty(2)
    gpu.elementwise.map(
        inputs=[gpu.tensor([1.0, 2.0], "f32")], outputs=[twice], what=lambda a: 2 * a
    )
    assert twice.numpy().tolist() == [2, 4]


def test_what_cannot_be_worked_out_is_named(gpu):
    with pytest.raises(troupe.InvalidArgument, match=r"fft.c2r: out must be given.*n"):
        gpu.fft.c2r(in_=gpu.empty((4, 3), "c64"))
    with pytest.raises(troupe.InvalidArgument, match="to must be given"):
        gpu.rng.uniform(from_seed=1)


def test_beta_needs_an_old_result(gpu):
    with pytest.raises(troupe.InvalidArgument, match="c is not given"):
        gpu.blas.gemm(a=gpu.empty((2, 2)), b=gpu.empty((2, 2)), beta=1)


def test_a_reply_is_a_number(gpu):
    x = gpu.tensor([1.0, 2.0, 3.0], "f32")
    assert gpu.blas.dot(x=x, y=x).result() == 14
    assert gpu.blas.iamax(x=x).result() == 2
    c = gpu.tensor([1 + 2j, 3 - 1j])
    assert gpu.blas.dotc(x=c, y=c).result() == 15


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda g, x: g.blas.gemm(a=x, b=x, d=x), TypeError, r"has no argument d; it has a, b"),
        (lambda g, x: g.blas.gemm(x, x, x, 1), TypeError, "takes 3 operands without names"),
        (lambda g, x: g.blas.gemm(a=np.ones((2, 2)), b=x), TypeError, r"a must be a troupe.Tensor; it is a ndarray.*device.tensor"),
        (lambda g, x: g.blas.gemm(a=3, b=x), TypeError, "a must be a troupe.Tensor; it is 3"),
        (lambda g, x: g.blas.gemm(a=x, b=x, op_a="adjoint"), TypeError, "op_a must be one of 'none', 'conjugate'; it is 'adjoint'"),
        (lambda g, x: g.blas.gemm(a=x, b=x, alpha="1"), TypeError, "alpha must be a number"),
        (lambda g, x: g.blas.gemm(a=x, b=x, deterministic=1), TypeError, "must be True or False"),
        (lambda g, x: g.blas.gemm(a=x, b=x, alpha=1j), troupe.InvalidArgument, "alpha must be real"),
        (lambda g, x: g.blas.gemm(a=x, b=g.empty((3, 2))), troupe.ShapeMismatch, "b must have 2 rows"),
        (lambda g, x: g.blas.gemm(a=x, b=g.empty((2, 2), "f64")), troupe.TypeMismatch, "b must be f32 because a is f32; it is f64"),
        (lambda g, x: g.blas.gemm(a=x, b=x, c=x), troupe.Aliasing, "must not overlap"),
        (lambda g, x: g.blas.gem, AttributeError, "blas has no request 'gem'; it has asum"),
        (lambda g, x: g.blass, AttributeError, "a device has no 'blass'; its libraries are"),
        (lambda g, x: g.empty((2, 2), "f31"), TypeError, "no element type is called 'f31'"),
        (lambda g, x: g.tensor([object()]), TypeError, "array of Python objects"),
        (lambda g, x: x.cpu(), AttributeError, r"numpy\(\) copies its elements out"),
        (lambda g, x: x.nothing, AttributeError, "a Tensor has no 'nothing'"),
        (lambda g, x: x @ x, TypeError, r"device.blas.gemm\(a=x, b=y\) multiplies matrices"),
        (lambda g, x: 2 * x, TypeError, "a Tensor has no operators"),
        (lambda g, x: x[::-1], ValueError, "slice it forward"),
        (lambda g, x: x[5], IndexError, "index 5 of dimension 0 with extent 2"),
    ],
)  # fmt: skip
def test_bad_input_gets_a_sentence(gpu, call, kind, text):
    x = gpu.zeros((2, 2))
    with pytest.raises(kind, match=text):
        call(gpu, x)
    np.testing.assert_array_equal(x.numpy(), 0)


def test_every_request_of_cpp_is_there(gpu):
    known = {"tensor", "tensors", "scalar", "integer", "unsigned integer", "real", "bool", "text",
             "enumeration", "integers", "scalars", "function"}  # fmt: skip
    assert len(troupe.requests()) > 90
    for name in troupe.requests():
        library, request = name.split(".")
        operation = getattr(getattr(gpu, library), request)
        description = operation.description
        assert {f["kind"] for f in description["fields"]} <= known, name
        parameters = inspect.signature(operation).parameters
        options = 0 if description["for_world"] else 4  # deadline, run_limit, quarantine, tag
        assert len(parameters) == len(description["fields"]) + options, name
        assert description["summary"] in operation.__doc__
        assert request in dir(getattr(gpu, library))


def test_help_says_what_a_request_takes(gpu):
    text = gpu.blas.gemm.__doc__
    assert "Multiplies two matrices" in text
    assert "a: left factor (reads; [m, k])" in text
    assert "allocated if left out" in text
    assert "f16 f16 f32" in text
    assert str(inspect.signature(gpu.blas.gemm)).startswith(
        "(a: 'TensorLike', b: 'TensorLike', c: 'TensorLike | None' = None, *, alpha"
    )
    assert repr(gpu.blas.gemm).startswith("<request blas.gemm(a, b, c=None, *, alpha=1")


@pytest.mark.parametrize(
    ("ask", "shapes"),
    [
        (lambda g, a: g.solver.svd(a=a, u=g.empty((3, 2), "f64")), [(2,), (3, 2), (2, 2)]),
        (lambda g, a: g.solver.svd(vh=g.empty((2, 2), "f64"), s=g.empty(2, "f64"), a=a), [(2,), (3, 2), (2, 2)]),
        (lambda g, a: g.solver.gels(rank=g.empty((), "i32"), a=a, b=g.zeros((3, 1), "f64"), driver="svd"), [(2, 1), ()]),
        (lambda g, a: g.elementwise.rms_norm(x=a, rstd=g.empty(3, "f64")), [(3, 2), (3,)]),
        (lambda g, a: g.primitives.top_k(indices=g.empty(1, "i64"), values=g.empty(1, "f64"), x=a[:, 0]), ["f64", "i64"]),
        (lambda g, a: g.primitives.top_k(indices=g.empty(1, "i64"), values=g.empty(1, "f64"), x=a[:, 0]), [(1,), (1,)]),
        (lambda g, a: g.dnn.max_pool_forward(places=g.empty((1, 1, 2, 1), "u8"), x=a.reshape(1, 1, 3, 2), window=[2, 2], stride=[1, 1]), ["f64", "u8"]),
        (lambda g, a: g.dnn.attention_forward(q=a.reshape(1, 1, 3, 2), k=a.reshape(1, 1, 3, 2), v=a.reshape(1, 1, 3, 2), statistics=g.empty((1, 1, 3, 1), "f64")), [(1, 1, 3, 2), (1, 1, 3, 1)]),
    ],
)  # fmt: skip
def test_results_come_in_the_order_of_the_description(gpu, on_gpu, ask, shapes):
    if on_gpu and "attention_forward" in ask.__code__.co_names:
        pytest.skip("attention in f64")
    a = gpu.tensor(np.array([[3.0, 1], [1, 2], [0, 1]]))
    answers = ask(gpu, a).result()
    assert [one.dtype if isinstance(shapes[0], str) else one.shape for one in answers] == shapes


def test_the_order_of_the_keywords_does_not_matter(gpu):
    keys, values = gpu.tensor(np.array([3, 1, 2])), gpu.tensor(np.array([10, 20, 30]))
    made = {"sorted_values": gpu.empty(3, "i64"), "sorted_keys": gpu.empty(3, "i64")}
    both = gpu.primitives.sort_pairs(keys=keys, values=values, **made).result()
    assert [one.tolist() for one in both] == [[1, 2, 3], [20, 30, 10]]
    assert both[0] is made["sorted_keys"]


def test_options_of_requests(gpu):
    x = gpu.zeros(4)
    assert gpu.memory.fill(to=x, value=3, deadline=10, run_limit=10, quarantine=False).result() is x
    with pytest.raises(troupe.DeadlineExceeded):
        gpu.memory.fill(to=x, value=3, deadline=0).result()


def test_groups_are_flat(gpu):
    x, y = gpu.empty(1000), gpu.empty(1000)
    gpu.rng.uniform(to=x, from_seed=7)
    gpu.rng.uniform(to=y[:500], from_seed=7)
    gpu.rng.uniform(to=y[500:], from_seed=7, from_offset=500)
    np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_a_plugin_appears_like_a_library(build_folder, rng):
    """In a process of its own: what is loaded stays known."""
    plugin = build_folder / "lib/plugins/libimage.so"
    outcome = run_python(f"""
        import numpy as np, troupe
        with troupe.System() as system:
            gpu = system.device(0, plugins=[{str(plugin)!r}])
            y = gpu.image.blur(x=gpu.full((9, 7), 3)).result()
            assert y.shape == (9, 7) and np.allclose(y.numpy(), 3)
            assert "neighbours" in gpu.image.blur.__doc__
            try:
                system.device(1, plugins=["./missing.so"])
            except troupe.LibraryMissing as why:
                assert "missing.so" in str(why)
            print("right")
    """)
    assert outcome.stdout == "right\n", outcome


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_nans_are_sorted_by_their_bits(gpu, dtype, descending):
    x = np.array([np.nan, -np.nan, np.inf, -1, np.nan, -np.nan], dtype)
    bits = x.view(f"u{x.itemsize}")
    bits[:2] += 1
    order = [3, 2, 4, 0, 5, 1]
    y = gpu.primitives.sort(x=gpu.tensor(x), descending=descending).result().numpy()
    expected = bits[order[::-1] if descending else order]
    np.testing.assert_array_equal(y.view(bits.dtype), expected)


def test_generated_files_are_current():
    tool = pathlib.Path(__file__).resolve().parents[2] / "tools/write_python_files.py"
    run = subprocess.run([sys.executable, tool, "--check"], stderr=subprocess.PIPE, text=True)
    assert run.returncode == 0, run.stderr
