"""Only the holder releases and renews, and it learns what happened."""

from functools import partial

from bench.conformance.bounds import AT_ONCE_MS, LAPSE_SLACK_MS
from bench.conformance.harness import TRY, Harness, let_pass, must_be_a_mistake, now_ms
from bench.systems.base import Grant, Outcome, Refusal, Released


def _says_lost(answer: object, what: str) -> None:
    assert isinstance(answer, Refusal), f"{what} succeeded: {answer}"
    assert answer.outcome is Outcome.LOST, f"{what} said {answer.outcome} ({answer.reason}), not lost"


def check_release_twice_says_lost(bench: Harness) -> None:
    """The second release of a grant changes nothing and says so, also when the key is free."""
    client, other = bench.open(), bench.open()
    key = bench.new_key()
    grant = bench.take(client, key)
    assert isinstance(client.release(grant), Released), "the holder's release failed"
    _says_lost(client.release(grant), "a second release")
    bench.take(other, key, AT_ONCE_MS)


def check_stale_grant_changes_nothing(bench: Harness) -> None:
    """A client that released can neither release nor renew what another now holds (redis-py #415, #489)."""
    stale, holder = bench.open(), bench.open()
    key = bench.new_key()
    old = bench.take(stale, key)
    assert isinstance(stale.release(old), Released), "the holder's release failed"
    grant = bench.take(holder, key)
    _says_lost(stale.release(old), "the release of a grant that another followed")
    bench.must_be_held(key, "the second holder, after a stale release,")
    _says_lost(stale.renew(old), "the renewal of a grant that another followed")
    bench.must_be_held(key, "the second holder, after a stale renewal,")
    assert isinstance(holder.release(grant), Released), "the second holder lost its grant to a stale client"


def check_a_new_grant_is_not_the_old_one(bench: Harness) -> None:
    """One client takes a key twice in a row; its first grant no longer releases the second."""
    client = bench.open()
    key = bench.new_key()
    first = bench.take(client, key)
    assert isinstance(client.release(first), Released), "the holder's release failed"
    second = bench.take(client, key)
    _says_lost(client.release(first), "the release of the client's own former grant")
    bench.must_be_held(key, "the client, by its second grant,")
    assert isinstance(client.release(second), Released), "the second grant was gone"


def check_bad_ttl_is_refused(bench: Harness) -> None:
    """A TTL of zero or less is an error of the caller, on acquire and renew; the key is untouched (redis-py #4279)."""
    client = bench.open()
    key = bench.new_key()
    for ttl_ms in (0, -1):
        must_be_a_mistake(partial(client.acquire, key, ttl_ms, 0, TRY), f"an acquire for {ttl_ms} ms")
    grant = bench.take(client, key)
    for ttl_ms in (0, -1):
        must_be_a_mistake(partial(client.renew, grant, ttl_ms), f"a renewal by {ttl_ms} ms")
        bench.must_be_held(key, f"the holder, after a renewal by {ttl_ms} ms,")
    assert isinstance(client.renew(grant), Grant), "the grant could not be renewed after a refused renewal"
    assert isinstance(client.release(grant), Released), "the grant could not be released after a refused renewal"


def check_renewal_keeps_the_grant(bench: Harness) -> None:
    """A renewal in time is a grant of the same key, owner and token, and the lock stays held."""
    client = bench.open()
    key = bench.new_key()
    grant = bench.take(client, key)
    renewed = client.renew(grant)
    assert isinstance(renewed, Grant), f"a renewal in time said {renewed}"
    before, after = (grant.key, grant.owner, grant.token), (renewed.key, renewed.owner, renewed.token)
    assert after == before, f"a renewal of key, owner and token {before} gave {after}"
    if grant.deadline_ns is not None:
        assert renewed.deadline_ns is not None, "a renewal lost the deadline"
        assert renewed.deadline_ns >= grant.deadline_ns, "a renewal brought the deadline forward"
    bench.must_be_held(key, "the client, after a renewal,")
    assert isinstance(client.release(renewed), Released), "a renewed grant could not be released"


def check_renewal_extends(bench: Harness) -> None:
    """Renewed at each third of its lease, a grant outlives two leases."""
    client = bench.open(ttl_ms=bench.short_ttl_ms)
    key = bench.new_key()
    grant = bench.take(client, key)
    until_ms = now_ms() + 2 * bench.short_ttl_ms + bench.capabilities.ttl_granularity_ms
    while now_ms() < until_ms:
        let_pass(bench.short_ttl_ms / 3)
        renewed = client.renew(grant)
        assert isinstance(renewed, Grant), f"a renewal in time said {renewed}"
        grant = renewed
    assert client.lost(grant) is None, f"a grant renewed in time is said to be lost: {client.lost(grant)}"
    bench.must_be_held(key, "the client, renewed past its first lease,")
    assert isinstance(client.release(grant), Released), "a renewed grant could not be released"


def check_renewal_replaces(bench: Harness) -> None:
    """Five renewals in a row leave one TTL, not six (redis-py #629, redbeat #127)."""
    holder = bench.spawn(ttl_ms=bench.short_ttl_ms)
    next_client = bench.open()
    key = bench.new_key()
    bench.actor_acquires(holder, key)
    for _ in range(5):
        assert holder.ask("renew", key=key)["outcome"] == "acquired", "a renewal in time failed"
    holder.kill()
    renewed_ms = now_ms()
    bench.take(next_client, key, 8 * bench.short_ttl_ms + LAPSE_SLACK_MS)
    waited_ms = now_ms() - renewed_ms
    assert waited_ms <= bench.lapse_ms, (
        f"after five renewals of {bench.short_ttl_ms} ms the lease lasted {waited_ms:.0f} ms"
    )


def check_expired_holder_changes_nothing(bench: Harness) -> None:
    """A stopped holder wakes after another took its key: renewal and release say lost, and the other keeps the key."""
    holder = bench.spawn(ttl_ms=bench.short_ttl_ms)
    other = bench.open()
    key = bench.new_key()
    bench.actor_acquires(holder, key)
    holder.stop()
    grant = bench.take(other, key, bench.lapse_ms + LAPSE_SLACK_MS)
    holder.resume()
    for do in ("renew", "release"):
        answer = holder.ask(do, key=key)
        assert answer["outcome"] == "lost", f"a {do} after another took the key said {answer}"
        bench.must_be_held(key, f"the next holder, after a late {do},")
    assert isinstance(other.release(grant), Released), "the next holder lost its grant to a late one"


def check_expired_grant_is_never_recreated(bench: Harness) -> None:
    """A stopped holder wakes after its lease ended and nobody came: renew says lost, and takes nothing.

    Reported as redlock-rb #36 and RedLock.net #93.
    """
    holder = bench.spawn(ttl_ms=bench.short_ttl_ms)
    key = bench.new_key()
    bench.actor_acquires(holder, key)
    holder.stop()
    let_pass(bench.short_ttl_ms + bench.capabilities.ttl_granularity_ms + LAPSE_SLACK_MS / 3)
    holder.resume()
    for do in ("renew", "release"):
        answer = holder.ask(do, key=key)
        assert answer["outcome"] == "lost", f"a {do} after the lease had ended said {answer}"
    bench.take(bench.open(), key, AT_ONCE_MS)


def check_fresh_grant_is_not_lost(bench: Harness) -> None:
    """A grant has its lease before it: its deadline is to come, at most a TTL away, and nobody says it is lost."""
    client = bench.open(ttl_ms=bench.short_ttl_ms)
    grant = bench.take(client, bench.new_key())
    answered_ms = now_ms()
    assert client.lost(grant) is None, f"a fresh grant is said to be lost: {client.lost(grant)}"
    if grant.deadline_ns is not None:
        left_ms = grant.deadline_ns / 1e6 - answered_ms
        assert 0 < left_ms <= grant.ttl_ms, f"a fresh lease of {grant.ttl_ms} ms has {left_ms:.1f} ms left"
    longest_ms = bench.short_ttl_ms + bench.capabilities.ttl_granularity_ms
    assert bench.short_ttl_ms <= grant.ttl_ms <= longest_ms, f"asked for {bench.short_ttl_ms} ms, got {grant.ttl_ms}"
