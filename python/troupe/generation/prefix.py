"""Beginnings that sequences of a cache have in common, so that they are computed once."""

from __future__ import annotations

import hashlib
import secrets
from collections import OrderedDict
from collections.abc import Sequence

import numpy as np

from .. import KvCache

_Key = bytes


class _Page:
    """A full page: its tokens, and the sequences that have it after the same pages."""

    __slots__ = ("before", "sequences", "tokens")

    def __init__(self, before: _Key, tokens: bytes) -> None:
        self.before, self.tokens = before, tokens
        self.sequences: dict[int, None] = {}


class Prefix:
    """Knows full pages by a hash of all tokens up to their end, salted with the tenant.

    A hash only finds a page: its tokens are compared. Sequences of jobs are added while they run;
    `keep` keeps one that has ended, until its pages are needed.
    """

    def __init__(self, cache: KvCache, page_size: int) -> None:
        self._cache, self._size = cache, page_size
        self._secret = secrets.token_bytes(16)
        self._pages: dict[_Key, _Page] = {}
        self._of: dict[int, list[_Key]] = {}
        self._kept: OrderedDict[int, None] = OrderedDict()
        self.queries = self.hits = 0  # in tokens

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, tenant: str, tokens: Sequence[int]) -> tuple[int, int]:
        """A sequence that begins as `tokens` do, and how far; (-1, 0) if there is none."""
        best = (-1, 0)
        for number, (key, before, page) in enumerate(self._keys(tenant, tokens), 1):
            known = self._pages.get(key)
            if known is None or known.before != before or known.tokens != page:
                break
            best = (next(iter(known.sequences)), number * self._size)
        if best[0] in self._kept:
            self._kept.move_to_end(best[0])
        return best

    def admitted(self, tokens: int, found: int) -> None:
        """Counts what `find` found, once for a job: one that has to wait is looked for again."""
        self.queries += tokens
        self.hits += found

    def add(self, tenant: str, tokens: Sequence[int], sequence: int) -> None:
        """A sequence holds these tokens; called again when it has more."""
        mine = self._of.setdefault(sequence, [])
        full = len(tokens) // self._size
        if full == len(mine):
            return
        for number, (key, before, page) in enumerate(self._keys(tenant, tokens)):
            if number < len(mine):
                continue
            one = self._pages.get(key)
            if one is None:
                one = self._pages[key] = _Page(before, page)
            elif one.before != before or one.tokens != page:
                return  # another page of the same hash
            one.sequences[sequence] = None
            mine.append(key)

    def keep(self, sequence: int) -> None:
        """Its job has ended. Without a full page it ends as well."""
        if not self._of.get(sequence):
            self.forget(sequence)
        else:
            self._kept[sequence] = None

    def forget(self, sequence: int) -> None:
        """Ends a sequence."""
        self._kept.pop(sequence, None)
        for key in self._of.pop(sequence, ()):
            page = self._pages[key]
            del page.sequences[sequence]
            if not page.sequences:
                del self._pages[key]
        self._cache.end(sequence)

    def free(self, pages: int) -> bool:
        """Ends kept sequences, the longest unused first, until so many pages are free."""
        while self._cache.free_pages < pages and self._kept:
            self.forget(next(iter(self._kept)))
        return self._cache.free_pages >= pages

    def _keys(self, tenant: str, tokens: Sequence[int]):  # type: ignore[no-untyped-def]
        """Key, key before it and tokens of each full page."""
        before = hashlib.blake2b(tenant.encode(), key=self._secret, digest_size=16).digest()
        full = len(tokens) // self._size * self._size
        data = np.asarray(tokens[:full], np.int32).tobytes()
        step = 4 * self._size
        for at in range(0, len(data), step):
            page = data[at : at + step]
            key = hashlib.blake2b(before + page, key=self._secret, digest_size=16).digest()
            yield key, before, page
            before = key
