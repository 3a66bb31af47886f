"""Guesses of the next tokens, which one step of the model checks all at once."""

from __future__ import annotations

from .jobs import Job


class Drafts:
    """Makes guesses, and hears how many were right."""

    def guess(self, job: Job, most: int) -> list[int]:
        raise NotImplementedError

    def learn(self, job: Job, guessed: int, right: int) -> None:
        raise NotImplementedError

    def forget(self, job: Job) -> None:
        """The job has ended."""


class PromptLookup(Drafts):
    """Guesses what followed the last tokens where they were before, in prompt or answer.

    Source: Saxena, "Prompt Lookup Decoding", 2023. It guesses more while guesses are right, and
    stops where they are wrong, to try again some tokens later.
    """

    def __init__(self, most: int = 8, longest: int = 3) -> None:
        """most: guesses of a step. longest: tokens that must be alike, or fewer if none are."""
        self._most, self._longest = most, longest
        self._places: dict[Job, dict[tuple[int, ...], int]] = {}
        self._known: dict[Job, int] = {}
        self._length: dict[Job, int] = {}
        self._pause: dict[Job, int] = {}

    def guess(self, job: Job, most: int) -> list[int]:
        tokens = job.tokens
        places = self._places.setdefault(job, {})
        # The place behind each run of tokens, without the end of the text.
        for end in range(self._known.get(job, 1), len(tokens)):
            for n in range(2, self._longest + 1):
                if end >= n:
                    places[tuple(tokens[end - n : end])] = end
        self._known[job] = len(tokens)
        if self._pause.get(job, 0) > 0:
            self._pause[job] -= 1
            return []
        count = min(most, self._length.get(job, 4))
        for n in range(self._longest, 1, -1):
            at = places.get(tuple(tokens[-n:]))
            if at is not None and len(tokens) >= n:
                return tokens[at : at + count]
        return []

    def learn(self, job: Job, guessed: int, right: int) -> None:
        if right == guessed:
            self._length[job] = min(self._most, 2 * guessed)
        elif right == 0:
            self._length[job], self._pause[job] = 2, 8
        else:
            self._length[job] = max(2, right)

    def forget(self, job: Job) -> None:
        for one in (self._places, self._known, self._length, self._pause):
            one.pop(job, None)
