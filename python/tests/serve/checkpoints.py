"""A small checkpoint that a test makes, and the reference: the model in NumPy, in f64."""

import json
import math
import pathlib

import numpy as np
from safetensors.numpy import load_file, save_file
from scipy.special import erf
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

LAYERS, HEADS, WIDTH, INNER, POSITIONS = 2, 4, 32, 64, 512
EPS = 1e-12


def _tokenizer() -> Tokenizer:
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *("##" + one for one in letters)]
    made = Tokenizer(models.WordPiece({w: i for i, w in enumerate(words)}, unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer()
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    # As the file of MiniLM has it, and as nothing should be served.
    made.enable_padding(length=128)
    made.enable_truncation(128)
    return made


def write(folder: pathlib.Path, seed: int = 1) -> pathlib.Path:
    rng = np.random.default_rng(seed)
    tokenizer = _tokenizer()
    tokenizer.save(str(folder / "tokenizer.json"))
    vocabulary = tokenizer.get_vocab_size()
    weights = {
        "embeddings.word_embeddings.weight": rng.standard_normal((vocabulary, WIDTH)),
        "embeddings.position_embeddings.weight": rng.standard_normal((POSITIONS, WIDTH)),
        "embeddings.token_type_embeddings.weight": rng.standard_normal((2, WIDTH)),
    }
    sizes = {
        "attention.self.query": (WIDTH, WIDTH),
        "attention.self.key": (WIDTH, WIDTH),
        "attention.self.value": (WIDTH, WIDTH),
        "attention.output.dense": (WIDTH, WIDTH),
        "intermediate.dense": (INNER, WIDTH),
        "output.dense": (WIDTH, INNER),
    }
    norms = ["embeddings."]
    for layer in range(LAYERS):
        at = f"encoder.layer.{layer}."
        norms += [at + "attention.output.", at + "output."]
        for name, (rows, columns) in sizes.items():
            weights[f"{at}{name}.weight"] = rng.standard_normal((rows, columns)) * columns**-0.5
            weights[f"{at}{name}.bias"] = rng.standard_normal(rows) * 0.1
    for at in norms:
        weights[at + "LayerNorm.weight"] = 1 + 0.1 * rng.standard_normal(WIDTH)
        weights[at + "LayerNorm.bias"] = 0.1 * rng.standard_normal(WIDTH)
    save_file({k: v.astype("f4") for k, v in weights.items()}, folder / "model.safetensors")
    config = {
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "hidden_size": WIDTH,
        "vocab_size": vocabulary, "max_position_embeddings": POSITIONS, "layer_norm_eps": EPS,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 256}')
    return folder


class Reference:
    """The whole model for one text, written from the paper and in f64."""

    def __init__(self, folder: pathlib.Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        self.layers, self.heads = config["num_hidden_layers"], config["num_attention_heads"]
        read = load_file(folder / "model.safetensors")
        # Rows of the tables are converted when they are read: there are many.
        self.w = {k: one if "_embeddings." in k else one.astype("f8") for k, one in read.items()}

    def norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + EPS)
        return scaled * self.w[name + "LayerNorm.weight"] + self.w[name + "LayerNorm.bias"]

    def linear(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.w[name + ".weight"].T + self.w[name + ".bias"]

    def attention(self, x: np.ndarray, name: str) -> np.ndarray:
        n, width = x.shape
        q, k, v = (
            self.linear(x, name + one).reshape(n, self.heads, -1).transpose(1, 0, 2)
            for one in ("query", "key", "value")
        )
        scores = q @ k.transpose(0, 2, 1) / math.sqrt(width // self.heads)
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return (weights @ v).transpose(1, 0, 2).reshape(n, width)

    def __call__(self, ids: list[int]) -> np.ndarray:
        tables = [
            f"embeddings.{one}_embeddings.weight" for one in ("word", "position", "token_type")
        ]
        words, places, kinds = (self.w[one] for one in tables)
        first = words[ids].astype("f8") + places[: len(ids)] + kinds[0]
        x = self.norm(first, "embeddings.")
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}."
            attended = self.attention(x, at + "attention.self.")
            x = self.norm(
                self.linear(attended, at + "attention.output.dense") + x, at + "attention.output."
            )
            u = self.linear(x, at + "intermediate.dense")
            u = 0.5 * u * (1 + erf(u / math.sqrt(2)))
            x = self.norm(self.linear(u, at + "output.dense") + x, at + "output.")
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)
