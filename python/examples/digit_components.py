"""The principal components of the digits: how few numbers describe an image of 64 pixels."""

import pathlib

import numpy as np
import troupe

data = pathlib.Path(__file__).resolve().parents[2] / "examples/data/digits.csv.gz"
images = np.loadtxt(data, delimiter=",", dtype="f4")[:, :64]
images -= images.mean(axis=0)

with troupe.System() as system:
    gpu = system.device(0)
    # Results that are left out are made: values, coordinates (u) and components (rows of vh).
    values, u, components = gpu.solver.svd(gpu.tensor(images))
    variance = values.numpy() ** 2
    shares = np.cumsum(variance) / variance.sum()
    needed = int(np.searchsorted(shares, 0.9)) + 1
    print(f"{needed} of 64 components hold 90 % of the variance")

    kept = (u.numpy()[:, :needed] * values.numpy()[:needed]) @ components.numpy()[:needed]
    print("error of a pixel without the others:", round(float(np.std(kept - images)), 2))
