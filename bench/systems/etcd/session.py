"""One lease, kept alive in the background, and what its client knows of it."""

import math
import threading
from contextlib import suppress
from typing import Any

from bench.systems.base import ClientOptions
from bench.systems.etcd.cluster import CallFailed, Cluster
from bench.systems.etcd.stubs import etcdrpc

NS_PER_MS = 1_000_000
KEEPALIVES_PER_TTL = 3  # one may fail, and still another fits in before the lease runs out


class Session:
    """Alive until `ended` gives a reason; once it has, it never lives again, whatever etcd thinks of the lease."""

    def __init__(self, cluster: Cluster, options: ClientOptions, granted: Any, sent_ns: int) -> None:
        self._cluster = cluster
        self._options = options
        self._clock = options.clock
        self.lease_id: int = granted.ID
        # What the caller asked for, if etcd gave more (whole seconds, and no less than its election timeout allows):
        # who asked for 1 500 ms is notified after 1 500 ms, and etcd's rest only delays the next holder.
        self.ttl_ms: int = min(options.ttl_ms, granted.TTL * 1000)
        # Counted from the sending: etcd starts the lease later than that, so this client gives up before etcd does.
        self.deadline_ns: int = sent_ns + self.ttl_ms * NS_PER_MS
        self._ended: str | None = None
        self._stop = threading.Event()
        self._waiting: Any = None
        self._keeper: threading.Thread | None = None

    @classmethod
    def open(cls, cluster: Cluster, options: ClientOptions) -> "Session":
        """Take a lease from the first member that gives one within `call_timeout_ms`. Raises CallFailed.

        A lease whose reply was lost has no keys and runs out by itself, so asking another member is harmless.
        """
        until_ns = options.clock.monotonic_ns() + options.call_timeout_ms * NS_PER_MS
        attempts = 2 * len(cluster.addresses)
        for left in range(attempts, 0, -1):
            # Once round for whoever answers now, then once more with patience for those that are only just coming up.
            patient = left <= len(cluster.addresses)
            sent_ns = options.clock.monotonic_ns()
            share_ms = (until_ns - sent_ns) / NS_PER_MS / left
            try:
                cluster.authenticate(share_ms, patient)
                question = etcdrpc.LeaseGrantRequest(TTL=math.ceil(options.ttl_ms / 1000))
                return cls(cluster, options, cluster.call("grant", question, share_ms, patient), sent_ns)
            except CallFailed:
                if left == 1:
                    raise
        raise AssertionError("an endpoint has at least one address")

    def now_ns(self) -> int:
        """The clock of `deadline_ns`."""
        return self._clock.monotonic_ns()

    def ended(self) -> str | None:
        """Why this session is over; None while it is not, as far as the client can know."""
        if self._ended is None and self._clock.monotonic_ns() >= self.deadline_ns:
            self.end("the session's lease ran out on the client's monotonic clock")
        return self._ended

    def end(self, reason: str) -> None:
        """Keep the lease alive no longer and wake whoever waits. The first reason stays."""
        self._ended = self._ended or reason
        self._stop.set()
        self._wake()

    def renew(self) -> None:
        """One keepalive. Raises CallFailed, which says nothing of the lease: its deadline stands.

        It also probes the connections, within its share of the lease: unanswered, it wakes whoever waits over them.
        """
        sent_ns = self._clock.monotonic_ns()
        timeout_ms = min(self._options.call_timeout_ms, self.ttl_ms / KEEPALIVES_PER_TTL)
        question = etcdrpc.LeaseKeepAliveRequest(ID=self.lease_id)
        try:
            answer = self._cluster.call("keep_alive", question, timeout_ms, patient=True)
        except CallFailed:
            self._wake()
            raise
        if answer.TTL <= 0:
            self.end("etcd says that the session's lease is gone")
        elif self._ended is None:
            self.deadline_ns = max(self.deadline_ns, sent_ns + min(self.ttl_ms, answer.TTL * 1000) * NS_PER_MS)

    def _wake(self) -> None:
        waiting = self._waiting
        if waiting is not None:
            waiting.cancel()

    def wait_for(self, answers: Any) -> Any:
        """The next of a stream's answers, or None. `end`, or a failed `renew`, in another thread cancels the stream."""
        self._waiting = answers
        try:
            return next(answers, None) if self.ended() is None else None
        finally:
            self._waiting = None

    def close(self) -> None:
        """End it and free what it holds, within two calls' time. Never raises."""
        self.end("this client closed its session")
        if self._keeper is not None and self._keeper.is_alive():
            self._keeper.join(self._options.call_timeout_ms / 1000)
        with suppress(CallFailed):  # then the lease, no longer kept alive, runs out by itself
            self._cluster.call("revoke", etcdrpc.LeaseRevokeRequest(ID=self.lease_id))

    def keep_alive(self) -> None:
        """From now on, in the background, unless the client was opened without."""
        if self._options.variant.get("keepalive", "yes") == "yes":
            name = f"etcd lease {self.lease_id:x}"
            self._keeper = threading.Thread(target=self._keep_alive, name=name, daemon=True)
            self._keeper.start()

    def _keep_alive(self) -> None:
        period_ns = self.ttl_ms * NS_PER_MS // KEEPALIVES_PER_TTL
        due_ns = self._clock.monotonic_ns() + period_ns
        while not self._stop.wait(max(0, due_ns - self._clock.monotonic_ns()) / 1e9):
            if self.ended() is not None:  # this process slept too long: a late renewal would revive what was given up
                return
            due_ns = self._clock.monotonic_ns() + period_ns
            with suppress(CallFailed):  # the next one, to another member, is already due if this one took its time
                self.renew()
