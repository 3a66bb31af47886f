"""Sparse matrices on a device, and scipy.sparse in and out.

a = sparse.from_scipy(gpu, scipy.sparse.random(1000, 1000, 0.01, "csr"))
y = a.spmv(x)                                    # or: gpu.sparse.spmv(**a.as_("a"), x=x)
c = a.add(a.transpose(), beta=-1)                # alpha · a + beta · b
top = a[:100]                                    # or: a[:100, 20:30]
a.write_matrix_market("a.mtx")                   # read_matrix_market(gpu, "a.mtx")
b = sparse.from_dense(gpu, dense)                # what is not zero, in csr
again = b.scipy()
"""

from __future__ import annotations

import dataclasses
import math
import os
from typing import TYPE_CHECKING, Any

from . import _core
from ._core import Device, Future, Tensor

if TYPE_CHECKING:
    from ._core import TensorLike

_TENSORS = ("offsets", "row_indices", "indices", "values")


@dataclasses.dataclass(frozen=True)
class SparseMatrix:
    """A matrix of the formats that troupe::sparse_format describes, in tensors of a device."""

    device: Device
    format: str
    shape: tuple[int, int]
    indices: Tensor
    values: Tensor
    offsets: Tensor | None = None
    row_indices: Tensor | None = None
    slice_rows: int = 0

    def as_(self, name: str) -> dict[str, Any]:
        """The arguments that a request has for a matrix of this name: a_format, a_values, …"""
        named: dict[str, Any] = {
            f"{name}_format": self.format,
            f"{name}_rows": self.shape[0],
            f"{name}_columns": self.shape[1],
        }
        if self.slice_rows:
            named[f"{name}_slice_rows"] = self.slice_rows
        tensors = {part: getattr(self, part) for part in _TENSORS}
        return named | {f"{name}_{part}": t for part, t in tensors.items() if t is not None}

    def spmv(self, x: TensorLike, **kwargs: Any) -> Future[Any]:
        """y = alpha · op_a(self) · x + beta · y; y is made unless it is given."""
        return self.device.sparse.spmv(**self.as_("a"), x=x, **kwargs)

    def spmm(self, b: TensorLike, **kwargs: Any) -> Future[Any]:
        """c = alpha · op_a(self) · b + beta · c; c is made unless it is given."""
        return self.device.sparse.spmm(**self.as_("a"), b=b, **kwargs)

    def spsv(self, b: TensorLike, **kwargs: Any) -> Future[Any]:
        """Solves op_a(self) · x = alpha · b, where self is triangular, in csr or csc; x is made
        unless it is given."""
        return self.device.sparse.spsv(**self.as_("a"), b=b, **kwargs)

    def spsm(self, b: TensorLike, **kwargs: Any) -> Future[Any]:
        """As `spsv`, with a right side in each column of b."""
        return self.device.sparse.spsm(**self.as_("a"), b=b, **kwargs)

    def spgemm(self, b: SparseMatrix, alpha: complex = 1) -> SparseMatrix:
        """alpha · self · b, where both are in csr, or both in csc. Waits."""
        pair = self.as_("a") | b.as_("b")
        count = self.device.sparse.spgemm_size(**pair).result()
        shape = (self.shape[0], b.shape[1])
        made = self._room(self.format, shape, count)
        self.device.sparse.spgemm(**pair, **made.as_("c"), alpha=alpha).result()
        return made

    def add(self, b: SparseMatrix, alpha: complex = 1, beta: complex = 1) -> SparseMatrix:
        """alpha · self + beta · b, in csr, or in csc or coo if self is. Waits."""
        room = self._room(self._made_format(), self.shape, self._stored() + b._stored())
        pair = self.as_("a") | b.as_("b") | room.as_("c")
        return room.first(self.device.sparse.add(**pair, alpha=alpha, beta=beta).result())

    def transpose(self) -> SparseMatrix:
        """The transposed matrix: of csr the same tensors as csc, and the reverse. Others are
        converted to csr first, which waits."""
        if self.format not in ("csr", "csc"):
            return self.converted("csr").transpose()
        other = "csc" if self.format == "csr" else "csr"
        return dataclasses.replace(self, format=other, shape=self.shape[::-1])

    def __getitem__(self, part: slice | tuple[slice, slice]) -> SparseMatrix:
        """A copy of some rows, or of some rows and columns, a[2:7] or a[2:7, :3], in csr, or in csc
        or coo if self is. Slices have no steps. Waits."""
        both = part if isinstance(part, tuple) else (part, slice(None))
        if len(both) != 2 or not all(isinstance(one, slice) and one.step is None for one in both):
            raise TypeError(f"a SparseMatrix has parts a[2:7] and a[2:7, :3], but not a[{part!r}]")
        spans = [range(size)[one] for one, size in zip(both, self.shape, strict=True)]
        shape = (len(spans[0]), len(spans[1]))
        room = self._room(self._made_format(), shape, self._stored())
        first: dict[str, Any] = {"first_row": spans[0].start, "first_column": spans[1].start}
        pair = self.as_("a") | room.as_("b")
        return room.first(self.device.sparse.slice(**pair, **first).result())

    def __matmul__(self, other: object) -> Any:
        raise TypeError(
            "a SparseMatrix has no operators: requests compute, a.spmv(x) with a vector, a.spmm(b) "
            "with a matrix, a.spgemm(b) with another SparseMatrix"
        )

    def validate(self) -> Future[Any]:
        """Fails if the pattern is invalid: `InvalidArgument`, with the row."""
        return self.device.sparse.validate(**self.as_("a"))

    def dense(self) -> Tensor:
        """The matrix with its zeros. Waits."""
        made = self.device.empty(self.shape, self.values.dtype)
        self.device.sparse.to_dense(**self.as_("a"), b=made).result()
        return made

    def converted(self, format: str) -> SparseMatrix:
        """The matrix in csr, csc or coo, with its elements in order. Waits."""
        room = self._room(format, self.shape, self._stored())
        return room.first(self.device.sparse.convert(**self.as_("a"), **room.as_("b")).result())

    def first(self, count: int) -> SparseMatrix:
        """A csr, csc or coo matrix of the first elements, for tensors with spare capacity."""
        rows = None if self.row_indices is None else self.row_indices[:count]
        return dataclasses.replace(
            self, row_indices=rows, indices=self.indices[:count], values=self.values[:count]
        )

    def write_matrix_market(self, file: str | os.PathLike[str]) -> None:
        """Writes the matrix to a Matrix Market file, as coordinates with all digits. Waits."""
        coo = self if self.format == "coo" else self.converted("coo")
        assert coo.row_indices is not None
        values = coo.values.numpy()
        _core.write_matrix_market(
            os.fspath(file),
            *self.shape,
            values.dtype.kind == "c",
            coo.row_indices.numpy().astype("i8"),
            coo.indices.numpy().astype("i8"),
            values.astype("c16"),
        )

    def _stored(self) -> int:
        return math.prod(self.values.shape)

    def _made_format(self) -> str:
        return self.format if self.format in ("csr", "csc", "coo") else "csr"

    def _room(self, format: str, shape: tuple[int, int], count: int) -> SparseMatrix:
        return _room(self.device, format, shape, count, self.values.dtype, self.indices.dtype)

    def scipy(self) -> Any:
        """The matrix as a scipy.sparse array of the host, in csr, csc or coo. Waits."""
        import scipy.sparse as sp  # type: ignore[import-not-found,import-untyped,unused-ignore]

        this = self if self.format in ("csr", "csc", "coo") else self.converted("csr")
        values, indices = this.values.numpy(), this.indices.numpy()
        if this.row_indices is not None:
            return sp.coo_array((values, (this.row_indices.numpy(), indices)), shape=this.shape)
        assert this.offsets is not None
        made = sp.csr_array if this.format == "csr" else sp.csc_array
        return made((values, indices, this.offsets.numpy()), shape=this.shape)


def from_scipy(device: Device, matrix: Any, dtype: Any = None) -> SparseMatrix:
    """A matrix from a scipy.sparse matrix or array, with elements in order. csr, csc, coo and bsr keep
    their format; others become csr. `dtype`: the type of the values, if not their own."""
    if matrix.format not in ("csr", "csc", "coo", "bsr"):
        matrix = matrix.tocsr()
    if matrix.format == "coo":
        matrix = matrix.tocsr().tocoo()
    elif not matrix.has_sorted_indices:
        matrix = matrix.sorted_indices()
    values = matrix.data if dtype is None else matrix.data.astype(dtype)
    shape = (int(matrix.shape[0]), int(matrix.shape[1]))
    if matrix.format == "coo":
        rows, columns = (device.tensor(part) for part in (matrix.row, matrix.col))
        return SparseMatrix(device, "coo", shape, columns, device.tensor(values), row_indices=rows)
    return SparseMatrix(
        device,
        matrix.format,
        shape,
        device.tensor(matrix.indices),
        device.tensor(values),
        offsets=device.tensor(matrix.indptr),
    )


def read_matrix_market(
    device: Device, file: str | os.PathLike[str], dtype: Any = "f64", index: Any = "i32"
) -> SparseMatrix:
    """The matrix of a Matrix Market file, in csr: coordinate or array; real, integer, complex or
    pattern, whose values are 1; general, symmetric, skew-symmetric or Hermitian, which gets both
    triangles. `dtype` and `index`: the types of values and indices. Waits. `InvalidArgument` for an
    invalid file, with the line."""
    made = _core.read_matrix_market(device, os.fspath(file), dtype, index)
    rows, columns, offsets, indices, values = made
    return SparseMatrix(device, "csr", (rows, columns), indices, values, offsets=offsets)


def from_dense(
    device: Device,
    dense: TensorLike,
    format: str = "csr",
    capacity: int | None = None,
    index: Any = "i32",
) -> SparseMatrix:
    """The elements that are not zero, as csr, csc or coo. Waits.

    `capacity`: the number of elements to allocate; by default all. `CapacityExceeded` if too few.
    """
    rows, columns = dense.shape
    count = rows * columns if capacity is None else capacity
    room = _room(device, format, (rows, columns), count, dense.dtype, index)
    return room.first(device.sparse.from_dense(a=dense, **room.as_("b")).result())


def _room(
    device: Device, format: str, shape: tuple[int, int], count: int, dtype: Any, index: Any
) -> SparseMatrix:
    indices, values = device.empty(count, index), device.empty(count, dtype)
    if format == "coo":
        rows = device.empty(count, index)
        return SparseMatrix(device, format, shape, indices, values, row_indices=rows)
    majors = shape[1] if format == "csc" else shape[0]
    offsets = device.empty(majors + 1, index)
    return SparseMatrix(device, format, shape, indices, values, offsets=offsets)
