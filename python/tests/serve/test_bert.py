"""The model of texts against a reference in f64 with the same weights."""

import numpy as np
import pytest
from checkpoints import Reference
from tokenizers import Tokenizer
from troupe.serve.models.bert import Bert

LENGTHS = [2, 256, 3, 17, 64, 5]


@pytest.fixture(scope="module")
def tiny(gpu, checkpoint):
    return Bert(gpu, checkpoint)


def _ids(lengths, most):
    rng = np.random.default_rng(7)
    return [rng.integers(1, most, one).astype(np.int32) for one in lengths]


def test_agrees_with_the_reference(tiny, checkpoint):
    ids = _ids(LENGTHS, tiny.sizes.vocabulary)
    reference = Reference(checkpoint)
    for one, y in zip(ids, tiny.encode(ids).numpy(), strict=True):
        assert y @ reference(one) >= 0.99999
        assert np.abs(y - reference(one)).max() < 1e-5


@pytest.mark.parametrize("dtype, least", [("f16", 0.9999), ("bf16", 0.999)])
def test_weights_of_16_bits_are_near(gpu, checkpoint, dtype, least):
    model, reference = Bert(gpu, checkpoint, dtype), Reference(checkpoint)
    ids = _ids(LENGTHS, model.sizes.vocabulary)
    rows = model.encode(ids).numpy()
    assert rows.dtype == np.float32
    assert min(y @ reference(one) for one, y in zip(ids, rows, strict=True)) > least
    assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-6


def test_the_others_of_a_batch_change_nothing(tiny):
    ids = _ids(LENGTHS, tiny.sizes.vocabulary)
    together = tiny.encode(ids).numpy()
    alone = np.concatenate([tiny.encode([one]).numpy() for one in ids])
    assert np.abs(together - alone).max() < 1e-6


def test_minilm_agrees_with_the_reference_and_knows_what_is_alike(gpu, minilm):
    texts = [
        "A man is eating food.",
        "A man is eating a piece of bread.",
        "Die Börse schließt ✓ 📈.",
    ]
    tokenizer = Tokenizer.from_file(str(minilm / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.no_truncation()
    ids = [one.ids for one in tokenizer.encode_batch(texts)]
    y = Bert(gpu, minilm).encode(ids).numpy()
    reference = Reference(minilm)
    for one, mine in zip(ids, y, strict=True):
        assert mine @ reference(one) >= 0.99999
    assert y[0] @ y[1] == pytest.approx(0.7553, abs=1e-3)
    assert abs(y[0] @ y[2]) < 0.2


def test_another_kind_of_model_is_refused(gpu, checkpoint, tmp_path):
    config = (checkpoint / "config.json").read_text()
    (tmp_path / "config.json").write_text(config.replace("{", '{"hidden_act": "relu", ', 1))
    with pytest.raises(ValueError, match="hidden_act must be 'gelu'"):
        Bert(gpu, tmp_path)
