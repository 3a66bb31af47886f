"""Small checkpoints of the Llama family that tests make, and the reference: NumPy in f64."""

import json
import struct

import numpy as np
from safetensors.numpy import save_file

LETTERS = [chr(one) for one in range(33, 127)]
SPECIALS = ["<|end|>", "<|im_start|>", "<|im_end|>"]
NUMBERS = {
    "layers": 2, "heads": 4, "key_heads": 2, "size": 16, "width": 48, "inner": 96,
    "context": 512, "eps": 1e-5, "theta": 10_000.0,
}  # fmt: skip
_GGUF = {
    "input_layernorm": "attn_norm", "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output", "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}  # fmt: skip


def words():
    """Every byte as its letter, some pairs, and special tokens in front."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [one for one in range(256) if one not in plain]
    letters = [chr(one) for one in plain] + [chr(256 + i) for i in range(len(others))]
    return SPECIALS + letters + ["th", "the", "Ġthe", "in"]


MERGES = ["t h", "th e", "Ġ the", "i n"]


def weights(seed=1, bias=False, norms=False, tied=True, numbers=NUMBERS):
    rng = np.random.default_rng(seed)
    n, vocabulary = numbers, len(words())
    q, k = n["heads"] * n["size"], n["key_heads"] * n["size"]

    def drawn(rows, columns):
        return rng.standard_normal((rows, columns)) * columns**-0.5

    made = {
        "model.embed_tokens.weight": rng.standard_normal((vocabulary, n["width"])),
        "model.norm.weight": 1 + 0.1 * rng.standard_normal(n["width"]),
    }
    if not tied:
        made["lm_head.weight"] = drawn(vocabulary, n["width"])
    for layer in range(n["layers"]):
        at = f"model.layers.{layer}."
        for name in ("input_layernorm", "post_attention_layernorm"):
            made[f"{at}{name}.weight"] = 1 + 0.1 * rng.standard_normal(n["width"])
        for name, rows in (("q_proj", q), ("k_proj", k), ("v_proj", k)):
            made[f"{at}self_attn.{name}.weight"] = 2 * drawn(rows, n["width"])
            if bias:
                made[f"{at}self_attn.{name}.bias"] = 0.3 * rng.standard_normal(rows)
        if norms:
            for name in ("q_norm", "k_norm"):
                made[f"{at}self_attn.{name}.weight"] = 1 + 0.1 * rng.standard_normal(n["size"])
        made[at + "self_attn.o_proj.weight"] = drawn(n["width"], q)
        made[at + "mlp.gate_proj.weight"] = drawn(n["inner"], n["width"])
        made[at + "mlp.up_proj.weight"] = drawn(n["inner"], n["width"])
        made[at + "mlp.down_proj.weight"] = drawn(n["width"], n["inner"])
    return {name: one.astype("f4") for name, one in made.items()}


def _text(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def field(name, value):
    """A field of a header in GGUF."""
    if isinstance(value, bool):
        body = struct.pack("<I?", 7, value)
    elif isinstance(value, int):
        body = struct.pack("<II", 4, value)
    elif isinstance(value, float):
        body = struct.pack("<If", 6, value)
    elif isinstance(value, str):
        body = struct.pack("<I", 8) + _text(value)
    elif isinstance(value[0], str):
        body = struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_text, value))
    else:
        body = struct.pack("<IIQ", 9, 5, len(value)) + np.array(value, "<i4").tobytes()
    return _text(name) + body


def fields(family="llama", numbers=NUMBERS):
    n, names = numbers, words()
    return {
        "general.architecture": family,
        f"{family}.block_count": n["layers"],
        f"{family}.context_length": n["context"],
        f"{family}.embedding_length": n["width"],
        f"{family}.feed_forward_length": n["inner"],
        f"{family}.attention.head_count": n["heads"],
        f"{family}.attention.head_count_kv": n["key_heads"],
        f"{family}.attention.key_length": n["size"],
        f"{family}.attention.layer_norm_rms_epsilon": n["eps"],
        f"{family}.rope.freq_base": n["theta"],
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "smollm",
        "tokenizer.ggml.tokens": names,
        "tokenizer.ggml.token_type": [3] * len(SPECIALS) + [1] * (len(names) - len(SPECIALS)),
        "tokenizer.ggml.merges": MERGES,
        "tokenizer.ggml.eos_token_id": 2,
    }


def write_gguf(path, tensors=None, head=None):
    """A file of f32, with the names that GGUF has for the weights."""
    tensors = weights() if tensors is None else tensors
    head = fields() if head is None else head
    renamed = {}
    for name, one in tensors.items():
        stem, kind = name.removeprefix("model.").rsplit(".", 1)
        if stem.startswith("layers."):
            _, layer, part = stem.split(".", 2)
            stem = f"blk.{layer}.{_GGUF[part]}"
        short = {"embed_tokens": "token_embd", "norm": "output_norm", "lm_head": "output"}
        renamed[f"{short.get(stem, stem)}.{kind}"] = one
    said, data = b"", b""
    for name, one in renamed.items():
        extents = one.shape[::-1]
        said += _text(name) + struct.pack("<I", len(extents))
        said += struct.pack(f"<{len(extents)}Q", *extents) + struct.pack("<IQ", 0, len(data))
        data += one.tobytes()
        data += bytes(-len(data) % 32)
    begin = b"GGUF" + struct.pack("<IQQ", 3, len(renamed), len(head))
    begin += b"".join(field(*one) for one in head.items()) + said
    path.write_bytes(begin + bytes(-len(begin) % 32) + data)
    return path


def write_folder(folder, tensors=None, **config):
    """As Hugging Face writes it."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    n, names = NUMBERS, words()
    vocabulary = {one: i for i, one in enumerate(names)}
    made = Tokenizer(models.BPE(vocabulary, [tuple(one.split()) for one in MERGES]))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens(SPECIALS)
    made.save(str(folder / "tokenizer.json"))
    save_file(weights() if tensors is None else tensors, folder / "model.safetensors")
    said = {
        "model_type": "llama", "num_hidden_layers": n["layers"],
        "num_attention_heads": n["heads"], "num_key_value_heads": n["key_heads"],
        "head_dim": n["size"], "hidden_size": n["width"], "intermediate_size": n["inner"],
        "vocab_size": len(names), "max_position_embeddings": n["context"],
        "rms_norm_eps": n["eps"], "rope_theta": n["theta"], "eos_token_id": 2,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(said | config))
    return folder


class Reference:
    """The whole model, written from the papers and in f64; in f32 a large one takes less long."""

    def __init__(self, tensors, sizes, dtype="f8"):
        self.w, self.s = {name: one.astype(dtype) for name, one in tensors.items()}, sizes

    def norm(self, x, name):
        return x / np.sqrt((x**2).mean(-1, keepdims=True) + self.s.eps) * self.w[name]

    def linear(self, x, name):
        y = x @ self.w[name + ".weight"].T
        return y + self.w[name + ".bias"] if name + ".bias" in self.w else y

    def turned(self, x):
        """x [tokens, heads, size]."""
        s, n = self.s, x.shape[-1]
        rates = s.theta ** (-np.arange(0, n, 2) / n) / s.stretch
        angles = np.arange(len(x))[:, None, None] * rates
        cos, sin = np.cos(angles).astype(x.dtype), np.sin(angles).astype(x.dtype)
        pairs = (slice(0, n, 2), slice(1, n, 2))
        if s.pairs == "halves":
            pairs = (slice(0, n // 2), slice(n // 2, n))
        a, b = (x[..., one] for one in pairs)
        y = np.empty_like(x)
        y[..., pairs[0]], y[..., pairs[1]] = a * cos - b * sin, b * cos + a * sin
        return y

    def attention(self, x, at):
        s, n = self.s, len(x)
        q, k, v = (
            self.linear(x, f"{at}self_attn.{one}_proj").reshape(n, -1, s.size) for one in "qkv"
        )
        if at + "self_attn.q_norm.weight" in self.w:
            q = self.norm(q, at + "self_attn.q_norm.weight")
            k = self.norm(k, at + "self_attn.k_norm.weight")
        q, k = self.turned(q), self.turned(k)
        k, v = (np.repeat(one, s.heads // s.key_heads, 1) for one in (k, v))
        scores = np.einsum("ihd,jhd->hij", q, k) / s.size**0.5
        i, j = np.arange(n)[:, None], np.arange(n)
        scores[:, (j > i) | ((j <= i - s.window) if s.window else False)] = -np.inf
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p /= p.sum(-1, keepdims=True)
        o = np.einsum("hij,jhd->ihd", p, v).reshape(n, -1)
        return self.linear(o, at + "self_attn.o_proj")

    def __call__(self, ids):
        """Logits of every position."""
        x = self.w["model.embed_tokens.weight"][list(ids)]
        for layer in range(self.s.layers):
            at = f"model.layers.{layer}."
            x = x + self.attention(self.norm(x, at + "input_layernorm.weight"), at)
            u = self.norm(x, at + "post_attention_layernorm.weight")
            gate = self.linear(u, at + "mlp.gate_proj")
            u = gate / (1 + np.exp(-gate)) * self.linear(u, at + "mlp.up_proj")
            x = x + self.linear(u, at + "mlp.down_proj")
        x = self.norm(x, "model.norm.weight")
        head = "lm_head" if "lm_head.weight" in self.w else "model.embed_tokens"
        return x @ self.w[head + ".weight"].T

    def accepts(self, prompt, tokens, within=1e-3):
        """Whether each token is the likeliest after those before it, or as good as."""
        logits = self([*prompt, *tokens])[len(prompt) - 1 : -1]
        chosen = logits[np.arange(len(tokens)), list(tokens)]
        return bool((chosen >= logits.max(1) - within).all())


def reference_of(checkpoint, dtype="f8"):
    """With the weights of a checkpoint."""
    tensors = {one: checkpoint.weight(one) for one in checkpoint.names}
    return Reference(tensors, checkpoint.sizes, dtype)
