"""What PyTorch makes of the encoder of minilm.cpp, eager and by SDPA: texts a second, as JSON lines.

A batch is padded to its longest text, as sentence-transformers does it.
"""

import json
import random

import torch
from dnn_torch import microseconds

LAYERS, HEADS, WIDTH, COUNT = 6, 12, 384, 64
functional = torch.nn.functional
on = {"dtype": torch.float16, "device": "cuda"}


def linear(rows, columns):
    return torch.randn(rows, columns, **on) * columns**-0.5, torch.randn(rows, **on) * 0.1


class Encoder:
    def __init__(self):
        self.words = torch.randn(30_522, WIDTH, **on)
        self.places = torch.randn(512, WIDTH, **on)
        self.norm = torch.randn(WIDTH, **on), torch.randn(WIDTH, **on) * 0.1
        self.layers = [
            (
                linear(3 * WIDTH, WIDTH),
                linear(WIDTH, WIDTH),
                linear(4 * WIDTH, WIDTH),
                linear(WIDTH, 4 * WIDTH),
            )
            for _ in range(LAYERS)
        ]

    def __call__(self, ids, mask, fused):
        n, tokens = ids.shape
        x = self.words[ids] + self.places[:tokens]
        x = functional.layer_norm(x, (WIDTH,), *self.norm)
        allowed = mask[:, None, None, :]
        for qkv, out, up, down in self.layers:
            parts = functional.linear(x, *qkv).view(n, tokens, 3, HEADS, WIDTH // HEADS)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            if fused:
                o = functional.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
            else:
                scores = q @ k.transpose(2, 3) * (WIDTH // HEADS) ** -0.5
                o = scores.masked_fill(~allowed, -65504.0).softmax(-1) @ v
            o = o.transpose(1, 2).reshape(n, tokens, WIDTH)
            x = functional.layer_norm(functional.linear(o, *out) + x, (WIDTH,), *self.norm)
            u = functional.gelu(functional.linear(x, *up))
            x = functional.layer_norm(functional.linear(u, *down) + x, (WIDTH,), *self.norm)
        weights = mask[..., None].half()
        return functional.normalize((x * weights).sum(1).float() / weights.sum(1).float(), dim=1)


def main():
    model = Encoder()
    pick = random.Random(1)
    cases = {
        "16 tokens": [16] * COUNT,
        "128 tokens": [128] * COUNT,
        "8 to 256 tokens": [pick.randint(8, 256) for _ in range(COUNT)],
    }
    with torch.inference_mode():
        for name, lengths in cases.items():
            longest = max(lengths)
            ids = torch.randint(1000, 20_000, (COUNT, longest))
            mask = torch.arange(longest)[None] < torch.tensor(lengths)[:, None]
            for how, fused in (("eager", False), ("SDPA", True)):

                def run(ids=ids, mask=mask, fused=fused):
                    return model(ids.cuda(), mask.cuda(), fused).cpu()

                us = microseconds(run, repeats=5)
                rate = round(COUNT / us * 1e6)
                print(json.dumps({"name": f"{name}, {how}", "texts/s": rate}), flush=True)


if __name__ == "__main__":
    main()
