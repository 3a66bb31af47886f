"""What PyTorch makes of the layers of dnn_layers.cpp: medians in us, as JSON lines."""

import json
import statistics
import time

import torch

functional = torch.nn.functional
aten = torch.ops.aten


def microseconds(call, repeats=20, blocks=15):
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


def report(name, call):
    try:
        print(json.dumps({"name": name, "us": round(microseconds(call), 2)}), flush=True)
    except RuntimeError as refused:
        print(json.dumps({"name": name, "refused": str(refused)[:200]}), flush=True)


def layers(dtype, name, last):
    order = torch.channels_last if last else torch.contiguous_format
    suffix = f"{name} {'NHWC' if last else 'NCHW'}"

    def image(n, c, side):
        made = torch.randn(n, c, side, side, dtype=dtype, device="cuda")
        return made.to(memory_format=order)

    for (n, c, side), window, stride, padding in (((64, 64, 112), 3, 2, 1),
                                                  ((64, 256, 56), 2, 2, 0)):
        x = image(n, c, side)
        geometry = ([window, window], [stride, stride], [padding, padding])
        of = f"pool {window}x{window} of {n}x{c}x{side}x{side} {suffix}"
        report("max " + of, lambda: aten.max_pool2d_with_indices(x, *geometry))
        y, indices = aten.max_pool2d_with_indices(x, *geometry)
        dy = torch.randn_like(y)
        report("max " + of + ", backward", lambda: aten.max_pool2d_with_indices_backward(
            dy, x, *geometry, [1, 1], False, indices))
        report("average " + of, lambda: aten.avg_pool2d(x, *geometry, False, True))
        report("average " + of + ", backward", lambda: aten.avg_pool2d_backward(
            dy, x, *geometry, False, True, None))

    x = image(64, 2048, 7)
    of = f"global average of 64x2048x7x7 {suffix}"
    report(of, lambda: aten._adaptive_avg_pool2d(x, [1, 1]))
    y = aten._adaptive_avg_pool2d(x, [1, 1])
    report(of + ", backward", lambda: aten._adaptive_avg_pool2d_backward(y, x))

    for n, c, side in ((64, 64, 112), (64, 256, 56), (64, 512, 28), (64, 2048, 7)):
        x, dy = image(n, c, side), image(n, c, side)
        weight, bias, mean, variance = (torch.rand(c, device="cuda") for _ in range(4))
        of = f"batch norm of {n}x{c}x{side}x{side} {suffix}"
        # As a module calls it, which chooses between PyTorch's own kernels and cuDNN's.
        wx = x.clone(memory_format=torch.preserve_format).requires_grad_()
        ww, wb = weight.clone().requires_grad_(), bias.clone().requires_grad_()

        def forward():
            with torch.no_grad():
                return functional.batch_norm(x, mean, variance, weight, bias, True, 0.1, 1e-5)

        report(of, forward)
        y = functional.batch_norm(wx, mean, variance, ww, wb, True, 0.1, 1e-5)
        report(of + ", backward",
               lambda: torch.autograd.grad(y, (wx, ww, wb), dy, retain_graph=True))
        report(of + ", inference", lambda: functional.batch_norm(
            x, mean, variance, weight, bias, False, 0.1, 1e-5))

    x = image(16, 64, 56)
    of = f"bilinear, twice the side of 16x64x56x56 {suffix}"
    report(of, lambda: aten.upsample_bilinear2d(x, [112, 112], False))
    y = aten.upsample_bilinear2d(x, [112, 112], False)
    report(of + ", backward", lambda: aten.upsample_bilinear2d_backward(
        y, [112, 112], list(x.shape), False))


print(json.dumps({"torch": torch.__version__, "cudnn": torch.backends.cudnn.version(),
                  "gpu": torch.cuda.get_device_name()}), flush=True)
for kind, text in ((torch.bfloat16, "bf16"), (torch.float32, "f32")):
    for channels_last in (False, True):
        layers(kind, text, channels_last)
