"""Contractions through Troupe's CPU backend beside numpy.einsum(optimize=True): medians in ms.

Both sides have one thread, because two libraries with one for each processor wait for each other.
"""

import os
import statistics
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
import troupe

CASES = (
    ("ik,kj->ij", "i512 k512 j512"),
    ("bqhd,bkhd->bhqk", "b4 q128 k128 h8 d64"),
    ("bhqk,bkhd->bqhd", "b4 q128 k128 h8 d64"),
    ("bsd,dhe->bshe", "b4 s128 d512 h8 e64"),
    ("iqrs,qj->ijrs", "i16 q32 r32 s32 j16"),
    ("ijab,klij->klab", "i12 j12 k12 l12 a24 b24"),
    ("ikac,kjcb->ijab", "i12 j12 k12 a24 b24 c24"),
    ("pqrs,pi,qj,rk,sl->ijkl", "p24 q24 r24 s24 i12 j12 k12 l12"),
    ("ij,jk,kl,lm->im", "i100 j300 k50 l400 m80"),
    ("ijab,ijab->", "i12 j12 a32 b32"),
)


def median_ms(call, repeats=30):
    for _ in range(3):
        call()
    times = []
    for _ in range(repeats):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times) * 1e3


def main():
    rng = np.random.default_rng(1)
    ratios = []
    with troupe.System() as system:
        device = system.device(0, backend="cpu")
        for modes, extents in CASES:
            size = {word[0]: int(word[1:]) for word in extents.split()}
            lists = modes.split("->")[0].split(",")
            arrays = [rng.standard_normal([size[m] for m in names], dtype="f4") for names in lists]
            tensors = [device.tensor(one) for one in arrays]
            out = device.einsum(modes, *tensors).result()
            numpy = median_ms(lambda a=arrays, m=modes: np.einsum(m, *a, optimize=True))
            ours = median_ms(lambda t=tensors, m=modes, o=out: device.einsum(m, *t, out=o).result())
            ratios.append(numpy / ours)
            print(f"{modes:26} numpy {numpy:8.3f} ms  troupe {ours:8.3f} ms  {numpy / ours:.2f}x")
    print(f"geometric mean {statistics.geometric_mean(ratios):.2f}x, least {min(ratios):.2f}x")


if __name__ == "__main__":
    main()
