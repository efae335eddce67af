"""Keys are keys: any text of the permitted length, distinct from every other, the same answer on every system."""

from functools import partial

from bench.conformance.bounds import AT_ONCE_MS
from bench.conformance.harness import Harness, must_be_a_mistake
from bench.systems.base import Outcome, Refusal, Released

ODD_KEYS = {
    "slashes": "a/b/c",
    "leading slash": "/a",
    "trailing slash": "a/",
    "double slash": "a//b",
    "only a slash": "/",
    "spaces": " a b ",
    "tab and newline": "a\tb\nc",
    "braces": "{a}{b",
    "dot": ".",
    "two dots": "..",
    "dots in a path": "a/../b",
    "single quote": "o'clock",
    "double quote": '"quoted"',
    "backslash": "a\\b",
    "percent": "100%25",
    "pattern": "a*b?c[d]",
    "like pattern": "a_b%",
    "dollar and semicolon": "$1; --",
    "non-ASCII": "größe",
    "Han": "锁",
    "emoji": "🔒",
    "combining mark": "e\u0301",
    "right to left": "קו",
    "control": "\x01\x7f",
    "private use": "\ue000",
    "replacement": "\ufffd",
    "500 characters": "k" * 500,
    "500 emoji": "🔑" * 500,
    "colon": "a:b",
    "number": "0",
}

ALIKE = (
    ("a", "a/b"),
    ("a/b", "a%2Fb"),
    ("a/b", "a//b"),
    ("/a", "a"),
    ("a/", "a"),
    ("a", "a "),
    ("a b", "a+b"),
    ("a b", "a%20b"),
    ("Key", "key"),
    ("ß", "SS"),
    ("\u00e9", "e\u0301"),
    ("{a}b", "{a}c"),
    ("a_b", "axb"),
    ("a*", "ab"),
    (".", ".."),
    ("a.b", "a%2Eb"),
    ("0", "00"),
    ("k" * 64 + "1", "k" * 64 + "2"),
    ("k" * 499 + "1", "k" * 499 + "2"),
    ("🔒" * 499 + "1", "🔒" * 499 + "2"),
)

UNUSABLE = {
    "empty": "",
    "NUL": "a\0b",
    "only NUL": "\0",
    "513 characters": "k" * 513,
    "2 004 bytes": "🔑" * 501,
    "half a surrogate pair": "\ud800",
}


def check_odd_keys_work(bench: Harness) -> None:
    """Each odd key is granted, found busy by another, and released."""
    holder, other = bench.open(), bench.open()
    for name, key in ODD_KEYS.items():
        grant = bench.ask(holder, key, AT_ONCE_MS, bench.wait)
        assert not isinstance(grant, Refusal), f"the key with {name} ({key[:20]!r}) was refused: {grant}"
        assert grant.key == key, f"the grant of the key with {name} names {grant.key[:40]!r}"
        answer = bench.ask(other, key)
        assert isinstance(answer, Refusal), f"two hold the key with {name} ({key[:20]!r})"
        assert answer.outcome is Outcome.BUSY, f"a try on the held key with {name} said {answer}"
        released = holder.release(grant)
        assert isinstance(released, Released), f"the key with {name} could not be released: {released}"


def check_alike_keys_are_distinct(bench: Harness) -> None:
    """Of two keys that some encoding would mix up, both can be held at once."""
    one, other = bench.open(), bench.open()
    for key_a, key_b in ALIKE:
        grant_a = bench.take(one, key_a, AT_ONCE_MS)
        grant_b = bench.ask(other, key_b)
        shown = f"{key_a[-8:]!r} ({len(key_a)} characters) and {key_b[-8:]!r} ({len(key_b)})"
        assert not isinstance(grant_b, Refusal), f"the keys {shown} are not distinct: {grant_b}"
        for client, grant in ((one, grant_a), (other, grant_b)):
            released = client.release(grant)
            assert isinstance(released, Released), f"of the keys {shown} one could not be released: {released}"


def check_unusable_keys_are_refused(bench: Harness) -> None:
    """What some system could not carry is refused on all, as a mistake of the caller, before anything is sent."""
    client = bench.open()
    for name, key in UNUSABLE.items():
        must_be_a_mistake(partial(bench.ask, client, key), f"the unusable key ({name})")
    bench.take(client, bench.new_key(), AT_ONCE_MS)
