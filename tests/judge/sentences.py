"""What a sentence tells: each of its counts is known by the words around it, and is held against that one count."""

import re
from dataclasses import dataclass

from tests.judge.counts import Count

# Where a clause begins.
START = r"(?:^|[;:] )"


@dataclass(frozen=True)
class Told:
    """A count of a sentence. `words` is a pattern that has @ where the count stands."""

    words: str
    count: Count
    needed: bool = True  # must the sentence have it

    def is_at(self, text: str, match: re.Match[str]) -> bool:
        """Do these words stand around this count?"""
        before, _, after = self.words.partition("@")
        return bool(re.search(f"(?:{before})$", text[: match.start()]) and re.match(after, text[match.end() :]))


@dataclass(frozen=True)
class Clause:
    """Numbers of a sentence that are no counts of trials: `words` is a pattern with a group for each."""

    words: str
    values: tuple[float, ...]
    needed: bool = True


def clause(words: str, *values: float, needed: bool = True) -> Clause:
    return Clause(words, values, needed)
