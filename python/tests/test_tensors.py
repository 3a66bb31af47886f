"""Tensors: to NumPy and back in every type, views, memory used in place."""

import ml_dtypes
import numpy as np
import pytest
import troupe

TYPES = {
    "f64": "f8", "f32": "f4", "f16": "f2", "c64": "c8", "c128": "c16", "i8": "int8", "u8": "uint8",
    "i16": "i2", "u16": "u2", "i32": "i4", "u32": "u4", "i64": "int64", "u64": "uint64",
    "bool": "bool", "bf16": ml_dtypes.bfloat16, "e4m3": ml_dtypes.float8_e4m3fn,
    "e5m2": ml_dtypes.float8_e5m2,
}  # fmt: skip


@pytest.mark.parametrize("name", TYPES)
def test_every_type_goes_there_and_back(gpu, rng, name):
    array = (rng.random((5, 3)) * 100).astype(TYPES[name])
    t = gpu.tensor(array)
    assert (t.dtype, t.shape, t.ndim, t.size) == (name, (5, 3), 2, 15)
    assert t.nbytes == array.nbytes
    back = t.numpy()
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    assert np.asarray(t).dtype == array.dtype
    other = np.empty_like(array)
    assert gpu.copy(t, other).result() is other
    np.testing.assert_array_equal(other, array)


@pytest.mark.parametrize(
    ("named", "dtype"),
    [("f4", "f32"), ("float64", "f64"), (np.float16, "f16"), (np.dtype("complex64"), "c64"),
     (float, "f64"), (int, "i64"), (ml_dtypes.bfloat16, "bf16"), ("torch.bfloat16", "bf16"),
     ("i8", "i8"), ("bool", "bool"), (np.bool_, "bool")],
)  # fmt: skip
def test_element_types_have_many_names(gpu, named, dtype):
    assert gpu.empty(3, named).dtype == dtype


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (2, 3, 4, 5)])
def test_every_shape(gpu, rng, shape):
    array = rng.random(shape)
    np.testing.assert_array_equal(gpu.tensor(array).numpy(), array)


def test_what_lies_strangely_is_copied(gpu, rng):
    array = rng.random((6, 8))
    for strange in (array[::-1], array.T, array[::2, 1::3], array.astype(">f8"), array[:0]):
        np.testing.assert_array_equal(gpu.tensor(strange).numpy(), strange)
    assert gpu.tensor([[1, 2], [3, 4]]).dtype == "i64"
    assert gpu.tensor(2.5).item() == 2.5
    assert gpu.tensor([1, 2], "bf16").tolist() == [1, 2]


def test_views_are_of_the_same_memory(gpu, rng):
    array = rng.random((4, 5, 6))
    t = gpu.tensor(array)
    for view, expected in [
        (t[1], array[1]),
        (t[-1, 2], array[-1, 2]),
        (t[1:3, ::2], array[1:3, ::2]),
        (t[..., 3], array[..., 3]),
        (t[0, ..., 1:], array[0, ..., 1:]),
        (t[3:1], array[3:1]),
        (t.T, array.swapaxes(-1, -2)),
        (t.permute(2, 0, 1), array.transpose(2, 0, 1)),
        (t.transpose(0, -1), array.swapaxes(0, -1)),
        (t.reshape(20, 6), array.reshape(20, 6)),
        (t.reshape((2, -1)), array.reshape(2, -1)),
    ]:
        assert view.shape == expected.shape
        np.testing.assert_array_equal(view.numpy(), expected)
    gpu.memory.fill(to=t[0], value=0)
    np.testing.assert_array_equal(t.numpy()[0], 0)
    assert len(t) == 4


def test_a_repr_says_what_it_is(gpu):
    t = gpu.empty((4, 2), "bf16", own=True)
    assert repr(t) == "troupe.Tensor(shape=[4, 2], dtype=bf16, device=0)"
    assert "strides=[1, 2]" in repr(t.T)
    assert "frozen" in repr(t.freeze())
    assert "host memory" in repr(gpu.host_empty(3))


def test_frozen_tensors_are_not_written(gpu):
    t = gpu.tensor(np.ones(4)).freeze()
    assert t.frozen
    with pytest.raises(troupe.FrozenBuffer):
        gpu.memory.fill(to=t, value=0).result()
    np.testing.assert_array_equal(t.numpy(), 1)
    assert not t.thaw().frozen
    gpu.memory.fill(to=t, value=0).result()
    np.testing.assert_array_equal(t.numpy(), 0)


def test_host_memory_is_used_in_place(gpu, rng):
    host = gpu.host_empty((3, 4), "f32")
    array = host.in_place()
    array[:] = rng.random((3, 4))
    t = gpu.empty((3, 4))
    gpu.copy(host, t).result()
    np.testing.assert_array_equal(t.numpy(), array)
    del host
    np.testing.assert_array_equal(t.numpy(), array)  # the array keeps its memory
    with pytest.raises(TypeError, match="numpy\\(\\) copies them"):
        t.in_place()


def test_memory_is_mapped_in_place(gpu, rng, on_gpu, cuda_context):
    array = rng.random(100)
    t = gpu.tensor(array)
    if on_gpu:
        with t.mapped() as m:
            assert m.__cuda_array_interface__["shape"] == (100,)
            cuda_context.from_dlpack(m).mul_(2)
            cuda_context.cuda.synchronize()
    else:
        with t.mapped() as m:
            assert np.from_dlpack(m).shape == (100,)
            m.numpy()[:] *= 2
            with pytest.raises(AttributeError):
                m.__cuda_array_interface__
    np.testing.assert_array_equal(t.numpy(), array * 2)
    with pytest.raises(ValueError, match="unmapped"):
        m.shape


def test_torch_goes_both_ways(gpu, on_gpu):
    torch = pytest.importorskip("torch")
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.complex64):
        value = torch.arange(12).reshape(3, 4).to(dtype)
        t = gpu.tensor(value)
        np.testing.assert_array_equal(t.numpy().astype("c16"), value.to(torch.complex128).numpy())
        if on_gpu:
            np.testing.assert_array_equal(gpu.tensor(value.cuda()).numpy(), t.numpy())


def test_copies_check_shapes(gpu):
    t = gpu.empty((2, 3))
    with pytest.raises(ValueError, match=r"to has shape \(2, 3\), and the array \(3, 2\)"):
        gpu.copy(np.ones((3, 2), "f4"), t)
    with pytest.raises(troupe.TypeMismatch):
        gpu.copy(np.ones((2, 3)), t).result()
    with pytest.raises(TypeError, match="has to be a troupe.Tensor"):
        gpu.copy(np.ones(2), np.ones(2))


def test_a_source_outlives_a_dropped_future(gpu):
    t = gpu.empty(1 << 20)
    for value in range(20):
        gpu.copy(np.full(1 << 20, value, "f4"), t)
    np.testing.assert_array_equal(t.numpy(), 19)


@pytest.mark.parametrize("dtype", [">f2", ">f4", ">f8", ">i2", ">u4", ">i8", ">c8", ">c16"])
def test_the_byte_order_of_arrays_is_theirs(gpu, dtype):
    array = np.array([1, 2, 300], dtype)
    t = gpu.tensor(array)
    np.testing.assert_array_equal(t.numpy(), array)
    y = gpu.zeros(3, t.dtype)
    gpu.copy(array, y).result()
    np.testing.assert_array_equal(y.numpy(), array)
    with pytest.raises(TypeError, match="the other byte order"):
        gpu.copy(y, np.zeros(3, dtype))


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(300, "u8"), (-1, "u8"), (2**40, "i32"), (2**63, "i64"), ([1, 300], "u8"), ([[-1]], "u64"),
     (range(-1, 3), "u16"), ((2**64,), "u64"), (2**70, None)],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(gpu, value, dtype):
    with pytest.raises((OverflowError, TypeError)):
        gpu.tensor(value, dtype)


def test_numbers_in_range_are_kept(gpu):
    assert gpu.tensor([255, 0], "u8").tolist() == [255, 0]
    assert gpu.tensor(2**64 - 1, "u64").item() == 2**64 - 1
    assert gpu.tensor([True, 2], "i16").tolist() == [1, 2]
    assert gpu.tensor(np.array([300]), "u8").tolist() == [44]  # as astype
    assert gpu.tensor([[1, 2], [3, 4]], "f32").tolist() == [[1, 2], [3, 4]]
    with pytest.raises(TypeError, match="array of Python objects"):
        gpu.tensor([1, None], "f32")


@pytest.mark.parametrize("index", [True, False, np.True_, (0, True)])
def test_a_mask_is_no_index(gpu, index):
    with pytest.raises(TypeError, match=r"numpy\(\)"):
        gpu.zeros((2, 3))[index]


def test_mapped_memory_is_exported_as_it_is(gpu, on_gpu):
    if on_gpu:
        pytest.skip("NumPy shows no GPU's memory")
    array = np.arange(24.0).reshape(4, 6)
    t = gpu.tensor(array)
    for view, expected in ((t.T, array.T), (t[1:3, ::2], array[1:3, ::2]), (t[0, 0], array[0, 0])):
        with view.mapped("read") as m:
            np.testing.assert_array_equal(np.from_dlpack(m), expected)
            np.testing.assert_array_equal(m.numpy(), expected)
            assert not np.from_dlpack(m).flags.writeable
    m = t.mapped("read")
    shown = np.from_dlpack(m)
    del t, m
    np.testing.assert_array_equal(shown, array)  # it keeps the memory
