"""Files of GGUF: their numbers, and that a wrong file is refused and nothing else."""

import struct

import numpy as np
import pytest
import tiny as made
from troupe.generation import gguf
from troupe.generation.checkpoint import load


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    return made.write_gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def test_fields_and_tensors_are_what_was_written(written):
    file = gguf.File(written)
    for name, one in made.fields().items():
        said = file.fields[name]
        assert said == (pytest.approx(one) if isinstance(one, float) else one), name
    tensors = made.weights()
    assert np.array_equal(file.array("token_embd.weight"), tensors["model.embed_tokens.weight"])
    name = "model.layers.1.mlp.down_proj.weight"
    assert np.array_equal(file.array("blk.1.ffn_down.weight"), tensors[name])


def _by_definition(kind, b):
    """Elements of a block, one at a time, as ggml writes them."""
    half = lambda at: float(np.frombuffer(bytes(b[at : at + 2]), "<f2")[0])  # noqa: E731
    signed = lambda one: one - 256 if one > 127 else one  # noqa: E731
    made, y = half(0), []
    if kind in ("Q4_0", "Q4_1"):
        at = 2 if kind == "Q4_0" else 4
        for i in range(32):
            q = b[at + i] & 15 if i < 16 else b[at + i - 16] >> 4
            y.append(made * (q - 8) if kind == "Q4_0" else made * q + half(2))
    elif kind in ("Q5_0", "Q5_1"):
        at = 2 if kind == "Q5_0" else 4
        bits = int.from_bytes(bytes(b[at : at + 4]), "little")
        for i in range(32):
            q = b[at + 4 + i] & 15 if i < 16 else b[at + 4 + i - 16] >> 4
            q |= (bits >> i & 1) << 4
            y.append(made * (q - 16) if kind == "Q5_0" else made * q + half(2))
    elif kind == "Q8_0":
        y = [made * signed(one) for one in b[2:34]]
    elif kind == "Q4_K":
        for j in range(8):
            s = b[4:16]
            scale = s[j] & 63 if j < 4 else (s[j + 4] & 15) | (s[j - 4] >> 6) << 4
            least = s[j + 4] & 63 if j < 4 else (s[j + 4] >> 4) | (s[j] >> 6) << 4
            for i in range(32):
                q = b[16 + j // 2 * 32 + i] >> (4 * (j % 2)) & 15
                y.append(made * scale * q - half(2) * least)
    else:
        made = half(208)
        for i in range(256):
            part, rest = divmod(i, 128)
            row, l = divmod(rest, 32)  # noqa: E741
            low = b[part * 64 + l + 32 * (row % 2)] >> (4 * (row // 2)) & 15
            high = b[128 + part * 32 + l] >> (2 * row) & 3
            scale = signed(b[192 + part * 8 + 2 * row + l // 16])
            y.append(made * scale * ((low | high << 4) - 32))
    return y


@pytest.mark.parametrize("kind", ["Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q6_K"])
def test_blocks_are_those_of_the_definition(kind):
    of = next(one for one in gguf._KINDS.values() if one.name == kind)
    rng = np.random.default_rng(3)
    blocks = rng.integers(0, 256, (6, of.bytes), np.uint8)
    for at in (
        {0, 2} if kind not in ("Q6_K", "Q5_0", "Q4_0", "Q8_0") else {208 if kind == "Q6_K" else 0}
    ):
        blocks[:, at : at + 2] = rng.uniform(-2, 2, 6).astype("<f2").reshape(-1, 1).view(np.uint8)
    y = np.asarray(of.to_f32(blocks)).reshape(6, of.elements)
    for block, mine in zip(blocks.tolist(), y, strict=True):
        assert np.allclose(mine, _by_definition(kind, block), rtol=1e-5, atol=1e-5)


def test_wrong_files_are_refused(written, tmp_path):
    data = bytearray(written.read_bytes())
    begin = data.index(b"token_embd.weight") + len("token_embd.weight")

    def refused(text, change):
        wrong = bytearray(data)
        change(wrong)
        file = tmp_path / "wrong.gguf"
        file.write_bytes(wrong)
        with pytest.raises(ValueError, match=text):
            load(file)

    def put(at, form, value):
        return lambda wrong: struct.pack_into(form, wrong, at, value)

    refused("does not begin with GGUF", put(0, "<I", 0))
    refused("its version is 9", put(4, "<I", 9))
    refused("would have 9223372036854775808 tensors", put(8, "<Q", 2**63))
    refused("9223372036854775808 fields", put(16, "<Q", 2**63))
    refused("within a value", put(24, "<Q", 2**63))
    refused("it has 2147483648 dimensions", put(begin, "<I", 2**31))
    refused("F32 has no shape", put(begin + 4, "<Q", 2**62))
    refused("F32 has no shape", put(begin + 4, "<Q", 0))
    refused("its type is 77", put(begin + 20, "<I", 77))
    refused("it ends at byte", put(begin + 24, "<Q", 2**60))
    refused("must be", put(begin + 4, "<Q", 24))
    for size in (0, 3, 100, 4096, len(data) - 1):
        file = tmp_path / "cut.gguf"
        file.write_bytes(data[:size])
        with pytest.raises(ValueError):
            load(file)


def test_changed_bytes_never_do_more_than_refuse(written, tmp_path):
    data = written.read_bytes()
    head = data.index(b"blk.0") + 400
    rng = np.random.default_rng(11)
    refused = 0
    for i in range(300):
        wrong = bytearray(data)
        for at in rng.integers(0, head, 1 + i % 3):
            wrong[at] = rng.choice([0, 1, 127, 128, 255, wrong[at] ^ 1])
        file = tmp_path / "changed.gguf"
        file.write_bytes(wrong)
        try:
            load(file)
        except ValueError:
            refused += 1
    assert refused > 100


def test_other_models_are_refused_by_name(tmp_path):
    for change, text in [
        ({"general.architecture": "gpt2"}, "its architecture is 'gpt2'"),
        ({"tokenizer.ggml.model": "llama"}, "its tokenizer is 'llama'"),
        ({"tokenizer.ggml.pre": "odd"}, "splits words as 'odd'"),
        ({"llama.attention.head_count": 0}, "head_count must be a number from 1"),
        ({"llama.attention.layer_norm_rms_epsilon": float("nan")}, "must be a number above 0"),
        ({"llama.rope.scaling.type": "yarn"}, "scaling.type is 'yarn'"),
        ({"tokenizer.ggml.token_type": [1, 2]}, "do not fit together"),
        ({"tokenizer.chat_template": "{% for %}"}, "chat template"),
    ]:
        with pytest.raises(ValueError, match=text):
            found = load(made.write_gguf(tmp_path / "other.gguf", head=made.fields() | change))
            from troupe.generation.chat import Template

            Template(found.tokenizer, found.template)
    tensors = made.weights()
    del tensors["model.layers.1.mlp.up_proj.weight"]
    with pytest.raises(ValueError, match="up_proj.weight must be .* it is missing"):
        load(made.write_gguf(tmp_path / "short.gguf", tensors))
