"""The model against a reference in f64 with the same weights."""

import numpy as np
import pytest
import tiny as made
from troupe.generation.checkpoint import load
from troupe.generation.step import Step
from troupe.serve.models.llama import Llama


def logits_of(model, parts, page_size=4):
    """Of all positions; each part is a step: new tokens of every sequence, packed."""
    count = len(parts[0])
    cache = model.cache(64, page_size)
    sequences = [cache.begin() for _ in range(count)]
    found = [[] for _ in range(count)]
    done = [0] * count
    for part in parts:
        here = [i for i in range(count) if part[i]]
        ids = np.concatenate([np.array(part[i], np.int32) for i in here])
        places = np.concatenate([done[i] + np.arange(len(part[i])) for i in here])
        with cache.step([sequences[i] for i in here], [len(part[i]) for i in here]) as step:
            y = model.forward(Step(ids, places.astype(np.int32), np.arange(len(ids), dtype=np.int32), step))  # fmt: skip
            y = y.numpy()
        at = 0
        for i in here:
            found[i].append(y[at : at + len(part[i])])
            at += len(part[i])
            done[i] += len(part[i])
    return [np.concatenate(one) for one in found]


def _ids(seed, *lengths):
    rng = np.random.default_rng(seed)
    return [rng.integers(0, len(made.words()), one).tolist() for one in lengths]


def test_agrees_with_the_reference_whatever_the_steps_are(gpu, tiny, reference):
    a, b, c = _ids(1, 23, 9, 14)
    parts = [[a[:7], b[:1], []], [a[7:8], b[1:4], c[:6]], [a[8:20], b[4:5], []],
             [a[20:21], [], c[6:7]], [a[21:], b[5:], c[7:]]]  # fmt: skip
    for ids, y in zip((a, b, c), logits_of(Llama(gpu, tiny), parts), strict=True):
        assert np.abs(y - reference(ids)).max() < 1e-4


@pytest.mark.parametrize("family, bias, norms, tied, window", [
    ("qwen2", True, False, True, 0), ("qwen3", False, True, False, 0), ("mistral", False, False, False, 5),
])  # fmt: skip
def test_other_families_are_constants(gpu, tmp_path, family, bias, norms, tied, window):
    tensors = made.weights(3, bias, norms, tied)
    said = {"model_type": family, "sliding_window": window or None}
    checkpoint = load(made.write_folder(tmp_path, tensors, **said))
    assert (checkpoint.sizes.pairs, checkpoint.sizes.window) == ("halves", window)
    (ids,) = _ids(2, 20)
    (y,) = logits_of(Llama(gpu, checkpoint), [[ids[:11]], [ids[11:12]], [ids[12:]]])
    assert np.abs(y - made.reference_of(checkpoint)(ids)).max() < 1e-4


@pytest.mark.parametrize("dtype, near", [("bf16", 0.25), ("f16", 0.03)])
def test_weights_of_16_bits_are_near(gpu, tiny, reference, dtype, near):
    (ids,) = _ids(4, 30)
    (y,) = logits_of(Llama(gpu, tiny, dtype), [[ids[:20]], [ids[20:21]], [ids[21:]]])
    assert y.dtype == np.float32
    assert np.sqrt(((y - reference(ids)) ** 2).mean()) < near


def test_smollm2_agrees_with_the_reference(gpu, smollm2):
    model, reference = Llama(gpu, smollm2), made.reference_of(smollm2, "f4")
    text = "The capital of France is Paris, and"
    ids = smollm2.tokenizer.encode(text)
    (y,) = logits_of(model, [[ids[:4]], [ids[4:5]], [ids[5:]]], 16)
    assert np.abs(y - reference(ids)).max() < 5e-3
    assert smollm2.tokenizer.decode([y[4].argmax()]) == " Paris"


def test_rotations_of_long_contexts_are_scaled(gpu, tmp_path):
    llama3 = {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
              "high_freq_factor": 4.0, "original_max_position_embeddings": 64}  # fmt: skip
    sizes = load(made.write_folder(tmp_path, rope_scaling=llama3)).sizes
    assert sizes.scaling == (8.0, 1.0, 4.0, 64.0)
    from troupe.serve.models.llama import _angles

    plain = _angles(sizes._replace(scaling=None))[1]
    scaled = _angles(sizes)[1]
    half = sizes.size // 2
    turn, turn_scaled = (np.arctan2(one[half:], one[:half]) for one in (plain, scaled))
    ratio = turn_scaled / turn
    wave = 2 * np.pi / turn
    assert np.allclose(ratio[wave < 16], 1, atol=1e-5)
    assert np.allclose(ratio[wave > 64], 1 / 8, atol=1e-5)
    assert np.all(np.diff(ratio) <= 1e-6)
