"""What CuPy needs for the products of sparse.cpp, on a matrix of the same kind: medians in us, as JSON
lines; one at a time, and each of a train of 20."""

import json
import statistics
import time

import cupy
import cupyx.scipy.sparse
import numpy

ROWS, ELEMENTS = 1_000_000, 10_000_000


def report(name, call):
    for length in (1, 20):
        for _ in range(5):
            call()
        cupy.cuda.Device().synchronize()
        times = []
        for _ in range(20):
            begin = time.perf_counter()
            for _ in range(length):
                call()
            cupy.cuda.Device().synchronize()
            times.append((time.perf_counter() - begin) / length)
        what = name if length == 1 else name + ", each of a train"
        print(json.dumps({"name": what, "us": round(statistics.median(times) * 1e6, 2)}), flush=True)


def power_law():
    """Rows as long as those of `power_law` in sparse_patterns.hpp, with columns anywhere."""
    random = numpy.random.default_rng(20261125)
    weights = numpy.arange(1, ROWS + 1) ** -0.8
    random.shuffle(weights)
    ends = numpy.floor(numpy.cumsum(weights / weights.sum()) * ELEMENTS).astype(numpy.int64)
    rows = numpy.repeat(numpy.arange(ROWS), numpy.diff(ends, prepend=0))
    places = numpy.unique(rows * ROWS + random.integers(0, ROWS, len(rows)))
    offsets = numpy.searchsorted(places, numpy.arange(ROWS + 1) * ROWS).astype(numpy.int32)
    return cupy.asarray(offsets), cupy.asarray((places % ROWS).astype(numpy.int32))


offsets, columns = power_law()
for name, dtype in (("f32", cupy.float32), ("f64", cupy.float64)):
    values = cupy.random.random(len(columns)).astype(dtype)
    a = cupyx.scipy.sparse.csr_matrix((values, columns, offsets), shape=(ROWS, ROWS))
    x = cupy.random.random(ROWS).astype(dtype)
    b = cupy.random.random((ROWS, 32)).astype(dtype)
    report(f"spmv {name}", lambda: a @ x)
    report(f"spmm {name}, 32 columns", lambda: a @ b)
