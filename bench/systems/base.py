"""The adapter contract: what every lock client of the bench does, and what it may answer.

One client is one session with its system. Outcomes that happen in a healthy world (`busy`, `timeout`, `lost`,
`unknown`, `error`) are values; mistakes of the caller (an empty key, a TTL of zero) are exceptions and are raised
before anything is sent.
"""

import secrets
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from enum import StrEnum
from typing import Any, ClassVar, Self

from bench.servers.endpoint import Endpoint
from bench.systems import sole_use
from bench.systems.clock import SYSTEM_CLOCK, Clock
from bench.systems.sole_use import SoleUse
from bench.systems.wait import Wait

KEY_CHARACTERS_MAX = 512
KEY_BYTES_MAX = 2_000  # DynamoDB's partition key ends at 2 048 bytes; one limit for all, so every system answers alike


class Outcome(StrEnum):
    """How one operation ended."""

    ACQUIRED = "acquired"
    BUSY = "busy"  # someone else holds it, and the caller did not want to wait
    TIMEOUT = "timeout"  # waited as long as asked; nothing of ours is left behind
    LOST = "lost"  # the lease or session is gone: whoever thought to hold the key does not
    UNKNOWN = "unknown"  # may have happened; the client could not find out
    ERROR = "error"  # the system answered with a failure, or not at all, and nothing of ours is left behind
    RELEASED = "released"


class Fate:
    """What the client knows of a grant, shared by all its renewals. A loss that was reported once is final.

    Every grant has one, so it is made in the measured call: defaults of the class cost 0.1 µs there, an __init__ 0.3.
    """

    gone: str | None = None  # why the grant is no more: lost, or released
    deadline_ns: int | None = None  # of the lease as the servers may have it now, whichever renewal it came from


@dataclass(frozen=True, slots=True)
class Grant:
    """One successful acquire.

    `token` is the fencing token (None where the system has none). `deadline_ns` is the instant, on the client's
    monotonic clock, at which the lease may have run out on the server; it counts from the *sending* of the request, so
    it errs to the early side. None: there is no lease (the lock ends with the connection or session, see `lost`).
    `handle` is the adapter's own, `fate` the contract's.
    """

    key: str
    owner: str
    token: int | None
    ttl_ms: int
    deadline_ns: int | None
    handle: Any = field(default=None, repr=False, compare=False)
    fate: Fate = field(default_factory=Fate, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Refusal:
    """An acquire, renew or release that did not succeed, and why, in words for a log."""

    outcome: Outcome
    reason: str


@dataclass(frozen=True, slots=True)
class Released:
    """The grant was ours and is now free."""

    outcome: Outcome = Outcome.RELEASED


RELEASED = Released()
_RELEASED = "this client released it"


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a system promises, as static facts: the columns of the comparison that no measurement can fill."""

    fencing_source: str | None  # where the token comes from, in the system's own word; None: no token
    token_rises: bool  # does the adapter claim that the token rises with every grant of a key
    expiry_judge: str  # whose clock ends a lease: "server", "client", "session", "connection"
    lease_scope: str  # what the TTL belongs to: "grant", "session" (asked for in ClientOptions), "none"
    queue_order: str  # "fifo", "none"
    durability: str  # what survives a crash of the server
    nodes: int
    quorum: int
    wait_strategies: tuple[str, ...]
    # The critical path of a free lock, from which the floor of its latency is computed: what must happen one after the
    # other before the answer, in the best case. What happens side by side (five nodes asked at once) counts once.
    acquire_round_trips: int = 1  # between client and servers
    release_round_trips: int = 1
    peer_round_trips: int = 0  # between servers, before they answer an acquire, and again before they answer a release
    acquire_durable_writes: int = 1  # that the answer waits for, where the server waits for its disk at all:
    release_durable_writes: int = 1
    # Which of the server's own settings (`ServerFacts.durability`), all together, make it wait, as "name=value|value".
    # One adapter serves a durable and a forgetful variant of its server; each has its own floor. Empty: it never waits.
    durable_when: tuple[str, ...] = ()
    ttl_granularity_ms: int = 1  # a lease may outlive its TTL by this much by design (ticks, whole seconds)
    ttl_min_ms: int = 1  # the smallest lease that the system honours as asked
    client_clock_matters: bool = False  # safety leans on the client's clock
    lease_clock: str = ""  # by which of the judge's clocks a lease ends, as its designers say: "wall", "monotonic"

    def texts(self) -> dict[str, str]:
        """Every field as text, for a record: "" where there is none, several values joined by commas."""
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        joined = {name: ", ".join(value) if isinstance(value, tuple) else value for name, value in values.items()}
        return {name: "" if value is None else str(value) for name, value in joined.items()}


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """Read from the server itself, never from our configuration. All values are strings, ready for a record."""

    version: str
    identity: str
    durability: Mapping[str, str]
    nodes: int | None  # None: the servers do not tell


@dataclass(frozen=True, slots=True)
class ClientOptions:
    """How a client behaves. `ttl_ms` is the lease asked for at open by systems whose lease belongs to the session.

    `client` is a label for people. Two clients may carry the same one: nothing is identified by it.
    """

    client: str = field(default_factory=lambda: uuid.uuid4().hex[:12])
    ttl_ms: int = 10_000
    call_timeout_ms: int = 2_000  # bound of one backend call, connect included
    clock: Clock = SYSTEM_CLOCK
    variant: Mapping[str, str] = field(default_factory=dict)


class LockClient(ABC):
    """One session with one system. Subclasses fill in the underscored methods; this class checks arguments and use.

    A client is used by one thread (or greenlet) at a time, in the process that opened it: ClientMisuse otherwise. What
    two calls at once, or a forked child, would do to a connection is not an outcome but somebody else's lock.
    """

    capabilities: ClassVar[Capabilities]

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        self.endpoint = endpoint
        self.options = options
        self.clock = options.clock
        self._sole_use = SoleUse()
        self._owner_prefix = f"{options.client}-{secrets.token_hex(8)}"
        self._grants = 0
        # Of the acquire under way, what `_abandon` needs to leave nothing of it. An adapter sets it before anything of
        # it can be on a server; it is plain data, so nothing that interrupts comes between.
        self._begun: tuple[Any, ...] | None = None

    @classmethod
    def open(cls, endpoint: Endpoint, options: ClientOptions | None = None) -> Self:
        """Connect. Raises ConnectionError, with the address, when the system cannot be reached in `call_timeout_ms`."""
        client = cls(endpoint, options or ClientOptions())
        client._connect()
        return client

    def acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        """Take the lock of `key`, waiting up to `timeout_ms` in the way of `wait` (`try` asks once).

        Ends within `timeout_ms` plus a few calls of `call_timeout_ms`. A refusal other than `unknown` leaves nothing of
        ours behind. Raises ValueError for a bad argument, before anything is sent.
        """
        check_key(key)
        check_ttl(ttl_ms)
        if timeout_ms < 0:
            raise ValueError(f"timeout_ms is {timeout_ms}: it cannot be negative")
        if wait.strategy not in self.capabilities.wait_strategies:
            known = ", ".join(self.capabilities.wait_strategies)
            raise ValueError(f"{type(self).__name__} cannot wait by {wait}: it knows {known}")
        if self.capabilities.lease_scope == "session" and ttl_ms != self.options.ttl_ms:
            raise ValueError(
                f"the lease belongs to the session here: open the client with ClientOptions(ttl_ms={ttl_ms})"
            )
        use, answer = self._sole_use, None
        if use.under_way or use.process is not sole_use.this_process:
            raise use.refusal()
        use.under_way = True  # see SoleUse: written out here, so that a grant is never between two calls
        try:
            if self._begun is not None:
                self._clean_up()
            answer = self._acquire(key, ttl_ms, timeout_ms, wait)
            if isinstance(answer, Grant):
                answer.fate.deadline_ns = answer.deadline_ns
            self._begun = None
            return answer
        except BaseException:
            # Raised from outside just now (by a signal's handler): the caller gets no grant. The clean-up is begun anew
            # when it is interrupted itself, as by a second Ctrl-C. Whoever insists gets out, and then the next call
            # does it. Nested and not in a loop, at whose turn a handler may raise.
            try:
                self._clean_up(answer)
            except BaseException:
                try:
                    self._clean_up(answer)
                except BaseException:
                    self._clean_up(answer)
                    raise
                raise
            raise
        finally:
            use.under_way = False

    def renew(self, grant: Grant, ttl_ms: int | None = None) -> Grant | Refusal:
        """Set the remaining lease to `ttl_ms` (default: the grant's own). `lost`: the grant is not ours any more."""
        ttl_ms = grant.ttl_ms if ttl_ms is None else ttl_ms
        check_ttl(ttl_ms)
        self._clean_up_first()
        fate = grant.fate
        if fate.deadline_ns is not None:  # a shorter lease counts from now on, also if no answer comes to say so
            fate.deadline_ns = min(fate.deadline_ns, self.clock.monotonic_ns() + ttl_ms * 1_000_000)
        answer = Refusal(Outcome.LOST, fate.gone) if fate.gone else self._sole_use.alone(self._renew, grant, ttl_ms)
        if isinstance(answer, Refusal):
            if answer.outcome is Outcome.LOST:
                fate.gone = fate.gone or answer.reason
            return answer
        if fate.gone:  # said by `lost` in the meantime, to a holder who has stopped since
            return Refusal(Outcome.LOST, fate.gone)
        fate.deadline_ns = answer.deadline_ns
        return answer if answer.fate is fate else replace(answer, fate=fate)

    def release(self, grant: Grant) -> Released | Refusal:
        """Free the lock if, and only if, this grant still holds it. `lost`: it did not, and nothing was changed.

        What is left on the servers of a grant that was said to be lost is freed all the same; the answer is `lost`.
        """
        self._clean_up_first()
        gone = grant.fate.gone
        answer = self._sole_use.alone(self._release, grant)
        if gone:
            return Refusal(Outcome.LOST, gone)
        if answer.outcome is not Outcome.UNKNOWN and answer.outcome is not Outcome.ERROR:
            grant.fate.gone = answer.reason if isinstance(answer, Refusal) else _RELEASED
        return answer

    def lost(self, grant: Grant) -> str | None:
        """Why this client already knows, without asking, that the grant is gone; None while it has no reason to.

        Final: once a reason was reported, or a renewal or release said so, every later look gives one too. May be
        called from any thread at any time, also while another call of this client is under way.
        """
        fate = grant.fate
        if fate.gone is None:
            fate.gone = self._lost(grant)
        return fate.gone

    def close(self) -> None:
        """End the session. What this client still holds is freed as the system frees it. Idempotent, and never fails;
        raises ClientMisuse in a forked child and during another call, since it would end a session that is in use."""
        self._clean_up_first()
        self._sole_use.alone(self._close)

    def _lost(self, grant: Grant) -> str | None:
        """Like `lost`, of this instant. Asks nobody."""
        deadline_ns = grant.fate.deadline_ns
        if deadline_ns is not None and self.clock.monotonic_ns() >= deadline_ns:
            return "the lease ran out on the client's monotonic clock"
        return None

    def server_facts(self) -> ServerFacts:
        """Version, identity and durability settings, asked of the server. Raises ConnectionError, with the address."""
        return self._sole_use.alone(self._server_facts)

    @abstractmethod
    def _connect(self) -> None: ...

    @abstractmethod
    def _close(self) -> None: ...

    @abstractmethod
    def _server_facts(self) -> ServerFacts: ...

    @abstractmethod
    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal: ...

    @abstractmethod
    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal: ...

    @abstractmethod
    def _release(self, grant: Grant) -> Released | Refusal: ...

    def _abandon(self, *begun: Any) -> object:
        """Leave nothing of an acquire that was interrupted, given `_begun`. May be called again, and never fails."""
        raise NotImplementedError(f"{type(self).__name__} sets _begun")

    def _clean_up(self, grant: Grant | Refusal | None = None) -> None:
        """What of an acquire was begun, or granted, and not reported to the caller."""
        if self._begun is not None:
            self._abandon(*self._begun)
            self._begun = None
        elif isinstance(grant, Grant):
            self._release(grant)

    def _clean_up_first(self) -> None:
        """Before another call: of an acquire whose clean-up was interrupted too often."""
        if self._begun is not None:
            self._sole_use.alone(self._clean_up)

    def _next_owner(self) -> str:
        """A value no other grant has or had, whatever clients are called: label, 64 random bits and a count."""
        self._grants += 1
        return f"{self._owner_prefix}-{self._grants}"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_key(key: str) -> None:
    """Refuse, alike on every system, a key that some system could not carry."""
    if not key or "\0" in key or len(key) > KEY_CHARACTERS_MAX or len(key.encode()) > KEY_BYTES_MAX:
        raise ValueError(
            f"a key is 1-{KEY_CHARACTERS_MAX} characters, at most {KEY_BYTES_MAX} bytes of UTF-8, without NUL; "
            f"got {len(key)} characters: {key[:40]!r}"
        )


def check_ttl(ttl_ms: int) -> None:
    """Refuse a lease of no length before anything is sent: Redis would read PEXPIRE 0 as "delete"."""
    if ttl_ms <= 0:
        raise ValueError(f"ttl_ms is {ttl_ms}: a lease lasts at least 1 ms")
