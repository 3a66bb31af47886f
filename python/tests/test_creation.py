"""Tensors made of a value, a range, or other tensors."""

import numpy as np
import pytest
import troupe


def test_ones(gpu):
    assert gpu.ones(3).tolist() == [1, 1, 1]
    assert gpu.ones((2, 0), "i8").shape == (2, 0)
    assert gpu.ones((), "c64").item() == 1


@pytest.mark.parametrize(
    "given",
    [(5,), (2, 7), (2, 8, 3), (5, 0, -2), (0,), (3, 3), (5, 1), (2**40, 2**40 + 3), (-3, 3, 2)],
)
def test_a_range_of_integers(gpu, given):
    made = gpu.arange(*given)
    assert made.dtype == "i64"
    np.testing.assert_array_equal(made.numpy(), np.arange(*given))


@pytest.mark.parametrize("given", [(0, 1, 0.25), (1.5,), (2.0, -1.0, -0.5), (0.0, 0.0, 1.0)])
def test_a_range_of_reals(gpu, given):
    made = gpu.arange(*given)
    assert made.dtype == "f32"
    np.testing.assert_allclose(made.numpy(), np.arange(*given), rtol=1e-6)
    assert gpu.arange(*given, dtype="f64").dtype == "f64"
    with pytest.raises(ValueError, match="step must not be 0"):
        gpu.arange(0, 1, 0.0)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_tensors_are_concatenated_and_stacked(gpu, rng, axis):
    a, b = rng.random((2, 3, 4)), rng.random((2, 3, 4))
    x, y = gpu.tensor(a), gpu.tensor(b)
    other = gpu.map(lambda v: v + 1, y)  # a result that may still be computed
    np.testing.assert_array_equal(
        gpu.concatenate([x, y, other], axis).numpy(), np.concatenate([a, b, b + 1], axis)
    )
    np.testing.assert_array_equal(gpu.stack((x, other), axis).numpy(), np.stack((a, b + 1), axis))
    # Views, other extents along the axis, and a given result.
    part = x[:, :, ::2] if axis % 3 == 2 else x[:1] if axis % 3 == 0 else x[:, 1:2]
    whole = np.concatenate([part.numpy(), b], axis)
    out = gpu.empty(whole.shape, "f64")
    assert gpu.concatenate([part, y], axis, out=out) is out
    np.testing.assert_array_equal(out.numpy(), whole)


def test_what_does_not_go_together_is_refused(gpu):
    x = gpu.ones((2, 3))
    for call, says in (
        (lambda: gpu.concatenate([]), "at least one tensor"),
        (lambda: gpu.concatenate([x, gpu.ones((2, 4))]), r"tensor 1 is \[2, 4\]"),
        (lambda: gpu.concatenate([x, gpu.ones((2, 3), "f64")]), "must have one type"),
        (lambda: gpu.concatenate([x, np.ones((2, 3))]), r"tensors\[1\] must be a troupe.Tensor"),
        (lambda: gpu.concatenate([x, x], 2), r"stack\(\) puts"),
        (lambda: gpu.concatenate([x, x], out=x), r"out must be f32\[4, 3\]"),
        (lambda: gpu.stack([x, gpu.ones(3)]), "must have one shape"),
        (lambda: gpu.stack([x], 3), "axis must be one of the 3"),
    ):
        with pytest.raises((TypeError, ValueError), match=says):
            call()


def test_a_failed_part_is_raised_or_taints(gpu):
    x, y = gpu.zeros(3), gpu.zeros(3)
    coming = gpu.fault.inject(what="abort", output=y)
    with pytest.raises(troupe.TaintedBuffer):
        gpu.concatenate([x, y]).numpy()
    coming.exception()
    for call in (gpu.concatenate, gpu.stack):
        with pytest.raises(troupe.TaintedBuffer, match="fault.inject"):
            call([x, y])
    gpu.forgive_all()
