"""One client's turn in the queue of one key: join, wait, leave. Each says how it ended, also when a reply is lost."""

from dataclasses import dataclass, field

from bench.systems.apart import Cut
from bench.systems.base import Outcome, Refusal
from bench.systems.etcd import messages
from bench.systems.etcd.cluster import CallFailed, Cluster
from bench.systems.etcd.entry import Entry
from bench.systems.etcd.grpc_alone import grpc
from bench.systems.etcd.messages import Place
from bench.systems.etcd.session import NS_PER_MS, Session
from bench.systems.etcd.stubs import etcdrpc


@dataclass(frozen=True, slots=True)
class Turn:
    """`entry` is this client's own key, used for one grant and never again."""

    cluster: Cluster
    session: Session
    entry: Entry
    cut: Cut = field(default_factory=Cut)

    def join(self, only_if_free: bool) -> Place | Refusal:
        """Enter the queue; with `only_if_free` not behind anyone: `busy`, and nothing was written."""
        if self.cut.reason is not None:
            return Refusal(Outcome.ERROR, self.cut.reason)
        try:
            place = messages.joined(self.cluster.call("txn", messages.join_request(self.entry, only_if_free)))
        except CallFailed as failed:
            if failed.lease_gone:
                self.session.end("etcd does not know the session's lease")
                return Refusal(Outcome.LOST, str(failed))
            return Refusal(Outcome.ERROR, str(failed)) if failed.refused else self._settle(failed)
        return place or Refusal(Outcome.BUSY, "held by another")

    def wait(self, place: Place, until_ns: int, herd: bool = False) -> Place | Refusal:
        """Stay until first, or until the client's monotonic clock reads `until_ns`.

        In a `herd` it is woken by whoever leaves the queue, and not by the predecessor alone.
        """
        may_break = len(self.cluster.addresses)  # a watch that ends with its member is resumed at the next one
        while place.predecessor is not None:
            reason = self.session.ended()
            if reason is not None:
                return self.leave(place, Outcome.LOST, reason)
            if self.cut.reason is not None:
                return self.leave(place, Outcome.ERROR, self.cut.reason)
            if self.session.now_ns() >= until_ns:
                return self.leave(place, Outcome.TIMEOUT, "held by another until the timeout")
            try:
                self._watch(place, until_ns, herd)
                may_break = len(self.cluster.addresses)
            except CallFailed as broken:
                may_break -= 1
                if may_break < 0:
                    return self.leave(place, Outcome.ERROR, f"no member kept the watch open: {broken}")
            # Whatever ended the watch: only this look, which a majority confirms, says who is first and that our own
            # lease still lives. A predecessor may also have left from the middle of the queue.
            try:
                here = messages.looked(self._look(place.create_revision), place.create_revision)
            except CallFailed as failed:
                return self.leave(place, Outcome.ERROR, str(failed))
            if here is None:
                return Refusal(Outcome.LOST, self.why_gone())
            place = here
        return place

    def leave(self, place: Place, outcome: Outcome, reason: str) -> Refusal:
        """Withdraw, and report `outcome`, or `unknown` if it cannot be confirmed that nothing of ours is left."""
        if self.delete(place.create_revision) is None:
            return Refusal(Outcome.UNKNOWN, f"{reason}; our key may be left until its lease runs out")
        return Refusal(outcome, reason)

    def why_gone(self) -> str:
        """Why our key is not in the queue any more. Asked of etcd: a key can be deleted while its lease lives."""
        reason = self.session.ended()
        if reason is not None:
            return reason
        question = etcdrpc.LeaseTimeToLiveRequest(ID=self.session.lease_id)
        try:
            left_s = self.cluster.call("time_to_live", question).TTL
        except CallFailed as failed:
            return f"our key is gone from the queue, and etcd does not say why: {failed}"
        if left_s >= 0:  # whole seconds, rounded down; -1: there is no such lease
            return "our key is gone from the queue while its lease lives: released, or deleted by another hand"
        self.session.end("etcd says that the session's lease is gone")
        return "our key is gone from the queue, since its lease ran out"

    def vanish(self) -> None:
        """Leave nothing, whatever was under way; if that fails, or is interrupted as well, the session ends, and it
        with it.
        """
        try:
            self.cluster.call("txn", messages.vanish_request(self.entry), patient=True)
        except CallFailed as failed:
            self.session.end(f"a key of it may be left behind: {failed}")
        except BaseException:
            self.session.end("a key of it may be left behind: its clean-up was interrupted")
            raise

    def delete(self, create_revision: int) -> bool | None:
        """Was our key there, and is it deleted now? None: could not find out; then the session ends, and it with it."""
        request = messages.delete_request(self.entry, create_revision)
        try:
            return bool(self.cluster.call("txn", request).succeeded)
        except CallFailed:
            # The reply is lost, perhaps not the delete. Asking again is safe: a create revision names one key.
            try:
                again = self.cluster.call("txn", request, patient=True)
            except CallFailed as failed:
                self.session.end(f"a key of it may be left behind: {failed}")
                return None
            # Gone, while the lease cannot have run out yet: then it was our first request that deleted it.
            return bool(again.succeeded) or self.session.ended() is None

    def _settle(self, lost_reply: CallFailed) -> Place | Refusal:
        """What became of a join without a reply: we are in the queue, or it can never take effect, or `unknown`."""
        try:
            revision = messages.settled(self.cluster.call("txn", messages.settle_request(self.entry), patient=True))
            if revision is None:
                return Refusal(Outcome.ERROR, f"the request was lost: {lost_reply}")
            place = messages.looked(self._look(revision), revision)
        except CallFailed as failed:
            self.session.end(f"a key of it may be left behind: {failed}")
            return Refusal(Outcome.LOST if failed.lease_gone else Outcome.UNKNOWN, f"{lost_reply}; then {failed}")
        return place or Refusal(Outcome.LOST, "the lease ran out while the reply to its first use was lost")

    def _look(self, create_revision: int) -> object:
        return self.cluster.call("txn", messages.look_request(self.entry, create_revision))

    def _watch(self, place: Place, until_ns: int, herd: bool) -> None:
        """Until the predecessor's key or our own is deleted (in a herd: any of the queue), time is up, or the session's
        lease may have run out.

        The last bounds it by the TTL: a watch that went silent with its member is looked after that often. Where the
        keepalives are not answered either, it ends with the first that failed.
        """
        wait_ms = (min(until_ns, self.session.deadline_ns) - self.session.now_ns()) / NS_PER_MS
        requests = (messages.herd_requests if herd else messages.watch_requests)(self.entry, place)
        with self.cluster.stream("watch", requests, max(wait_ms, 0)) as answers:
            self.cut.waiting = answers
            while self.cut.reason is None:
                answer = self.session.wait_for(answers)
                # Cancelled by etcd: the revision to start from is compacted already. Then, too, a look decides.
                if answer is None or answer.events or answer.compact_revision:
                    return
                if answer.canceled:
                    raise CallFailed(self.cluster.address, grpc.StatusCode.PERMISSION_DENIED, answer.cancel_reason)
