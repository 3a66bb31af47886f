"""Between tensors and the arrays of NumPy, torch, CuPy and JAX. NumPy is imported when used."""

from __future__ import annotations

from ._core import Device, Future, MappedTensor, Tensor

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# NumPy has none of these: their bits are there, and ml_dtypes has the types.
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
_NAMES = {
    "f64": "float64", "f32": "float32", "f16": "float16", "bf16": "bfloat16",
    "e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "c64": "complex64", "c128": "complex128",
    "i8": "int8", "u8": "uint8", "i16": "int16", "u16": "uint16", "i32": "int32", "u32": "uint32",
    "i64": "int64", "u64": "uint64", "bool": "bool",
}  # fmt: skip


def _numpy_type(name: str) -> Any:
    """NumPy's type object for NumPy's or ml_dtypes' name of a type."""
    import numpy as np

    if name not in _BITS:
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError:
        raise TypeError(
            f"NumPy has no {name}: install ml_dtypes, or convert first with "
            "device.memory.convert(from_=tensor, to=device.empty(tensor.shape, 'f32'))"
        ) from None
    return np.dtype(getattr(ml_dtypes, name))


def typestr(name: str) -> str:
    """The array interface's name of a type: of one that NumPy lacks, that of its bits."""
    import numpy as np

    return np.dtype(_BITS.get(name, name)).str


def make_array(shape: tuple[int, ...], name: str) -> tuple[Any, Any]:
    """A new array, and the bytes of it, to be written to."""
    import numpy as np

    made = np.empty(shape, _numpy_type(name))
    return made, made.reshape(-1).view(np.uint8)


class _InPlace:
    """The array interface of memory that NumPy does not own."""

    def __init__(self, owner: object, interface: dict[str, Any]) -> None:
        self.owner = owner
        self.__array_interface__ = interface


def array_in_place(owner: object, interface: dict[str, Any], name: str) -> Any:
    import numpy as np

    made = np.asarray(_InPlace(owner, interface))
    return made.view(_numpy_type(name)) if name in _BITS else made


def _is_torch(value: Any) -> bool:
    return type(value).__module__.split(".")[0] == "torch" and hasattr(value, "data_ptr")


def _source(value: Any, dtype: Any) -> tuple[Any, tuple[int, ...], str]:
    """Contiguous bytes, shape and NumPy's type name of anything that an array can be made of."""
    import numpy as np

    _refuse_masked(value)
    if _is_torch(value):
        import torch

        value = value.detach().cpu().resolve_conj().contiguous()
        name = str(value.dtype).removeprefix("torch.")
        if name in _BITS:
            bits = torch.int16 if _BITS[name] == "uint16" else torch.uint8
            value = value.view(bits).numpy().view(_numpy_type(name))
        else:
            value = value.numpy()
    array = np.asarray(value)
    if array.dtype == object:
        raise TypeError(
            f"an array of Python objects cannot be copied to a device: {_short(value)}; "
            "its elements have to be numbers, and its rows equally long"
        )
    if dtype is not None:
        wanted = _numpy_type(_name_of(dtype))
        if wanted.kind in "iu" and isinstance(value, (int, float, list, tuple, range)):
            array = np.array(value, wanted)  # refuses values out of range, which a cast would wrap
        array = array.astype(wanted, copy=False)
    if array.dtype.name not in _NAMES.values():
        raise TypeError(
            f"a device has no elements of NumPy's type {array.dtype}; there are "
            + ", ".join(_NAMES.values())
        )
    if array.dtype.byteorder == ">":
        array = array.astype(array.dtype.newbyteorder("="))
    array = np.ascontiguousarray(array).reshape(array.shape)
    return array.reshape(-1).view(np.uint8), array.shape, array.dtype.name


def _refuse_masked(value: Any) -> None:
    import numpy as np

    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            "a masked array would lose its mask: give array.filled(value), or array.data and "
            "array.mask, as two tensors"
        )


def _name_of(dtype: Any) -> str:
    from ._core import _dtype_name

    return _NAMES[_dtype_name(dtype)]


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def tensor(self: Device, value: Any, dtype: Any = None, *, own: bool = False) -> Tensor:
    """Copies an array (NumPy, torch, CuPy, a list, a number) to a new tensor on the device.

    Returns when the source may be changed again. dtype converts on the way. own: in a piece of
    memory of its own, so that it can be frozen without a copy.

    The memory of NumPy arrays is pageable, so the copy is staged; `host_empty()` has memory that
    copies need no staging for.
    """
    if isinstance(value, Future):
        value = value.result()
    if isinstance(value, Tensor):
        made = self.empty(value.shape, dtype or value.dtype, own)
        if made.dtype == value.dtype:
            self.copy(value, made).result()
        else:
            self.memory.convert(from_=value, to=made).result()
        return made
    if _is_torch(value) and value.is_cuda and dtype is None:
        return _from_torch_gpu(self, value, own)
    if hasattr(value, "__cuda_array_interface__") and hasattr(value, "get"):
        value = value.get()  # CuPy
    data, shape, name = _source(value, dtype)
    made = self.empty(shape, name, own)
    self._copy_in(data, name, made).result()
    return made


def _from_torch_gpu(device: Device, value: Any, own: bool) -> Tensor:
    import torch

    made = device.empty(tuple(value.shape), value.dtype, own)
    if made._device_type != "cuda":
        return tensor(device, value.cpu(), own=own)
    with torch.cuda.device(made._ordinal), made.mapped("write") as target:
        torch.utils.dlpack.from_dlpack(target).copy_(value.detach())
        torch.cuda.synchronize()
    return made


def copy(self: Device, source: Any, to: Any) -> Future[Any]:
    """Copies elements between tensors, or between a tensor and an array. Returns a Future of `to`.

    Shapes and types have to be equal. An array that is the source is not to change, and one that
    is the target not to be used, until the future is done.
    """
    source_is_tensor, to_is_tensor = (isinstance(x, (Tensor, Future)) for x in (source, to))
    if source_is_tensor and to_is_tensor:
        return self._copy(source, to)
    import numpy as np

    if to_is_tensor:
        data, shape, name = _source(source, None)
        _expect_shape("to", to.shape, shape)
        return self._copy_in(data, name, to)
    if source_is_tensor and isinstance(to, np.ndarray):
        _refuse_masked(to)
        if not (to.flags.c_contiguous and to.flags.writeable):
            raise ValueError("copy: the target array has to be contiguous (row-major) and writable")
        _expect_shape("source", source.shape, to.shape)
        if not to.dtype.isnative:
            raise TypeError(
                f"copy: the elements of the target array have the other byte order ({to.dtype.str}); "
                "copy to one of the native type, or use numpy()"
            )
        return self._copy_out(source, to.reshape(-1).view(np.uint8), to.dtype.name, to)
    raise TypeError(
        "copy: one of source and to has to be a troupe.Tensor, and a target that is none has to be "
        f"a numpy.ndarray; they are {_short(source)} and {_short(to)}"
    )


def _expect_shape(what: str, tensor_shape: tuple[int, ...], array_shape: tuple[int, ...]) -> None:
    if tuple(tensor_shape) != tuple(array_shape):
        raise ValueError(
            f"copy: {what} has shape {tuple(tensor_shape)}, and the array {tuple(array_shape)}"
        )


def mapped(
    self: Tensor, access: str = "update", timeout: float | None = None, *, wait: bool = True
) -> MappedTensor | Future[MappedTensor]:
    """Maps the tensor for the program's own code, once earlier requests are done with it.

    On a GPU torch.from_dlpack(mapped) and cupy.from_dlpack(mapped) show it in place, in the
    program's own CUDA context; on the CPU backend mapped.numpy() does. Later requests on the tensor
    wait until unmap(), or the end of a `with` block; synchronise your own GPU work before. access
    is 'read', 'write' (all of it) or 'update'. wait=False returns a Future of the mapped tensor.
    """
    asked = self._map(access, timeout)
    return asked.result() if wait else asked


def in_place(self: Tensor) -> Any:
    """A host tensor's elements as a NumPy array, without a copy.

    Use them only while no request that uses the tensor is in flight.
    """
    if not self.in_host_memory:
        raise TypeError(
            "the elements are in the device's memory: numpy() copies them, mapped() shows them in "
            "place"
        )
    return self._view_in_place()
