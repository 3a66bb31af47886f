"""Solves a sparse system by conjugate gradients on a device."""

import numpy as np
import troupe
from troupe import sparse

SIDE = 40
n = SIDE * SIDE
grid = np.arange(n).reshape(SIDE, SIDE)
# Five-point differences on a grid, as (row, column, value).
pairs = [(grid[1:], grid[:-1]), (grid[:-1], grid[1:]), (grid[:, 1:], grid[:, :-1])]
pairs.append((grid[:, :-1], grid[:, 1:]))
rows = np.concatenate([grid.ravel()] + [a.ravel() for a, _ in pairs])
columns = np.concatenate([grid.ravel()] + [b.ravel() for _, b in pairs])
values = np.where(rows == columns, 4.0, -1.0)
order = np.lexsort((columns, rows))

with troupe.System() as system:
    gpu = system.device(0)
    a = sparse.SparseMatrix(
        gpu,
        "coo",
        (n, n),
        gpu.tensor(columns[order].astype("i4")),
        gpu.tensor(values[order]),
        row_indices=gpu.tensor(rows[order].astype("i4")),
    ).converted("csr")
    a.validate().result()  # row and column indices that came from elsewhere

    b = gpu.tensor(np.ones(n))
    x, r, d, image = (
        gpu.zeros(n, "f8"),
        gpu.tensor(np.ones(n)),
        gpu.tensor(np.ones(n)),
        gpu.empty(n, "f8"),
    )
    old, steps = float(n), 0
    while old > 1e-20 * n and steps < 1000:
        a.spmv(d, y=image)
        alpha = old / gpu.blas.dot(x=d, y=image).result()
        gpu.blas.axpy(x=d, y=x, alpha=alpha)
        gpu.blas.axpy(x=image, y=r, alpha=-alpha)
        now = gpu.blas.dot(x=r, y=r).result()
        gpu.blas.axpby(x=r, y=d, beta=now / old)
        old, steps = now, steps + 1
    left = a.spmv(x, y=b, alpha=-1, beta=1).numpy()
    print(f"{n} unknowns, {steps} steps, solved:", bool(np.abs(left).max() < 1e-8))
