"""Tokens of texts, and texts of tokens: byte-level BPE of GGUF, and whatever tokenizer.json says."""

from __future__ import annotations

import codecs
import json
import pathlib
import re
from collections.abc import Iterable, Sequence
from typing import Any

from tokenizers import Regex, models, pre_tokenizers
from tokenizers import Tokenizer as Encoder

_CONTROL, _USER_DEFINED = 3, 4  # kinds of tokens in GGUF
_WORDS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def _split(pattern: str) -> Any:
    return pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )


def _words_of(kind: str) -> Any:
    """How GGUF's `tokenizer.ggml.pre` splits a text before pairs are merged."""
    bytes_of = pre_tokenizers.ByteLevel(add_prefix_space=False)
    if kind == "gpt-2":
        return bytes_of
    if kind == "smollm":
        return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), bytes_of])
    if kind == "qwen2":
        return _split(_WORDS % "")
    if kind == "llama-bpe":
        return _split(_WORDS % "{1,3}")
    raise ValueError(f"its tokenizer splits words as {kind!r}; gpt-2, llama-bpe, qwen2 and smollm are known")  # fmt: skip


def _bytes_of_letters() -> dict[str, int]:
    """The letters by which byte-level BPE writes bytes."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(one): one for one in plain}
    others = [one for one in range(256) if one not in plain]
    return letters | {chr(256 + i): one for i, one in enumerate(others)}


class Tokenizer:
    """Encodes without special tokens, unless asked: a text that looks like one stays a text.

    ends: tokens that end an answer. begins: those before every text.
    """

    def __init__(self, encoder: Encoder, pieces: list[bytes], specials: dict[str, int]) -> None:
        self._encoder, self.pieces, self.specials = encoder, pieces, specials
        self.ends: frozenset[int] = frozenset()
        self.begins: list[int] = []
        self._special_ids = frozenset(specials.values())
        longest_first = sorted(map(re.escape, specials), key=len, reverse=True)
        self._pattern = re.compile("|".join(longest_first)) if specials else None

    @classmethod
    def of_gguf(cls, fields: dict[str, Any]) -> Tokenizer:
        """Raises ValueError for another kind, or for what does not fit together."""
        kind = fields.get("tokenizer.ggml.model")
        if kind != "gpt2":
            raise ValueError(f"its tokenizer is {kind!r}; gpt2, byte-level BPE, is known")
        try:
            words: list[str] = fields["tokenizer.ggml.tokens"]
            kinds: list[int] = fields["tokenizer.ggml.token_type"]
            merges = [tuple(one.split(" ")) for one in fields["tokenizer.ggml.merges"]]
        except (KeyError, AttributeError, TypeError) as why:
            raise ValueError(f"its tokenizer is not whole: {why}") from None
        if len(kinds) != len(words) or any(len(one) != 2 for one in merges):
            raise ValueError("its tokens, their kinds and merges do not fit together")
        pre = fields.get("tokenizer.ggml.pre", "gpt-2")
        try:
            model = models.BPE(
                {word: i for i, word in enumerate(words)}, merges, ignore_merges=pre == "llama-bpe"
            )
        except Exception as why:  # the library has no type of its own for it
            raise ValueError(f"its tokenizer: {why}") from None
        encoder = Encoder(model)
        encoder.pre_tokenizer = _words_of(pre)
        specials = {
            word: i
            for i, (word, kind) in enumerate(zip(words, kinds, strict=True))
            if kind in (_CONTROL, _USER_DEFINED)
        }
        letters = _bytes_of_letters()
        made = cls(encoder, [_piece(one, letters) for one in words], specials)
        for i in specials.values():
            made.pieces[i] = words[i].encode()
        # Those of the user, such as <think>, are found in templates, and are text of an answer.
        made._special_ids = frozenset(i for i in specials.values() if kinds[i] == _CONTROL)

        def named(name: str) -> int | None:
            i = fields.get(f"tokenizer.ggml.{name}_token_id")
            return i if type(i) is int and 0 <= i < len(words) else None

        ends = {named("eos"), named("eot")} | {
            specials.get(one) for one in ("<|im_end|>", "<|eot_id|>", "<|endoftext|>")
        }
        made.ends = frozenset(one for one in ends if one is not None)
        begin = named("bos")
        if fields.get("tokenizer.ggml.add_bos_token") and begin is not None:
            made.begins = [begin]
        return made

    @classmethod
    def of_folder(cls, folder: pathlib.Path) -> Tokenizer:
        """tokenizer.json, and generation_config.json or config.json for the end."""
        text = (folder / "tokenizer.json").read_text()
        encoder = Encoder.from_str(text)
        encoder.no_padding()
        encoder.no_truncation()
        encoder.encode_special_tokens = True
        said = json.loads(text)
        specials = {one["content"]: one["id"] for one in said["added_tokens"] if one["special"]}
        letters = _bytes_of_letters() if '"ByteLevel"' in json.dumps(said["decoder"]) else None
        words = [encoder.id_to_token(i) or "" for i in range(encoder.get_vocab_size())]
        added = {one["id"]: one["content"].encode() for one in said["added_tokens"]}
        pieces = [added[i] if i in added else _piece(one, letters) for i, one in enumerate(words)]
        made = cls(encoder, pieces, specials)
        made.begins = [one for one in encoder.encode("").ids if one in specials.values()]
        for name in ("generation_config.json", "config.json"):
            file = folder / name
            ends = json.loads(file.read_text()).get("eos_token_id") if file.exists() else None
            if ends is not None:
                made.ends = frozenset(ends if isinstance(ends, list) else [ends])
                break
        return made

    def encode(self, text: str, specials: bool = False) -> list[int]:
        """Without the token that begins a text. Raises ValueError for lone surrogates.

        specials: tokens such as <|im_end|> are what they are called, not texts.
        """
        try:
            if not specials or self._pattern is None:
                return self._plain(text)
            ids: list[int] = []
            at = 0
            for found in self._pattern.finditer(text):
                ids += self._plain(text[at : found.start()])
                ids.append(self.specials[found[0]])
                at = found.end()
            return ids + self._plain(text[at:])
        except (UnicodeEncodeError, TypeError):
            raise ValueError("the text has half of a surrogate pair") from None

    def _plain(self, text: str) -> list[int]:
        return self._encoder.encode(text, add_special_tokens=False).ids if text else []

    def is_special(self, token: int) -> bool:
        return token in self._special_ids

    def decode(self, ids: Iterable[int]) -> str:
        """Special tokens are left out; bytes that are no UTF-8 become U+FFFD."""
        text = Text(self)
        return "".join(map(text.add, ids)) + text.rest()

    def hide(self, text: str, mark: str) -> str:
        """With `mark` in what looks like special tokens, so that `encode_shown` finds none there."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda found: found[0][0] + mark + found[0][1:], text)

    def encode_shown(self, text: str, mark: str) -> list[int]:
        """Special tokens of a text, except those that `hide` has marked."""
        if self._pattern is None:
            return self.encode(text)
        ids: list[int] = []
        at = 0
        for found in self._pattern.finditer(text):
            ids += self.encode(text[at : found.start()].replace(mark, ""))
            ids.append(self.specials[found[0]])
            at = found.end()
        return ids + self.encode(text[at:].replace(mark, ""))


def _piece(word: str, letters: dict[str, int] | None) -> bytes:
    """The bytes of a token."""
    if letters is not None:
        if all(one in letters for one in word):
            return bytes(letters[one] for one in word)
        return word.encode()
    found = re.fullmatch(r"<0x([0-9A-F]{2})>", word)
    return bytes([int(found[1], 16)]) if found else word.replace("▁", " ").encode()


class Text:
    """A text that grows by tokens: letters appear when all of their bytes are there."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        """What the text has grown by."""
        if self._tokenizer.is_special(token):
            return self._decoder.decode(b"")
        return self._decoder.decode(self._tokenizer.pieces[token])

    def rest(self) -> str:
        """The bytes that are left when nothing comes any more."""
        return self._decoder.decode(b"", True)


class Stops:
    """Holds back the end of a growing text as long as it may be the beginning of a stop string."""

    def __init__(self, stops: Sequence[str]) -> None:
        self._stops = [one for one in stops if one]
        self._held = ""

    def add(self, text: str) -> tuple[str, bool]:
        """What may be shown, and whether a stop string has ended the text."""
        self._held += text
        if not self._stops:
            shown, self._held = self._held, ""
            return shown, False
        found = min((at for at in map(self._held.find, self._stops) if at >= 0), default=-1)
        if found >= 0:
            return self._held[:found], True
        keep = max(map(self._beginning, self._stops))
        cut = len(self._held) - keep
        shown, self._held = self._held[:cut], self._held[cut:]
        return shown, False

    def rest(self) -> str:
        shown, self._held = self._held, ""
        return shown

    def _beginning(self, stop: str) -> int:
        """How many of the last letters begin it."""
        most = min(len(stop) - 1, len(self._held))
        return next((n for n in range(most, 0, -1) if self._held.endswith(stop[:n])), 0)
