"""What torch.einsum needs for the contractions of tensors.cpp: medians in us, as JSON lines."""

import json
import statistics
import time

import torch

CONTRACTIONS = (
    ("bqhd,bkhd->bhqk", "b8 q1024 k1024 h16 d64", "bf16"),
    ("bhqk,bkhd->bqhd", "b8 q1024 k1024 h16 d64", "bf16"),
    ("bsd,dhe->bshe", "b8 s1024 d1024 h16 e64", "bf16"),
    ("bshe,hed->bsd", "b8 s1024 d1024 h16 e64", "bf16"),
    ("bsd,df->bsf", "b8 s1024 d1024 f4096", "bf16"),
    ("bsf,fd->bsd", "b8 s1024 d1024 f4096", "bf16"),
    ("bsd,bsf->df", "b8 s1024 d1024 f4096", "bf16"),
    ("ebd,edf->ebf", "e8 b512 d1024 f2048", "bf16"),
    ("bhd,bkhd->bhk", "b32 h16 k2048 d128", "bf16"),
    ("bhk,bkhd->bhd", "b32 h16 k2048 d128", "bf16"),
    ("pqrs,pi->iqrs", "p64 q64 r64 s64 i32", "f64"),
    ("iqrs,qj->ijrs", "i32 q64 r64 s64 j32", "f64"),
    ("ijrs,rk->ijks", "i32 j32 r64 s64 k32", "f64"),
    ("ijks,sl->ijkl", "i32 j32 k32 s64 l32", "f64"),
    ("ijab,klij->klab", "i24 j24 k24 l24 a64 b64", "f32"),
    ("ijcd,abcd->ijab", "i24 j24 a48 b48 c48 d48", "f32"),
    ("ikac,kjcb->ijab", "i24 j24 k24 a48 b48 c48", "f32"),
    ("xpq,xrs->pqrs", "x256 p40 q40 r40 s40", "f32"),
    ("ijab,ijab->", "i24 j24 a64 b64", "f32"),
    ("pqrs,pi,qj->ijrs", "p64 q64 r64 s64 i32 j32", "f32"),
)
TYPES = {"bf16": torch.bfloat16, "f64": torch.float64, "f32": torch.float32}


def measure(modes, extents, kind, at_once=20, blocks=10):
    size = {word[0]: int(word[1:]) for word in extents.split()}
    operands = [
        torch.randn([size[m] for m in names], device="cuda", dtype=TYPES[kind])
        for names in modes.split("->")[0].split(",")
    ]
    times = []
    for block in range(blocks + 3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(at_once):
            torch.einsum(modes, *operands)
        torch.cuda.synchronize()
        if block >= 3:
            times.append((time.perf_counter() - begin) / at_once)
    line = {"name": f"{modes}, {kind}", "us": round(statistics.median(times) * 1e6, 2)}
    print(json.dumps(line), flush=True)


for one in CONTRACTIONS:
    measure(*one)
