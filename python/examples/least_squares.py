"""Fits a parabola to measurements, and shows what a matrix without an answer says."""

import numpy as np
import troupe

t = np.linspace(0, 1, 50)
y = 1 - 2 * t + 3 * t**2 + 0.01 * np.random.default_rng(1).standard_normal(50)
powers = np.stack([np.ones(50), t, t**2], axis=1)

with troupe.System() as system:
    gpu = system.device(0)
    x = gpu.solver.gels(gpu.tensor(powers), gpu.tensor(y[:, None]))
    expected = np.linalg.lstsq(powers, y, rcond=None)[0]
    print("the same as NumPy's:", np.allclose(x.numpy()[:, 0], expected))

    singular = gpu.tensor(np.array([[1.0, 0, 0], [0, 1, 1], [0, 1, 1]]))
    try:
        gpu.solver.gesv(a=singular, b=x).result()
    except troupe.Numerical as failure:
        print(failure.message)  # singular: pivot 3 is zero
