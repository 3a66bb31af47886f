"""Files of weights: what the formats allow is loaded, and what they forbid is refused by name."""

import json
import os

import ml_dtypes
import numpy as np
import pytest
import troupe


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


def safetensors(path, header, data):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return path


ONE = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
TWICE = b'{"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}'


@pytest.mark.parametrize(
    ("header", "size", "says"),
    [
        ({"t": {**ONE, "data_offsets": [0, 99]}}, 8, "8 bytes, but lies at 0 … 99"),
        ({"t": {**ONE, "shape": [1000, 1000]}}, 8, "4000000 bytes, but lies at 0 … 8"),
        ({"t": {**ONE, "shape": [1]}}, 8, "4 bytes, but lies at 0 … 8"),
        ({"t": {**ONE, "data_offsets": [8, 0]}}, 8, "lies at 8 … 0"),
        ({"t": {**ONE, "data_offsets": [-8, 0]}}, 8, "described wrongly"),
        ({"t": {**ONE, "data_offsets": [0, 4, 8]}}, 8, "described wrongly"),
        ({"t": {**ONE, "shape": [-1, -2]}}, 8, "described wrongly"),
        ({"t": {**ONE, "shape": [2.5]}}, 8, "described wrongly"),
        ({"t": {**ONE, "shape": [True, 2]}}, 8, "described wrongly"),
        ({"t": {**ONE, "shape": "2"}}, 8, "described wrongly"),
        ({"t": {**ONE, "shape": [2**62, 4], "data_offsets": [0, 0]}}, 0, "but lies at 0 … 0"),
        ({"t": {**ONE, "shape": [2**62, 4, 0], "data_offsets": [0, 0]}}, 0, "'t'"),
        ({"t": {**ONE, "shape": [1] * 20, "data_offsets": [0, 4]}}, 4, "'t'"),
        ({"t": {"dtype": "F32"}}, 8, "described wrongly"),
        ({"t": "F32"}, 0, "described wrongly"),
        ({"t": {**ONE, "dtype": "F4"}}, 8, "'t' has elements of type 'F4'"),
        ({"t": ONE}, 4, "its tensors have 8 bytes, and behind its header are 4"),
        ({"t": ONE}, 12, "its tensors have 8 bytes, and behind its header are 12"),
        ({"a": ONE, "b": ONE}, 8, "'b' overlaps what is before it"),
        ({"a": ONE, "b": {**ONE, "data_offsets": [4, 12]}}, 12, "'b' overlaps"),
        ({"a": ONE, "b": {**ONE, "data_offsets": [12, 20]}}, 20, "'b' leaves a hole"),
        ({"t": ONE, "__metadata__": {"a": 1}}, 8, "__metadata__ is no map"),
        ({"\ud800": ONE}, 8, "no JSON"),
        (TWICE, 8, "its header has 't' twice"),
        (b"{bad}", 0, "no JSON"),
        (b"{bad", 0, "no JSON"),
        (b'{"t": NaN}', 0, "NaN is no number"),
        (b'{"\xff": 1}', 0, "no JSON"),
        ('{"t": 1}'.encode("utf-16"), 0, "does not begin with"),
        (b" {}", 0, "does not begin with"),
        (b"[1]", 0, "does not begin with"),
        pytest.param(b"[" * 3000 + b"]" * 3000, 0, "does not begin with", id="brackets"),
        pytest.param(b'{"t": ' + b"[" * 200_000, 0, "nested too deeply", id="deep"),
    ],
)  # fmt: skip
def test_what_the_format_forbids_is_refused(gpu, tmp_path, header, size, says):
    path = safetensors(tmp_path / "m.safetensors", header, bytes(size))
    with pytest.raises((ValueError, TypeError, troupe.Failure)) as why:
        gpu.load(path)
    assert says in str(why.value) and str(path) in str(why.value)


@pytest.mark.parametrize(
    "data", [b"", bytes(7), b"\xff" * 8, (10**6).to_bytes(8, "little") + b"{}"]
)
def test_what_is_too_short_is_refused(gpu, tmp_path, data):
    (tmp_path / "m.safetensors").write_bytes(data)
    with pytest.raises(
        ValueError, match="m.safetensors: it is no safetensors file: its header has"
    ):
        gpu.load(tmp_path / "m.safetensors")


@pytest.mark.parametrize("freeze", [True, False])
def test_what_the_format_allows_is_loaded(gpu, tmp_path, freeze):
    given = {
        "empty": np.zeros((3, 0, 2), "i8"), "none": np.zeros(0, "f4"), "one": np.array(3.5, "f4"),
        "flags": np.array([True, False]), "half": np.array([1, 2], "f2"), "u": np.array([2**63], "u8"),
        "bf": np.array([1, 2], ml_dtypes.bfloat16), "ß": np.arange(6.0).reshape(2, 3),
    }  # fmt: skip
    from safetensors.numpy import save_file

    save_file(given, tmp_path / "m.safetensors", metadata={"format": "np"})
    got = gpu.load(tmp_path / "m.safetensors", freeze=freeze)
    assert set(got) == set(given)
    for name, array in given.items():
        assert got[name].frozen == freeze and got[name].shape == array.shape
        np.testing.assert_array_equal(got[name].numpy(), array)
    assert gpu.load(safetensors(tmp_path / "none.safetensors", {}, b"")) == {}


@pytest.mark.parametrize("dtype", ["<f4", ">f2", ">f8", ">i4", ">u8", ">c8", "?", "i1", "c16"])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (2, 3, 4)], ids=str)
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_numpy(gpu, rng, tmp_path, dtype, shape, order):
    array = np.asarray(rng.integers(0, 2, shape) * 3, dtype, order=order)
    np.save(tmp_path / "a.npy", array)
    got = gpu.load(tmp_path / "a.npy")
    assert got.shape == shape and got.frozen
    np.testing.assert_array_equal(got.numpy(), array)


@pytest.mark.parametrize("dtype", ["O", "S3", "M8[s]", "f4,i4", "f16", "V2"])
def test_arrays_without_numbers_are_refused(gpu, tmp_path, dtype):
    np.save(tmp_path / "a.npy", np.zeros(3, dtype), allow_pickle=True)
    with pytest.raises(TypeError, match=r"a\.npy: it ") as why:
        gpu.load(tmp_path / "a.npy")
    assert dtype not in ("f16", "V2") or "which no device has" in str(why.value)


@pytest.mark.parametrize("size", [0, 5, 60, 300])
def test_arrays_that_are_cut_are_refused(gpu, tmp_path, size):
    np.save(tmp_path / "a.npy", np.arange(100.0))
    os.truncate(tmp_path / "a.npy", size)
    with pytest.raises(ValueError, match=r"a\.npy"):
        gpu.load(tmp_path / "a.npy")


@pytest.mark.parametrize("name", ["a.npy", "m.safetensors"])
def test_a_file_that_is_cut_while_it_is_read_is_an_error(gpu, tmp_path, monkeypatch, name):
    monkeypatch.setattr("troupe.loading._CHUNK", 64 << 10)
    path = tmp_path / name
    if name == "a.npy":
        np.save(path, np.zeros(1 << 20, "u1"))
    else:
        entry = {"dtype": "U8", "shape": [1 << 20], "data_offsets": [0, 1 << 20]}
        safetensors(path, {"w": entry}, bytes(1 << 20))

    def cut(done, total):
        os.truncate(path, 1 << 10)

    with pytest.raises(ValueError, match="it was cut while it was read"):
        gpu.load(path, progress=cut)
    np.testing.assert_array_equal(gpu.tensor([1.0]).numpy(), 1)
