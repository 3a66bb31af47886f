"""Tensors: to NumPy and back in every type, views, files, memory used in place."""

import json

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


def test_memory_is_mapped_in_place(gpu, rng, on_gpu):
    array = rng.random(100)
    t = gpu.tensor(array)
    if on_gpu:
        torch = pytest.importorskip("torch")
        torch.cuda.set_device(t._ordinal)
        torch.zeros(1, device="cuda")
        with t.mapped() as m:
            assert m.__cuda_array_interface__["shape"] == (100,)
            torch.from_dlpack(m).mul_(2)
            torch.cuda.synchronize()
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


def test_files_are_loaded_frozen(gpu, rng, tmp_path):
    array = rng.random((300, 70)).astype("f4")
    np.save(tmp_path / "a.npy", array)
    seen = []
    t = gpu.load(tmp_path / "a.npy", progress=lambda done, total: seen.append((done, total)))
    assert t.frozen and seen[-1] == (array.nbytes, array.nbytes)
    np.testing.assert_array_equal(t.numpy(), array)

    from safetensors.numpy import save_file

    save_file({"w": array, "b": array[0].astype(ml_dtypes.bfloat16), "n": np.zeros((0, 3), "i4")},
              tmp_path / "m.safetensors")  # fmt: skip
    model = gpu.load(tmp_path / "m.safetensors", freeze=False)
    assert {k: (v.dtype, v.shape) for k, v in model.items()} == {
        "w": ("f32", (300, 70)), "b": ("bf16", (70,)), "n": ("i32", (0, 3))}  # fmt: skip
    np.testing.assert_array_equal(model["w"].numpy(), array)


@pytest.mark.parametrize(
    ("header", "text"),
    [
        (b"\xff" * 8, "its header has"),
        (b"\x05" + b"\x00" * 7 + b"{bad}", "no JSON"),
        (
            {"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 99]}},
            "lies at 0 … 99 of 8 bytes",
        ),
        ({"w": {"dtype": "F32", "shape": [4], "data_offsets": [0, 8]}}, "16 bytes, but has 8"),
        ({"w": {"dtype": "Q3", "shape": [4], "data_offsets": [0, 8]}}, "type Q3"),
        ({"w": {"dtype": "F32"}}, "described wrongly"),
    ],
)
def test_broken_files_are_refused(gpu, tmp_path, header, text):
    if isinstance(header, dict):
        encoded = json.dumps(header).encode()
        header = len(encoded).to_bytes(8, "little") + encoded + bytes(8)
    (tmp_path / "m.safetensors").write_bytes(header)
    with pytest.raises((ValueError, TypeError), match=text):
        gpu.load(tmp_path / "m.safetensors")
