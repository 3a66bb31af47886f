"""What PyTorch makes of the LSTMs of dnn_rnn.cpp: medians in us, as JSON lines."""

import json
import statistics
import time

import torch


def microseconds(call, repeats=8, blocks=15):
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(blocks):
        begin = time.perf_counter()
        for _ in range(repeats):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) / repeats * 1e6)
    return statistics.median(times)


def measure(kind, layers=2, steps=50, batch=64, hidden=512):
    torch.backends.cudnn.allow_tf32 = kind == "tf32"
    dtype = torch.float16 if kind == "f16" else torch.float32
    lstm = torch.nn.LSTM(hidden, hidden, layers, device="cuda", dtype=dtype)
    x = torch.zeros(steps, batch, hidden, device="cuda", dtype=dtype, requires_grad=True)
    dy = torch.zeros(steps, batch, hidden, device="cuda", dtype=dtype)
    inputs = [x, *lstm.parameters()]

    def infer():
        with torch.inference_mode():
            lstm(x)

    def train():
        torch.autograd.grad(lstm(x)[0], inputs, dy)

    for way, call in (("inference", infer), ("training", train)):
        name = f"LSTM {layers} x {steps} steps, batch {batch}, hidden {hidden}, {kind}, {way}"
        print(json.dumps({"name": name, "us": round(microseconds(call), 2)}), flush=True)


print(json.dumps({"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                  "gpu": torch.cuda.get_device_name()}), flush=True)
for kind in ("f32", "tf32", "f16"):
    measure(kind)
    measure(kind, batch=8, hidden=128)
