"""Smooths a recording of 16-bit samples: the transforms read the samples and apply the filter."""

import numpy as np
import troupe
import troupe.elementwise as ew

n = 4096
t = np.linspace(0, 1, n, endpoint=False)
sound = 0.5 * np.sin(2 * np.pi * 5 * t) + 0.1 * np.random.default_rng(1).standard_normal(n)
recorded = np.round(sound * 32768).astype("i2")
gaussian = np.exp(-((np.arange(n // 2 + 1) / 40) ** 2)).astype("f4")

with troupe.System() as system:
    gpu = system.device(0)
    spectrum = gpu.empty(n // 2 + 1, "c64")
    gpu.fft.r2c(
        in_=gpu.tensor(recorded),
        out=spectrum,
        load=lambda x: x / 32768,
        store=lambda z, keep: ew.complex(z) * keep,  # after the transform, with its operands
        store_operands=[gpu.tensor(gaussian)],
        precision="f32",
    )
    smooth = gpu.empty(n)
    gpu.fft.c2r(in_=spectrum, out=smooth, scale="by_n")
    result = smooth.numpy()  # waits for the requests that write it

expected = np.fft.irfft(np.fft.rfft(recorded / 32768) * gaussian)
print("the same as NumPy's:", np.allclose(result, expected, atol=1e-5))
