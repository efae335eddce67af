"""The etcd adapter: a queue of leased keys in order of their create revision, which is the fencing token.

The algorithm is that of etcd's own Go client (client/v3/concurrency/mutex.go) with what reports against it asked for: a
waiter checks its own lease before it believes that it holds (etcd issues 9921 and 11456), and a reply that is lost is
settled, not repeated. etcd3's own `Lock` is not used: see README.md.
"""

from dataclasses import replace

from bench.servers.endpoint import Endpoint
from bench.systems.apart import ApartClient, Cut, Job, apart
from bench.systems.base import (
    RELEASED,
    Capabilities,
    ClientOptions,
    Grant,
    Outcome,
    Refusal,
    Released,
    ServerFacts,
)
from bench.systems.etcd import facts, messages
from bench.systems.etcd.cluster import CallFailed, Cluster
from bench.systems.etcd.entry import Entry
from bench.systems.etcd.messages import Place
from bench.systems.etcd.session import NS_PER_MS, Session
from bench.systems.etcd.turn import Turn
from bench.systems.wait import Wait


class EtcdLock(ApartClient):
    """One session, which is one lease, for all grants of this client. A lost session is replaced by the next acquire.

    Whenever this client cannot find out whether a key of its own is left, it stops keeping the lease alive: what may be
    left is then gone within the TTL, and every grant of the session is reported as `lost`.
    """

    capabilities = Capabilities(
        fencing_source="create revision",
        token_rises=True,
        expiry_judge="server",
        # lessor.go: a lease's end is a time.Time, and Go compares those by their monotonic part (package time). The
        # queue in which the ends wait did not up to 3.4: see the README.
        lease_clock="monotonic",
        lease_scope="session",
        queue_order="fifo",
        durability="on a majority's disks before the answer (fdatasync of the write-ahead log)",
        nodes=3,
        quorum=2,
        wait_strategies=("try", "watch", "herd"),
        # One transaction writes our key and reads the queue: one trip, as the release.
        # Raft: the leader sends the entry to its followers while it flushes its own log, and one follower's flush and
        # answer make the majority: one trip between servers, one flush. That is a client of the leader; through a
        # follower it is one trip more (to the leader and back), so the floor is one that the luckier clients can reach.
        peer_round_trips=1,
        durable_when=("wal_fsync=on",),
        # Up to 1 000 for whole seconds; 500 since the lessor looks twice a second; 250 for the revocation, a write.
        ttl_granularity_ms=1_750,
        ttl_min_ms=1_000,  # with our servers' election timeout of 650 ms
    )

    def __init__(self, endpoint: Endpoint, options: ClientOptions) -> None:
        super().__init__(endpoint, options)
        self._cluster = Cluster(endpoint, options)
        self._session: Session | None = None

    @apart
    def _connect(self) -> None:
        try:
            self._open_session()
        except CallFailed as failed:
            self._cluster.close()
            raise ConnectionError(f"no etcd member of {self.endpoint} gives a lease: {failed}") from failed

    def _acquire(self, key: str, ttl_ms: int, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        job = Job(self._take, cut := Cut(), key, timeout_ms, wait)
        self._begun = (job, cut)
        return self._apart.done(job)

    def _abandon(self, job: Job[Grant | Refusal], cut: Cut) -> None:
        """The acquire is cut short and waited for (the call under way, and what leaving takes), a grant is let go."""
        if isinstance(got := self._apart.ended(job, cut, 4 * self.options.call_timeout_ms / 1000), Grant):
            self._release(got)

    def _take(self, cut: Cut, key: str, timeout_ms: int, wait: Wait) -> Grant | Refusal:
        until_ns = self.clock.monotonic_ns() + timeout_ms * NS_PER_MS
        try:
            session = self._live_session()
        except CallFailed as failed:
            return Refusal(Outcome.ERROR, f"no lease: {failed}")
        turn = Turn(self._cluster, session, Entry(key, session.lease_id, self._next_owner()), cut)
        try:
            place = turn.join(only_if_free=wait.strategy == "try")
            if isinstance(place, Place):
                place = turn.wait(place, until_ns, herd=wait.strategy == "herd")
            if isinstance(place, Refusal):
                return place
            # etcd may have answered long after this client had to give the lease up, or after nobody waits any more.
            if (reason := session.ended() or cut.reason) is not None:
                return turn.leave(place, Outcome.LOST, reason)
            return Grant(key, turn.entry.owner, place.create_revision, session.ttl_ms, session.deadline_ns, turn)
        except BaseException:  # raised from outside: this greenlet is killed
            turn.vanish()
            raise

    @apart
    def _renew(self, grant: Grant, ttl_ms: int) -> Grant | Refusal:
        turn: Turn = grant.handle
        if ttl_ms != grant.ttl_ms:
            raise ValueError(f"the lease belongs to the session here: every renewal is for {grant.ttl_ms} ms")
        try:
            if turn.session.ended() is None:
                turn.session.renew()
            if (reason := turn.session.ended()) is not None:
                return Refusal(Outcome.LOST, reason)
            kept = self._cluster.call("range", messages.own_request(turn.entry)).kvs
        except CallFailed as failed:
            # Nothing was taken away: the lease lives until its deadline, which may or may not have moved.
            return Refusal(Outcome.ERROR if failed.refused else Outcome.UNKNOWN, str(failed))
        if not kept or kept[0].create_revision != grant.token:
            return Refusal(Outcome.LOST, turn.why_gone())
        return replace(grant, deadline_ns=turn.session.deadline_ns)

    @apart
    def _release(self, grant: Grant) -> Released | Refusal:
        turn: Turn = grant.handle
        deleted = turn.delete(grant.token or 0)
        if deleted is None:
            return Refusal(Outcome.UNKNOWN, "no member confirms the release; the lease, no longer renewed, ends it")
        return RELEASED if deleted else Refusal(Outcome.LOST, turn.why_gone())

    def _lost(self, grant: Grant) -> str | None:
        """The session's deadline decides, which each keepalive moves, and how the keepalive was answered."""
        turn: Turn = grant.handle
        return turn.session.ended()

    def _close(self) -> None:
        """Revoke the lease, which deletes all keys of this client. Ends within three calls."""
        self._apart.do(self._end)
        self._apart.end()

    def _end(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            session.close()
        self._cluster.close()

    @apart
    def _server_facts(self) -> ServerFacts:
        """Asked of the member that this client speaks to."""
        return facts.read(self._cluster, self.endpoint, self.options.call_timeout_ms)

    def _live_session(self) -> Session:
        if self._session is None:
            raise ConnectionError(f"client {self.options.client} of etcd is closed")
        return self._session if self._session.ended() is None else self._open_session()

    def _open_session(self) -> Session:
        self._session = session = Session.open(self._cluster, self.options)
        session.keep_alive()  # not before this client knows of it: interrupted in between, a thread would keep it alive
        return session
