"""Sparse matrices on a device, and scipy.sparse in and out.

a = sparse.from_scipy(gpu, scipy.sparse.random(1000, 1000, 0.01, "csr"))
y = a.spmv(x)                                    # or: gpu.sparse.spmv(**a.as_("a"), x=x)
b = sparse.from_dense(gpu, dense)                # what is not zero, in csr
again = b.scipy()
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

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
        made = _room(self.device, self.format, shape, count, self.values.dtype, self.indices.dtype)
        self.device.sparse.spgemm(**pair, **made.as_("c"), alpha=alpha).result()
        return made

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
        count = 1
        for extent in self.values.shape:
            count *= extent
        room = _room(self.device, format, self.shape, count, self.values.dtype, self.indices.dtype)
        return room.first(self.device.sparse.convert(**self.as_("a"), **room.as_("b")).result())

    def first(self, count: int) -> SparseMatrix:
        """A csr, csc or coo matrix of the first elements, for tensors with spare capacity."""
        rows = None if self.row_indices is None else self.row_indices[:count]
        return dataclasses.replace(
            self, row_indices=rows, indices=self.indices[:count], values=self.values[:count]
        )

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
