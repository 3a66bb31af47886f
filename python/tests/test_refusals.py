"""What tensors and futures refuse says what to call instead; wrong names say which is near."""

import copy
import operator
import pathlib
import pickle
import re

import numpy as np
import pytest
import troupe
from troupe import errors


def refused(kind, call):
    with pytest.raises(kind) as caught:
        call()
    return str(caught.value)


BINARY = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow, "&": operator.and_,
    "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip


@pytest.mark.parametrize("symbol", BINARY)
def test_every_operator_says_what_computes_it(gpu, symbol):
    apply, x = BINARY[symbol], gpu.ones(3, "i32")
    for kind, one in (("Tensor", x), ("Future", gpu.map(lambda v: v, x))):
        text = refused(TypeError, lambda one=one: apply(one, 2))
        assert text.startswith(f"a {kind} has no operators: device.map(")
        assert f"x {symbol} 2" in text
        # The advice does compute it.
        told = re.search(r"device\.map\(lambda.*?, x\)", text)[0]
        expected = apply(np.ones(3, "i4"), 2)
        done = eval(told, {"device": gpu, "x": one}).result()
        np.testing.assert_array_equal(done.numpy(), expected)
    assert f"lambda x, y: x {symbol} y, x, y)" in refused(TypeError, lambda: apply(x, x))
    # NumPy does not copy the tensor out and compute here.
    assert "device.map(" in refused(TypeError, lambda: apply(np.ones(3, "i4"), x))
    if symbol not in ("<", "<=", ">", ">=", "==", "!="):
        assert f"lambda x: 2 {symbol} x, x)" in refused(TypeError, lambda: apply(np.int32(2), x))
        assert f"lambda x: 2 {symbol} x, x)" in refused(TypeError, lambda: apply(2, x))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda x: -x, "lambda x: -x, x)"),
        (lambda x: ~x, "lambda x: ~x, x)"),
        (abs, "lambda x: abs(x), x)"),
        (lambda x: x @ x, "device.blas.gemm(a=x, b=y)"),
        (bool, "has no truth value"),
        (lambda x: x is not None and not x, "has no truth value"),
        (lambda x: x == None, "`is None` tells"),  # noqa: E711
        (float, "item()"),
        (int, "item()"),
        (round, "item()"),
        (lambda x: 1 in x, "numpy()"),
        (lambda x: operator.setitem(x, 0, 1), "device.copy(array, x[index])"),
        (lambda x: x[None], "reshape() does so"),
        (lambda x: x[..., None], "reshape() does so"),
        (np.from_dlpack, "from_dlpack(x.mapped())"),
        (pickle.dumps, "numpy()"),
        (copy.deepcopy, "device.tensor(tensor) copies it|numpy()"),
    ],
)
def test_what_python_would_answer_itself_is_refused(gpu, call, says):
    x = gpu.ones(3)
    for one in (x, gpu.map(lambda v: v, x)):
        text = refused(TypeError, lambda one=one: call(one))
        assert any(part in text for part in says.split("|")), text


def test_torch_is_told_too(gpu):
    torch = pytest.importorskip("torch")
    for take in (torch.from_dlpack, torch.as_tensor, torch.tensor):
        assert "numpy()" in refused(TypeError, lambda take=take: take(gpu.ones(3)))


def test_tensors_and_futures_are_still_found_by_identity(gpu):
    x, y = gpu.ones(2), gpu.ones(2)
    assert {x: 1, y: 2}[y] == 2 and x in [x, y] and len({x, y}) == 2
    one, other = gpu.map(lambda v: v, x), gpu.map(lambda v: v, x)
    waiting = [one, other]
    assert one != other and other in waiting and one == waiting[0]
    waiting.remove(other)
    assert waiting == [one]


def test_a_future_of_no_tensor_says_to_wait(gpu):
    x = gpu.ones(3)
    assert "await it, or wait with result()" in refused(
        TypeError, lambda: gpu.blas.dot(x=x, y=x) + 1
    )


def test_what_belongs_to_the_process_is_not_pickled(gpu, system):
    for one in (gpu, system, gpu.blas, gpu.blas.gemm, system.spawn(troupe.Actor)):
        assert "belong" in refused(TypeError, lambda one=one: pickle.dumps(one))


def test_the_argument_at_fault_is_named(gpu):
    x, y = gpu.ones((2, 3)), gpu.ones((3, 2), "f64")
    assert "blas.gemm: b is not given" in refused(
        troupe.InvalidArgument, lambda: gpu.blas.gemm(a=x)
    )
    assert "a is not given" in refused(troupe.InvalidArgument, lambda: gpu.blas.gemm(b=x))
    assert "a is not given" in refused(troupe.InvalidArgument, lambda: gpu.blas.gemm())
    text = refused(troupe.TypeMismatch, lambda: gpu.blas.gemm(a=x, b=y))
    assert "b must be f32 because a is f32; it is f64" in text


@pytest.mark.parametrize(
    ("kind", "call", "says"),
    [
        (AttributeError, lambda g, x: g.blas.gem, "did you mean 'gemv'"),
        (AttributeError, lambda g, x: g.blas.softmax, "did you mean device.elementwise.softmax"),
        (AttributeError, lambda g, x: g.bals, "did you mean 'blas'?"),
        (AttributeError, lambda g, x: g.gemm, "did you mean device.blas.gemm?"),
        (AttributeError, lambda g, x: g.einsumm, "did you mean 'einsum'?"),
        (TypeError, lambda g, x: g.blas.gemm(x, x, alhpa=3), "did you mean 'alpha'?"),
        (TypeError, lambda g, x: g.blas.gemm(x, x, dedline=3), "did you mean 'deadline'?"),
        (TypeError, lambda g, x: g.map(lambda a: a, x, dedline=3), "did you mean 'deadline'?"),
        (
            TypeError,
            lambda g, x: g.map(lambda a: a, x, tag=-1),
            "map: tag must be an integer from 0",
        ),
        (TypeError, lambda g, x: g.solver.svd(a=x, driver="jacobbi"), "did you mean 'jacobi'?"),
        (TypeError, lambda g, x: g.reduce("summ", x), "did you mean 'sum'?"),
        (TypeError, lambda g, x: g.zeros(2, "floot32"), "did you mean 'float32'?"),
        (AttributeError, lambda g, x: x.reshap, "did you mean 'reshape'?"),
        (AttributeError, lambda g, x: x.sum(), "device.reduce('sum', tensor)"),
        (AttributeError, lambda g, x: x.max(), "device.reduce('maximum', tensor)"),
        (AttributeError, lambda g, x: x.exp(), "device.map(troupe.elementwise.exp, tensor)"),
        (AttributeError, lambda g, x: g.map(lambda v: v, x).sum(), "device.reduce('sum', tensor)"),
        (AttributeError, lambda g, x: g.map(lambda v: v, x).float(), "device.tensor(tensor, 'f32'"),
    ],
)
def test_did_you_mean(gpu, kind, call, says):
    text = refused(kind, lambda: call(gpu, gpu.ones((2, 2))))
    assert says in text, text


def test_no_name_is_near_to_nonsense(gpu):
    text = refused(TypeError, lambda: gpu.blas.gemm(xyzzy_plugh=1))
    assert "did you mean" not in text


def test_did_you_mean_an_option_of_devices(system):
    text = refused(TypeError, lambda: system.device(5, bakend="cpu"))
    assert text.endswith("did you mean 'backend'?")
    text = refused(ValueError, lambda: system.device(5, backend="cudda"))
    assert text.endswith("did you mean 'cuda'?")


def test_short_names_of_reductions_are_taken(gpu):
    x = gpu.tensor(np.array([3.0, 1.0, 2.0], "f4"))
    assert gpu.reduce("max", x).item() == gpu.reduce("maximum", x).item() == 3
    assert gpu.reduce("min", x).item() == 1 and gpu.reduce("prod", x).item() == 6
    assert gpu.primitives.scan(x=x, op="max").tolist() == [3, 3, 3]
    assert "'max'" in gpu.primitives.scan.__doc__
    assert "'max'" in str(gpu.primitives.scan.__signature__.parameters["op"].annotation)


def test_masked_arrays_are_refused(gpu):
    masked = np.ma.array([1.0, 2.0], mask=[0, 1])
    x = gpu.zeros(2, "f64")
    for call in (
        lambda: gpu.tensor(masked),
        lambda: gpu.copy(masked, x),
        lambda: gpu.copy(x, masked),
        lambda: gpu.bind("masked", {"a": masked}),
    ):
        assert "array.filled(value)" in refused(TypeError, call)


def test_operations_are_named_by_modules(system):
    def mine():
        pass

    for given, says in (
        ([mine], "mine is a function: decorate it"),
        (mine, "operations=['test_refusals']"),
        ([np], "operations=['numpy']"),
        ([3], "it is 3"),
    ):
        text = refused(TypeError, lambda given=given: system.device(5, operations=given))
        assert "workers import modules" in text and says in text


# Text that reaches users of C++ alone: compiled code, symbols, and the program `troupe`.
_OF_CPP = ("libraries/", "info/", "jit/", "worker/plugins/", "core/", "request/description/builder")


def test_messages_have_no_names_of_cpp():
    source = pathlib.Path(__file__).parents[2] / "src"
    if not source.is_dir():
        pytest.skip("the sources are elsewhere")
    seen = 0
    for file in sorted(source.rglob("*.[ch]pp")):
        if str(file.relative_to(source)).startswith(_OF_CPP):
            continue
        for line in file.read_text().splitlines():
            if line.lstrip().startswith(("#", "//", "static_assert")):
                continue
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"', line):
                if re.search(r"[a-z]::[a-z]|host_tensor|\w<[a-z]+>", text):
                    seen += 1
                    assert not re.search(r"::|host_tensor|_config", errors.in_python(text)), text
    assert seen > 20


def test_messages_have_pythons_names(gpu, system):
    text = refused(troupe.Failure, lambda: system.device(5, mailbox_capacity=0, backend="cpu"))
    assert "mailbox_capacity must be 1 to" in text and "::" not in text
    text = refused(
        troupe.Failure, lambda: gpu.memory.fill(to=gpu.zeros(3), value=1, run_limit=0).result()
    )
    assert "run_limit must be positive" in text and "::" not in text
    frozen = gpu.zeros(4, own=True).freeze()
    text = refused(troupe.FrozenBuffer, lambda: gpu.memory.fill(to=frozen, value=1).result())
    assert "call tensor.thaw() first" in text
    # Texts of users stay as they are.
    why = errors.failure_from("handler_failed", "device_config::x", "device_config::x", "", "", "", "", 0, 0, 1, None)  # fmt: skip
    assert str(why) == why.message == "device_config::x"
