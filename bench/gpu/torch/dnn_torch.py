"""What PyTorch makes of the convolutions and attentions of dnn.cpp: medians in us, as JSON lines."""

import json
import statistics
import time

import torch

HEAD = 128


def microseconds(call, repeats=10, blocks=15):
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


def report(name, call, flops=0, **how):
    us = microseconds(call, **how)
    line = {"name": name, "us": round(us, 2)}
    if flops:
        line["tflops"] = round(flops / us * 1e-6, 1)
    print(json.dumps(line), flush=True)


def image(*extents):
    made = torch.randn(*extents, dtype=torch.bfloat16, device="cuda")
    return made.to(memory_format=torch.channels_last)


def convolutions():
    functional = torch.nn.functional
    gradients = torch.ops.aten.convolution_backward
    for n, c, k in ((64, 64, 64), (32, 256, 512)):
        x, w, dy = image(n, c, 56, 56), image(k, c, 3, 3), image(n, k, 56, 56)
        bias = torch.randn(k, dtype=torch.bfloat16, device="cuda")
        flops = 2.0 * n * c * 56 * 56 * k * 9
        name = f"conv {n}x{c}x56x56 to {k}"
        report(name, lambda: functional.conv2d(x, w, padding=1), flops)
        report(f"{name}, bias, relu",
               lambda: functional.relu(functional.conv2d(x, w, bias, padding=1)), flops)

        def backward(data, dy=dy, x=x, w=w):
            return gradients(dy, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1,
                             [data, not data, False])

        report(f"{name}, dx", lambda: backward(True), flops)
        report(f"{name}, dw", lambda: backward(False), flops)


def attentions():
    attention = torch.nn.functional.scaled_dot_product_attention
    backends = torch.nn.attention.SDPBackend
    for s in (2048, 8192):
        b = 16384 // s
        for causal in (False, True):
            flops = 4.0 * b * 16 * HEAD * s * s / (2 if causal else 1)
            for backend in (backends.FLASH_ATTENTION, backends.CUDNN_ATTENTION):
                q, k, v = (torch.randn(b, 16, s, HEAD, dtype=torch.bfloat16, device="cuda",
                                       requires_grad=True) for _ in range(3))
                name = f"attention {s}{' causal' if causal else ''}, {backend.name}"
                try:
                    with torch.nn.attention.sdpa_kernel(backend):
                        report(name, lambda: attention(q, k, v, is_causal=causal), flops)
                        o = attention(q, k, v, is_causal=causal)
                        do = torch.randn_like(o)
                        report(f"{name}, backward",
                               lambda: torch.autograd.grad(o, (q, k, v), do, retain_graph=True),
                               2.5 * flops)
                except RuntimeError as refused:
                    print(json.dumps({"name": name, "refused": str(refused)[:200]}), flush=True)
    # PyTorch has no pages: keys lie one after the other.
    for b in (1, 64):
        q = torch.randn(b, 32, 1, HEAD, dtype=torch.bfloat16, device="cuda")
        k, v = (torch.randn(b, 8, 8192, HEAD, dtype=torch.bfloat16, device="cuda")
                for _ in range(2))
        report(f"decode 8192 keys, batch {b}", lambda: attention(q, k, v, enable_gqa=True))


if __name__ == "__main__":
    print(json.dumps({"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                      "gpu": torch.cuda.get_device_name()}), flush=True)
    convolutions()
    attentions()
