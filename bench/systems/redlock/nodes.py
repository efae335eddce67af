"""One command to several Redis servers at once, from one thread, within one time limit for all."""

from collections.abc import Iterable, Sequence
from typing import Any

from redis.exceptions import RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeout

from bench.servers.endpoint import Endpoint
from bench.systems.base import ServerFacts
from bench.systems.clock import Clock
from bench.systems.redis.connection import EvictingServer, Link
from bench.systems.redlock.answers import Answers, Silence


class Nodes:
    """The links to all nodes. A round sends to all before it reads from any: it lasts as long as its slowest node."""

    def __init__(self, endpoint: Endpoint, timeout_ms: float, clock: Clock) -> None:
        self._clock = clock
        self._links = [Link(endpoint, node, timeout_ms, clock) for node in range(len(endpoint.addresses))]
        self._failures: dict[int, str] = {}  # why a node could not be reached the last time
        self.every = tuple(range(len(self._links)))

    def __len__(self) -> int:
        return len(self._links)

    def address(self, node: int) -> str:
        return self._links[node].address

    def open(self, within_s: float) -> tuple[int, list[str]]:
        """Connect to all that answer. Returns how many did, and the failures of the others. Raises EvictingServer."""
        give_up_ns = self._give_up_ns(within_s)
        failures = []
        for node, link in enumerate(self._links):
            try:
                link.open(self._left_s(give_up_ns) / (len(self._links) - node))
            except RedisError as failure:
                failures.append(f"{link.address}: {failure}")
        return len(self._links) - len(failures), failures

    def ask(
        self, packed: bytes, nodes: Sequence[int], within_s: float, *, replies_min: int = 0, at_most_s: float = 0.0
    ) -> Answers:
        """Send `packed` to `nodes`; each one's reply, its RedisError, or why there is none, in at most `within_s`.

        Whoever is not connected is connected on the way, after the others have been sent theirs: nodes that are down
        share what is left of the time limit and cannot lengthen it. A node that may evict locks counts as down. Only
        while fewer than `replies_min` have replied is a late one waited for longer, up to `at_most_s` in all.
        """
        give_up_ns, at_most_ns = self._give_up_ns(within_s), self._give_up_ns(at_most_s)
        answers = Answers()
        closed = []
        for node in nodes:
            link = self._links[node]
            if not link.is_open and link.still_owes():
                answers[node] = Silence.HELD_BACK
            elif link.is_open:
                self._send(node, packed, answers)
            else:
                closed.append(node)
        for done, node in enumerate(closed):
            try:
                self._links[node].open(self._left_s(give_up_ns) / (len(closed) - done))
            except (RedisError, EvictingServer) as failure:
                self._failures[node] = str(failure)
                answers[node] = Silence.UNREACHED
            else:
                self._send(node, packed, answers)
        for node in nodes:
            if node not in answers:
                answers[node] = self._receive(node, give_up_ns)
        for node in nodes:
            if answers[node] is Silence.LATE and answers.replies() < replies_min:
                answers[node] = self._receive(node, at_most_ns)
        return answers

    def abandon(self, nodes: Iterable[int], last_words: bytes) -> list[int]:
        """Close the links that owe a reply, `last_words` sent behind what is unanswered. Returns where that failed."""
        return [node for node in nodes if not self._links[node].abandon(last_words, settles=True)]

    def describe(self, answers: Answers) -> str:
        """What went wrong in a round, in words for a log."""
        return answers.describe({node: self.address(node) for node in self.every}, self._failures)

    def facts(self) -> ServerFacts:
        """Of all nodes: identities in node order, unlike settings side by side. Raises ConnectionError if all fail."""
        told: list[ServerFacts] = []
        identities = []
        for link in self._links:
            try:
                told.append(link.facts())
            except ConnectionError:
                identities.append("not reached")
            else:
                identities.append(told[-1].identity)
        if not told:
            raise ConnectionError(f"no node answers: {', '.join(link.address for link in self._links)}")
        settings = {name: "/".join(sorted({each.durability[name] for each in told})) for name in told[0].durability}
        versions = "/".join(sorted({each.version for each in told}))
        return ServerFacts(versions, ",".join(identities), settings, len(self._links))

    def close(self) -> None:
        for link in self._links:
            link.close()

    def _send(self, node: int, packed: bytes, answers: Answers) -> None:
        try:
            self._links[node].send(packed)
        except RedisError:
            answers[node] = Silence.LOST

    def _receive(self, node: int, give_up_ns: int) -> Any:
        try:
            return self._links[node].receive(self._left_s(give_up_ns))
        except RedisTimeout:
            return Silence.LATE
        except ResponseError as answer:
            return answer
        except RedisError:
            return Silence.LOST

    def _give_up_ns(self, within_s: float) -> int:
        return self._clock.monotonic_ns() + round(within_s * 1e9)

    def _left_s(self, give_up_ns: int) -> float:
        return max(0.0, (give_up_ns - self._clock.monotonic_ns()) / 1e9)
