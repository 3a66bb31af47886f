"""An argument of a wrong type is a TypeError that names the given type."""

import re

import numpy as np
import pytest
import troupe


def test_an_order_or_a_shape_is_several_numbers_or_a_sequence(gpu, rng):
    array = rng.random((2, 3, 4, 5))
    t = gpu.tensor(array)
    for order in ((0, 3, 1, 2), [0, 3, 1, 2], np.array([0, 3, 1, 2]), range(4), (0, -1, -3, -2)):
        expected = array.transpose(list(order))
        np.testing.assert_array_equal(t.permute(order).numpy(), expected)
        np.testing.assert_array_equal(t.permute(*order).numpy(), expected)
    for shape in ((6, 20), [6, -1], np.array([2, 60]), (120,)):
        np.testing.assert_array_equal(t.reshape(shape).numpy(), array.reshape(shape))
        np.testing.assert_array_equal(t.reshape(*shape).numpy(), array.reshape(shape))
        if -1 not in shape:
            assert gpu.empty(shape).shape == tuple(shape)
    assert gpu.empty(np.int64(3)).shape == (3,)
    assert gpu.tensor(2.0).permute().shape == gpu.tensor(2.0).permute(()).shape == ()
    np.testing.assert_array_equal(t[np.int64(1), ..., 2].numpy(), array[1, ..., 2])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda t: t.permute("abcd"), "permute() must be a sequence of integers; it is 'abcd'"),
        (lambda t: t.permute(0, 1, 2.0), "it is (0, 1, 2.0)"),
        (lambda t: t.permute((0, 1), 2), "it is ((0, 1), 2)"),
        (lambda t: t.permute(None), "it is None"),
        (lambda t: t.reshape(6.0, 4), "reshape() must be a sequence of integers; it is (6.0, 4)"),
        (lambda t: t.reshape("24"), "it is '24'"),
        (lambda t: t["a"], "a tensor is indexed by integers, slices and"),
        (lambda t: t[[0, 1]], "a tensor is indexed by integers, slices and"),
        (lambda t: t.transpose("a", 1), "incompatible function arguments"),
    ],
)
def test_views(gpu, call, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        call(gpu.empty((2, 3, 4)))


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda g, s: g.empty(3, s), r"no element type is called '\ud800é'"),
        (lambda g, s: g.tensor([1.0], s), r"no element type is called '\ud800é'"),
        (lambda g, s: g.einsum(s, g.zeros(3)), r"modes must be text that UTF-8 can encode; it is '\ud800é->"),
        (lambda g, s: g.solver.svd(a=g.zeros((2, 2)), driver=s), r"driver must be one of"),
        (lambda g, s: g.blas.gemm(a=s * 90, b=g.zeros((2, 2))), r"a must be a troupe.Tensor; it is '\ud800é\ud800é"),
        (lambda g, s: g.blas.gemm(a="é" * 90, b=g.zeros((2, 2))), "a must be a troupe.Tensor; it is 'éé"),
        (lambda g, s: g.blas.gemm(**{s: 1}), r"has no argument \ud800é"),
        (lambda g, s: getattr(g, s), r"a device has no '\ud800é'"),
        (lambda g, s: getattr(g.blas, s), r"blas has no request '\ud800é'"),
    ],
)  # fmt: skip
def test_text_that_has_no_utf8_is_shown_escaped(gpu, call, says):
    with pytest.raises((TypeError, ValueError, AttributeError), match=re.escape(says)):
        call(gpu, "\ud800é")


def test_names_and_paths_without_utf8_are_refused_by_name(system):
    with pytest.raises(
        ValueError, match=r"name must be text that UTF-8 can encode; it is '\\ud800'"
    ):
        system.spawn(type("A", (troupe.Actor,), {}), name="\ud800")
    for options, says in (
        ({"trace": "\ud800"}, "trace must be a path that the file system can encode"),
        ({"plugins": ["\ud800"]}, "plugins must be a path that the file system can encode"),
        ({"backend": "\ud800"}, "backend must be text that UTF-8 can encode"),
        ({"\ud800": 1}, "no option"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            system.device(7, **options)


def test_orders_that_are_none_say_so(gpu):
    t = gpu.empty((2, 3, 4))
    with pytest.raises(IndexError, match="dimension 3 of a tensor of rank 3"):
        t.permute((0, 1, 3))
    with pytest.raises(troupe.InvalidArgument, match=r"\[0, 1\] is no permutation"):
        t.permute((0, 1))
    with pytest.raises(troupe.InvalidArgument, match=r"\[0, 1, 1\] is no permutation"):
        t.permute(0, 1, 1)
    with pytest.raises(troupe.Failure):
        t.reshape(1 << 40, 1 << 40, -1)
    with pytest.raises(OverflowError):
        t.permute(1 << 70, 0, 1)


@pytest.mark.parametrize(
    ("shape", "dtype", "says"),
    [
        ((2, 3.5), "f32", "shape must be a sequence of integers; it is (2, 3.5)"),
        (2.5, "f32", "it is 2.5"),
        (None, "f32", "incompatible function arguments"),
        (3, 7, "no element type is called '7'"),
        (3, None, "incompatible function arguments"),
    ],
)
def test_new_tensors(gpu, shape, dtype, says):
    for make in (gpu.empty, gpu.zeros, gpu.host_empty):
        with pytest.raises(TypeError, match=re.escape(says)):
            make(shape, dtype)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"run_limit": "soon"}, "memory.fill: run_limit must be a number of seconds; it is 'soon'"),
        ({"deadline": [1]}, "memory.fill: deadline must be a number of seconds; it is [1]"),
        ({"quarantine": 1}, "memory.fill: quarantine must be True or False; it is 1"),
        ({"value": "much"}, "memory.fill: value must be a number; it is 'much'"),
        ({"to": 3}, "memory.fill: to must be a troupe.Tensor; it is 3"),
    ],
)
def test_options_of_requests(gpu, options, says):
    with pytest.raises(TypeError, match=re.escape(says)):
        gpu.memory.fill(**{"to": gpu.empty(3), "value": 1, **options})


def test_a_time_is_a_number(gpu):
    x = gpu.empty(3)
    with pytest.raises(ValueError, match="must be a number; it is nan"):
        gpu.memory.fill(to=x, value=1, deadline=float("nan"))
    with pytest.raises(ValueError, match="must be a number; it is nan"):
        gpu.memory.fill(to=x, value=1).result(timeout=float("nan"))
    gpu.memory.fill(to=x, value=1, deadline=float("inf"), run_limit=None).result(timeout=30)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"backend": 3}, "backend must be a str; it is 3"),
        ({"isolation": None}, "isolation must be a str; it is None"),
        ({"full": 1.5}, "full must be a str; it is 1.5"),
        ({"gpu": 1.5}, "gpu must be a number, a UUID or 'any'; it is 1.5"),
        ({"gpu": 1 << 40}, "gpu must be a number, a UUID or 'any'; it is 1099511627776"),
        ({"lanes": 2.5}, "lanes must be a number, 'one' or 'per_library'; it is 2.5"),
        ({"lane_threads": "2"}, "lane_threads must be an integer; it is '2'"),
        ({"restarts": 2.5}, "restarts must be an integer; it is 2.5"),
        ({"mailbox_capacity": -1}, "mailbox_capacity must be a number that is not negative; it is"),
        ({"memory_limit_bytes": 1e9}, "memory_limit_bytes must be a number that is not negative"),
        ({"standby": "yes"}, "standby must be True or False; it is 'yes'"),
        ({"fault_injection": 1}, "fault_injection must be True or False; it is 1"),
        ({"run_limit": "1"}, "run_limit must be a number of seconds; it is '1'"),
        ({"start_timeout": [1]}, "start_timeout must be a number of seconds; it is [1]"),
        ({"libraries": "blas"}, "libraries must be a list of names; it is 'blas'"),
        ({"libraries": [1]}, "libraries must be a list of names; it is [1]"),
        ({"methods": "loops"}, "methods must be a dict; it is 'loops'"),
        (
            {"methods": {"blas": "loops"}},
            "methods has dnn, tensors and elementwise; 'blas' is given",
        ),
        ({"methods": {"dnn": 3}}, "methods['dnn'] must be a str; it is 3"),
        ({"plugins": 3}, "plugins must be a path, or a list of paths; it is 3"),
        ({"plugins": [3]}, "plugins must be a path, or a list of paths; it is [3]"),
        ({"trace": 3}, "it is 3|not int"),
    ],
)
def test_options_of_devices(options, says):
    with troupe.System() as system, pytest.raises(TypeError) as caught:
        system.device(0, **options)
    assert any(one in str(caught.value) for one in says.split("|"))


def test_methods_of_libraries():
    with troupe.System() as system:
        with pytest.raises(
            ValueError, match=r"methods\['tensors'\] must be one of 'automatic', 'produ"
        ):
            system.device(0, methods={"tensors": "loops"})
        gpu = system.device(0, backend="cpu", methods={"dnn": "loops", "elementwise": "automatic"})
        x, w = gpu.tensor(np.ones((1, 1, 4, 4), "f4")), gpu.tensor(np.ones((1, 1, 3, 3), "f4"))
        assert gpu.dnn.convolution_forward(x=x, w=w).result().tolist() == [[[[9, 9], [9, 9]]]]


def test_one_plugin_needs_no_list():
    with troupe.System() as system, pytest.raises(troupe.Failure, match="/nowhere/plugin.so"):
        system.device(0, backend="cpu", plugins="/nowhere/plugin.so")


def test_axes(gpu):
    x = gpu.tensor(np.ones((2, 3), "f4"))
    with pytest.raises(TypeError, match="axis must be a sequence of integers; it is 'rows'"):
        gpu.reduce("sum", x, axis="rows")
    with pytest.raises(TypeError, match=r"axis must be .*; it is 1.5"):
        gpu.rows(lambda v: v, x, axis=1.5)
    np.testing.assert_array_equal(gpu.reduce("sum", x, axis=np.int64(1)).result().numpy(), [3, 3])


def test_actors():
    class Idle(troupe.Actor):
        supervision = troupe.Supervision(restarts="three")

    class Restless(troupe.Actor):
        supervision = troupe.Supervision(window=None)

    with troupe.System() as system:
        with pytest.raises(TypeError, match="restarts must be an integer; it is 'three'"):
            system.spawn(Idle)
        with pytest.raises(TypeError, match="window must be a number of seconds; it is None"):
            system.spawn(Restless)
        with pytest.raises(TypeError, match="capacity must be an integer; it is 'all'"):
            system.spawn(troupe.Actor, capacity="all")
        with pytest.raises(TypeError, match="name must be a str; it is 3"):
            system.spawn(troupe.Actor, name=3)
