"""Checkpoints of the Llama family: a .gguf file, or a folder as Hugging Face writes it.

Both become the same: numbers of the model, and weights under the names that Hugging Face gives them.
"""

from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import gguf

if TYPE_CHECKING:
    from .tokens import Tokenizer


class Sizes(NamedTuple):
    """Numbers of a model."""

    layers: int
    heads: int
    key_heads: int
    size: int  # elements of a head
    width: int
    inner: int
    vocabulary: int
    context: int
    eps: float
    theta: float
    pairs: str = "halves"  # that rotary embedding turns
    window: int = 0  # most keys of a query; 0: all
    scaling: tuple[float, float, float, float] | None = None  # Llama 3's
    stretch: float = 1.0  # divides positions


class Checkpoint(NamedTuple):
    """`weight(name)` is an array in f32, or raises KeyError."""

    sizes: Sizes
    weight: Callable[[str], Any]
    names: frozenset[str]
    tokenizer: Tokenizer
    template: str | None


_FAMILIES = {"llama": "interleaved", "mistral": "interleaved", "qwen2": "halves", "qwen3": "halves"}
_NAMES = {
    "token_embd": "model.embed_tokens",
    "output_norm": "model.norm",
    "output": "lm_head",
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_q_norm": "self_attn.q_norm",
    "attn_k_norm": "self_attn.k_norm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}
_MOST = 1 << 20  # for extents and counts


def load(source: pathlib.Path) -> Checkpoint:
    """Raises ValueError with what is wrong."""
    return _of_gguf(source) if source.suffix == ".gguf" else _of_folder(source)


def _of_gguf(path: pathlib.Path) -> Checkpoint:
    file = gguf.File(path)
    try:
        return _of_fields(file)
    except KeyError as why:
        raise ValueError(f"{path.name}: {why.args[0]} is missing") from None
    except ValueError as why:
        raise ValueError(f"{path.name}: {why}") from None


def _of_fields(file: gguf.File) -> Checkpoint:
    from .tokens import Tokenizer

    fields = file.fields
    family = fields["general.architecture"]
    if family not in _FAMILIES:
        raise ValueError(f"its architecture is {family!r}; {', '.join(_FAMILIES)} are known")
    tokenizer = Tokenizer.of_gguf(fields)

    def count(name: str, default: int | None = None) -> int:
        return _count(f"{family}.{name}", fields.get(f"{family}.{name}", default))

    def real(name: str, default: float | None = None) -> float:
        return _real(f"{family}.{name}", fields.get(f"{family}.{name}", default))

    heads, width = count("attention.head_count"), count("embedding_length")
    scaling = fields.get(f"{family}.rope.scaling.type", "none")
    if scaling not in ("none", "linear"):
        raise ValueError(f"{family}.rope.scaling.type is {scaling!r}; none and linear are known")
    sizes = Sizes(
        layers=count("block_count"),
        heads=heads,
        key_heads=count("attention.head_count_kv", heads),
        size=count("attention.key_length", width // heads),
        width=width,
        inner=count("feed_forward_length"),
        vocabulary=len(tokenizer.pieces),
        context=count("context_length"),
        eps=real("attention.layer_norm_rms_epsilon"),
        theta=real("rope.freq_base", 10_000.0),
        pairs=_FAMILIES[family],
        window=fields.get(f"{family}.attention.sliding_window") or 0,
        stretch=real("rope.scaling.factor", 1.0) if scaling == "linear" else 1.0,
    )
    if "rope_freqs.weight" in file.tensors:
        raise ValueError("its rotary frequencies are scaled by a table, which is not known")
    names = {_name_of(one): one for one in file.tensors}
    template = fields.get("tokenizer.chat_template")
    if template is not None and not isinstance(template, str):
        raise ValueError("tokenizer.chat_template is no text")
    return _checked(
        Checkpoint(
            sizes, lambda name: file.array(names[name]), frozenset(names), tokenizer, template
        ),
        {name: file.tensors[one].shape for name, one in names.items()},
    )


def _name_of(name: str) -> str:
    stem, _, kind = name.rpartition(".")
    if stem.startswith("blk."):
        _, layer, part = stem.split(".", 2)
        return f"model.layers.{layer}.{_NAMES.get(part, part)}.{kind}"
    return f"{_NAMES.get(stem, stem)}.{kind}"


def _of_folder(folder: pathlib.Path) -> Checkpoint:
    from safetensors import safe_open

    from .tokens import Tokenizer

    config = json.loads((folder / "config.json").read_text())
    try:
        sizes = _of_config(config)
    except KeyError as why:
        raise ValueError(f"config.json: {why.args[0]} is missing") from None
    files: list[Any] = [safe_open(str(one), "np") for one in sorted(folder.glob("*.safetensors"))]
    where = {name: one for one in files for name in one.keys()}  # noqa: SIM118 # no mapping

    def weight(name: str) -> Any:
        one = where[name]
        if one.get_slice(name).get_dtype() == "BF16":
            return _bf16(folder, name)
        return one.get_tensor(name).astype("f4")

    shapes = {name: tuple(one.get_slice(name).get_shape()) for name, one in where.items()}
    template = None
    said = folder / "tokenizer_config.json"
    if said.exists():
        template = json.loads(said.read_text()).get("chat_template")
    if (folder / "chat_template.jinja").exists():
        template = (folder / "chat_template.jinja").read_text()
    tokenizer = Tokenizer.of_folder(folder)
    made = Checkpoint(sizes, weight, frozenset(where), tokenizer, template)
    return _checked(made, shapes)


def _bf16(folder: pathlib.Path, name: str) -> Any:
    """NumPy has no bf16: its bits are read as they lie in the file."""
    for file in sorted(folder.glob("*.safetensors")):
        with open(file, "rb") as data:
            size = int.from_bytes(data.read(8), "little")
            head = json.loads(data.read(size))
            if name in head:
                first, last = head[name]["data_offsets"]
                data.seek(8 + size + first)
                bits = np.frombuffer(data.read(last - first), "<u2").astype("u4") << 16
                return bits.view("f4").reshape(head[name]["shape"])
    raise KeyError(name)


def _of_config(config: dict[str, Any]) -> Sizes:
    family = config.get("model_type")
    if family not in _FAMILIES:
        raise ValueError(f"config.json: model_type is {family!r}; {', '.join(_FAMILIES)} are known")
    if config.get("hidden_act", "silu") != "silu":
        raise ValueError(f"config.json: hidden_act must be 'silu'; it is {config['hidden_act']!r}")
    heads, width = config["num_attention_heads"], config["hidden_size"]
    window = config.get("sliding_window") or 0
    if family.startswith("qwen") and not config.get("use_sliding_window"):
        window = 0
    scaling, stretch = _scaling(config.get("rope_scaling"))
    return Sizes(
        layers=_count("num_hidden_layers", config["num_hidden_layers"]),
        heads=_count("num_attention_heads", heads),
        key_heads=_count("num_key_value_heads", config.get("num_key_value_heads") or heads),
        size=_count("head_dim", config.get("head_dim") or width // heads),
        width=_count("hidden_size", width),
        inner=_count("intermediate_size", config["intermediate_size"]),
        vocabulary=_count("vocab_size", config["vocab_size"]),
        context=_count("max_position_embeddings", config["max_position_embeddings"]),
        eps=_real("rms_norm_eps", config["rms_norm_eps"]),
        theta=_real("rope_theta", config.get("rope_theta", 10_000.0)),
        window=window,
        scaling=scaling,
        stretch=stretch,
    )


def _scaling(said: dict[str, Any] | None) -> tuple[tuple[float, float, float, float] | None, float]:
    kind = (said or {}).get("rope_type", (said or {}).get("type", "default"))
    if said is None or kind == "default":
        return None, 1.0
    if kind == "linear":
        return None, _real("rope_scaling.factor", said["factor"])
    if kind == "llama3":
        names = ("factor", "low_freq_factor", "high_freq_factor",
                 "original_max_position_embeddings")  # fmt: skip
        a, b, c, d = (_real(f"rope_scaling.{one}", said[one]) for one in names)
        return (a, b, c, d), 1.0
    raise ValueError(f"config.json: rope_scaling is {kind!r}; linear and llama3 are known")


def _count(name: str, value: Any) -> int:
    if type(value) is not int or not 1 <= value <= _MOST:
        raise ValueError(f"{name} must be a number from 1 to {_MOST}; it is {value!r}")
    return value


def _real(name: str, value: Any) -> float:
    if type(value) not in (int, float) or not math.isfinite(value) or value <= 0:
        raise ValueError(f"{name} must be a number above 0; it is {value!r}")
    return float(value)


def _checked(what: Checkpoint, shapes: dict[str, tuple[int, ...]]) -> Checkpoint:
    """Every weight that the model needs is there, in its shape."""
    s = what.sizes
    needed: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (s.vocabulary, s.width),
        "model.norm.weight": (s.width,),
    }
    if "lm_head.weight" in shapes:
        needed["lm_head.weight"] = (s.vocabulary, s.width)
    q, k = s.heads * s.size, s.key_heads * s.size
    for layer in range(s.layers):
        at = f"model.layers.{layer}."
        needed |= {
            at + "input_layernorm.weight": (s.width,),
            at + "post_attention_layernorm.weight": (s.width,),
            at + "self_attn.q_proj.weight": (q, s.width),
            at + "self_attn.k_proj.weight": (k, s.width),
            at + "self_attn.v_proj.weight": (k, s.width),
            at + "self_attn.o_proj.weight": (s.width, q),
            at + "mlp.gate_proj.weight": (s.inner, s.width),
            at + "mlp.up_proj.weight": (s.inner, s.width),
            at + "mlp.down_proj.weight": (s.width, s.inner),
        }
    for name, shape in needed.items():
        if shapes.get(name) != shape:
            there = f"is {list(shapes[name])}" if name in shapes else "is missing"
            raise ValueError(f"{name} must be {list(shape)}; it {there}")
    if s.heads % s.key_heads or s.size % 2:
        raise ValueError(f"{s.heads} heads of {s.size} do not fit {s.key_heads} heads of keys")
    return what
