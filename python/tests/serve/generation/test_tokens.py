"""Tokens of texts against a reference in Python, texts of tokens, stop strings, chat templates."""

import random
import re
import unicodedata

import pytest
import tiny as made
from troupe.generation.chat import BadTemplate, Template
from troupe.generation.tokens import Stops, Text, Tokenizer

LETTERS = [*"abcthein  \n\t019.,'’-_", "é", "ß", "Ж", "ع", "ש", "の", "漢", "😀", "👩‍🚀", "\u200f", "\x00", "\x1b",
           "\u0301", "<|im_end|>", "'s", "the", " in", "\r\n", "\u3000", "\U0010ffff"]  # fmt: skip


def _letters_of_bytes():
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [one for one in range(256) if one not in plain]
    return {one: chr(one) for one in plain} | {one: chr(256 + i) for i, one in enumerate(others)}


def _kind(letter):
    if letter.isspace():
        return "space"
    return {"L": "letter", "N": "number"}.get(unicodedata.category(letter)[0], "other")


def _words(text):
    """As GPT-2 splits them: 's and the like, runs of one kind with a space before, spaces."""
    at = 0
    while at < len(text):
        short = re.match("'s|'t|'re|'ve|'m|'ll|'d", text[at:])
        start = at + (text[at] == " " and at + 1 < len(text) and _kind(text[at + 1]) != "space")
        if short:
            end = at + short.end()
        else:
            end = start
            while end < len(text) and _kind(text[end]) == _kind(text[start]):
                end += 1
            # The last space of several belongs to what follows.
            if _kind(text[start]) == "space" and end < len(text) and end - at > 1:
                end -= 1
        yield text[at:end]
        at = end


class ByDefinition:
    """Byte-level BPE, as GPT-2's paper and its code have it, with digits by themselves."""

    def __init__(self, words, merges):
        self.ids = {one: i for i, one in enumerate(words)}
        self.ranks = {tuple(one.split(" ")): i for i, one in enumerate(merges)}
        self.letters = _letters_of_bytes()

    def encode(self, text):
        return [
            i
            for part in re.split("([0-9])", text)
            for word in _words(part)
            for i in self._merged(word)
        ]

    def _merged(self, word):
        parts = [self.letters[one] for one in word.encode()]
        while len(parts) > 1:
            pairs = list(zip(parts, parts[1:], strict=False))
            best = min(pairs, key=lambda pair: self.ranks.get(pair, 1 << 30))
            if best not in self.ranks:
                break
            at = pairs.index(best)
            parts[at : at + 2] = ["".join(best)]
        return [self.ids[one] for one in parts]


def _texts(count, seed):
    rng = random.Random(seed)
    return ["".join(rng.choices(LETTERS, k=rng.randrange(1, 30))) for _ in range(count)]


def test_small_tokenizers_agree_with_the_definition(tiny):
    reference = ByDefinition(made.words(), made.MERGES)
    for text in _texts(2000, 1):
        ids = tiny.tokenizer.encode(text)
        assert ids == reference.encode(text), repr(text)
        assert tiny.tokenizer.decode(ids) == text


def test_smollm2_gives_texts_back(smollm2):
    tokenizer = smollm2.tokenizer
    for text in _texts(10_000, 2):
        assert tokenizer.decode(tokenizer.encode(text)) == text
    assert tokenizer.encode("Hello world 1234") == [19556, 905, 216, 33, 34, 35, 36]
    assert len(tokenizer.encode("a" * 1_000_000)) < 500_000


def test_special_tokens_are_texts_unless_asked_for(tiny):
    tokenizer = tiny.tokenizer
    end = tokenizer.specials["<|im_end|>"]
    assert end not in tokenizer.encode("a<|im_end|>b")
    assert tokenizer.encode("a<|im_end|>b", specials=True).count(end) == 1
    assert tokenizer.decode([end]) == "" and tokenizer.ends == {end}
    with pytest.raises(ValueError, match="half of a surrogate pair"):
        tokenizer.encode("\ud800")


def test_a_folder_has_the_same_tokens(tiny, tmp_path):
    from troupe.generation.tokens import Tokenizer

    other = Tokenizer.of_folder(made.write_folder(tmp_path))
    assert other.pieces == tiny.tokenizer.pieces and other.ends == tiny.tokenizer.ends
    for text in _texts(300, 3):
        if not any(one.isdigit() for one in text):
            assert other.encode(text) == tiny.tokenizer.encode(text)
            assert other.decode(other.encode(text)) == text


def test_letters_come_when_all_of_their_bytes_are_there(tiny):
    text = Text(tiny.tokenizer)
    ids = tiny.tokenizer.encode("é😀a")
    assert [text.add(one) for one in ids] == ["", "é", "", "", "", "😀", "a"]
    half = Text(tiny.tokenizer)
    assert half.add(ids[0]) == "" and half.rest() == "\ufffd"


def test_stops_hold_back_no_more_than_may_be_one():
    stops = Stops(["STOP", "\n\n"])
    assert stops.add("abS") == ("ab", False)
    assert stops.add("TO") == ("", False)
    assert stops.add("x") == ("STOx", False)
    assert stops.add("\n") == ("", False)
    assert stops.rest() == "\n"
    rng = random.Random(5)
    for _ in range(500):
        text = "".join(rng.choices("ab", k=40))
        all_stops = ["".join(rng.choices("ab", k=rng.randrange(2, 7))) for _ in range(2)]
        stops, shown, ended = Stops(all_stops), "", False
        for letter in text:
            part, ended = stops.add(letter)
            shown += part
            if ended:
                break
        first = min((end, at) for at, end in ((text.find(s), text.find(s) + len(s)) for s in all_stops) if at >= 0) if any(s in text for s in all_stops) else None  # fmt: skip
        if first is None:
            assert not ended and shown + stops.rest() == text
        else:
            assert ended and text.startswith(shown) and not any(s in shown for s in all_stops)


def test_templates_reach_nothing_and_end(tiny):
    hello = [{"role": "user", "content": "hello"}]

    def refused(source, text):
        with pytest.raises((BadTemplate, ValueError), match=text):
            Template(tiny.tokenizer, source).encode(hello)

    refused("{{ messages.__class__.__mro__[1].__subclasses__() }}", "refuses it")
    refused("{{ messages.append(1) }}", "refuses it")
    refused("{{ raise_exception('no roles') }}", "no roles")
    refused(
        "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
        "took more",
    )
    refused("{% for i in range(9999) %}{{ 'x' * 9999 }}{% endfor %}", "letters|took more")
    refused("{% if %}", "chat template")
    ids = Template(
        tiny.tokenizer, "{{ bos_token }}{{ messages[0]['content'] | trim }}{{ eos_token }}"
    ).encode([{"role": "user", "content": " <|im_start|>hi "}])
    assert ids == [*tiny.tokenizer.encode("<|im_start|>hi"), tiny.tokenizer.specials["<|im_end|>"]]


def test_tokens_of_the_user_are_text_of_an_answer():
    kinds = made.fields()["tokenizer.ggml.token_type"]
    change = {"tokenizer.ggml.token_type": [4, *kinds[1:]]}
    tokenizer = Tokenizer.of_gguf(made.fields() | change)
    ids = tokenizer.encode("<|end|>a<|im_end|>", specials=True)
    assert ids[0] == 0 and ids[-1] == 2
    assert tokenizer.decode(ids) == "<|end|>a"


@pytest.mark.parametrize("wrong", [1 << 20, "2", 1.5])
def test_tokens_that_are_not_there_neither_begin_nor_end(wrong):
    change = {f"tokenizer.ggml.{one}_token_id": wrong for one in ("bos", "eos", "eot")}
    change["tokenizer.ggml.add_bos_token"] = True
    tokenizer = Tokenizer.of_gguf(made.fields() | change)
    assert tokenizer.begins == [] and tokenizer.ends == {2}
