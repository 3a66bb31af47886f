"""A convolutional network learns digits; its loss is the same to the bit when its worker is killed."""

import os
import pathlib
import signal
from typing import Any

import numpy as np
import numpy.typing as npt
import troupe

BATCH, STEPS, EPOCHS, RATE = 96, 15, 4, 0.1
DATA = pathlib.Path(__file__).resolve().parents[2] / "examples/data/digits.csv.gz"
rows = np.loadtxt(DATA, delimiter=",")[: BATCH * STEPS]
images = (rows[:, :64] / 8 - 1).astype("f4").reshape(STEPS, BATCH, 1, 8, 8)
labels = rows[:, 64].astype("i4").reshape(STEPS, BATCH)


def train(gpu: troupe.Device, *, kill: bool) -> npt.NDArray[np.float32]:
    rng, ew = np.random.default_rng(1), gpu.elementwise
    shapes = {"w": (16, 1, 3, 3), "b": (16,), "m": (16 * 36, 10)}
    # Each step writes new parameters beside the old ones: a lost step can be done again.
    old = {k: gpu.tensor((rng.standard_normal(s) / 5).astype("f4")) for k, s in shapes.items()}
    new = {k: gpu.empty(s) for k, s in shapes.items()}
    grad = {k: gpu.empty(s) for k, s in shapes.items()}
    y, dy, dx = (gpu.empty((BATCH, 16, 6, 6)) for _ in range(3))
    z, dz, dloss = gpu.empty((BATCH, 10)), gpu.empty((BATCH, 10)), gpu.full(BATCH, 1 / BATCH)
    x, t, losses = gpu.tensor(images), gpu.tensor(labels), gpu.empty((EPOCHS * STEPS, BATCH))
    features, dfeatures = y.reshape((BATCH, -1)), dy.reshape((BATCH, -1))
    asked: list[troupe.Future[Any]] = []
    for step in range(EPOCHS * STEPS):
        x_now, t_now = x[step % STEPS], t[step % STEPS]
        asked += [
            gpu.dnn.convolution_forward(
                x=x_now, w=old["w"], y=y, bias=old["b"], activation="relu", deterministic=True
            ),
            gpu.blas.gemm(a=features, b=old["m"], c=z, deterministic=True),
            ew.cross_entropy(logits=z, targets=t_now, loss=losses[step]),
            ew.cross_entropy_backward(logits=z, targets=t_now, dloss=dloss, dlogits=dz),
            gpu.blas.gemm(a=features.transpose(), b=dz, c=grad["m"], deterministic=True),
            gpu.blas.gemm(a=dz, b=old["m"].transpose(), c=dfeatures, deterministic=True),
            ew.activation_backward(x=y, dy=dy, dx=dx, kind="relu"),
            ew.bias_add_backward(dy=dx, dbias=grad["b"], axis=1),
            gpu.dnn.convolution_backward_filter(x=x_now, dy=dx, dw=grad["w"], deterministic=True),
        ]
        for k in shapes:
            asked.append(gpu.map(lambda p, g: p - RATE * g, old[k], grad[k], out=new[k]))
        old, new = new, old
        if kill and step == 2 * STEPS + STEPS // 2 and gpu.worker_pid:
            os.kill(gpu.worker_pid, signal.SIGKILL)
    for one in asked:
        one.result()
    return np.asarray(losses, np.float32)


with troupe.System() as system:
    gpu = system.device(0)
    undisturbed = train(gpu, kill=False)
    disturbed = train(gpu, kill=True)
    print("losses:", undisturbed.reshape(EPOCHS, -1).mean(axis=1).round(3))
    print("the same with a killed worker:", np.array_equal(undisturbed, disturbed))
