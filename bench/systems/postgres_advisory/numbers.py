"""From keys to the numbers that PostgreSQL locks."""

import hashlib


def number_of(key: str) -> int:
    """A 64-bit number, with its sign, that is the same in every process, on every machine and in every release.

    Python's own `hash` differs from process to process, and PostgreSQL's `hashtext` has 32 bits and no promise to stay
    as it is. Two keys of one number block each other and never share a lock; among a million keys in use there is such
    a pair with a probability of 3 in 10^8 (birthdays: n^2 / 2^65).
    """
    return int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big", signed=True)
