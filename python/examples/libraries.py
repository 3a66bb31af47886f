"""One request of each library beside NumPy: what they are called, and what they answer."""

import numpy as np
import troupe
from troupe import sparse

rng = np.random.default_rng(1)
m = rng.standard_normal((6, 6))
spd, sides = m @ m.T + 6 * np.eye(6), rng.standard_normal((6, 2))
v = rng.standard_normal(1000).astype("f4")
picture = rng.standard_normal((1, 3, 8, 8)).astype("f4")

with troupe.System() as system:
    gpu = system.device(0)
    # region: libraries
    a, b = gpu.tensor(spd), gpu.tensor(sides)
    x = gpu.solver.posv(a=a, b=b)  # results that are left out are allocated
    values = gpu.solver.eigh(a, vectors=False)

    upper = sparse.from_dense(gpu, gpu.tensor(np.triu(m)))  # from_scipy takes scipy.sparse
    sums = upper.spmv(gpu.full(6, 1.0, "f64"))

    y = gpu.tensor(v)
    ordered = gpu.primitives.sort(y)
    mean = gpu.reduce("mean", ordered)  # a Future is an operand
    squashed = gpu.map(lambda x: x / (1 + abs(x)), y)

    pooled = gpu.dnn.max_pool_forward(gpu.tensor(picture), window=[2, 2])
    turned = gpu.einsum("ij,jk->ki", a, b)  # contractions of any rank
    spectrum = gpu.fft.r2c(y)
    # endregion: libraries
    beside = [
        (x, np.linalg.solve(spd, sides)),
        (values, np.linalg.eigvalsh(spd)),
        (sums, np.triu(m).sum(axis=1)),
        (ordered, np.sort(v)),
        (mean, v.mean()),
        (squashed, v / (1 + abs(v))),
        (pooled, picture.reshape(1, 3, 4, 2, 4, 2).max(axis=(3, 5))),
        (turned, (spd @ sides).T),
        (spectrum, np.fft.rfft(v)),
    ]
    same = [np.allclose(one.numpy(), by_numpy, atol=1e-3) for one, by_numpy in beside]
    print(len(same), "answers, the same as NumPy's:", all(same))
