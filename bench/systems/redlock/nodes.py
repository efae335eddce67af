"""One command to several Redis servers at once, within one time limit for all."""

from collections.abc import Iterable, Sequence
from typing import Any

from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from bench.servers.endpoint import Endpoint
from bench.systems.base import ServerFacts
from bench.systems.clock import Clock
from bench.systems.redis.connection import Link
from bench.systems.redis.refusals import ErrorReply
from bench.systems.redis.session import UnfitServer
from bench.systems.redlock.answers import Answers, Silence
from bench.systems.redlock.one_server import refuse_one_server

# A connection is made in up to five round trips: TCP, TLS (two), greeting, ending of what was lost. A round that cannot
# reach a quorum otherwise waits for as many of the times that it would wait for one reply.
OPENING_ROUND_TRIPS = 5


class Nodes:
    """The links to all nodes. A round sends to all before it reads from any: it lasts as long as its slowest node."""

    def __init__(self, endpoint: Endpoint, call_timeout_ms: float, clock: Clock) -> None:
        self._clock = clock
        self._links = [
            Link(endpoint, node, call_timeout_ms, clock, by_source=True) for node in range(len(endpoint.addresses))
        ]
        self._failures: dict[int, str] = {}  # why a node could not be reached the last time
        self.every = tuple(range(len(self._links)))
        self.quorum = len(self._links) // 2 + 1

    def __len__(self) -> int:
        return len(self._links)

    def address(self, node: int) -> str:
        return self._links[node].address

    def open(self, within_s: float) -> None:
        """Connect to all that answer. Raises ConnectionError when they are no quorum, and UnfitServer."""
        give_up_ns = self._give_up_ns(within_s)
        for link in self._links:
            link.begin_open()
        failures = []
        try:
            for node, link in enumerate(self._links):
                try:
                    if not self._end_open(node, give_up_ns):
                        failures.append(f"{link.address}: {link.still_opening(within_s)}")
                except RedisError as failure:
                    failures.append(f"{link.address}: {failure}")
            reached = len(self._links) - len(failures)
            if reached < self.quorum:
                raise ConnectionError(f"redlock reached {reached} of {len(self._links)} nodes: {'; '.join(failures)}")
        except BaseException:
            self.close()
            raise

    def ask(
        self, packed: bytes, nodes: Sequence[int], within_s: float, *, replies_min: int = 0, at_most_s: float = 0.0
    ) -> Answers:
        """Send `packed` to `nodes`; each one's reply, its ErrorReply, or why there is none.

        Whoever is not connected gets a connection, all side by side. While fewer than a quorum are connected, nothing
        is sent for as long as connections cost; the others have `within_s` to join in. What is not made by then is
        still being made, and a later round has it. Replies are waited for `within_s`; only while fewer than
        `replies_min` have come, late nodes get a new connection (`Link.receive_or_replace`), in up to `at_most_s`.
        """
        answers = Answers()
        closed = [node for node in nodes if not self._links[node].is_open()]
        if closed:
            self._open_quorum(closed, len(nodes) - len(closed), within_s)
        answers.sent_ns = self._clock.monotonic_ns()
        for node in nodes:
            if node not in closed:
                self._send(node, packed, answers)
        give_up_ns = self._give_up_ns(within_s)
        for node in closed:
            self._send_when_open(node, packed, give_up_ns, answers)
        if closed:
            give_up_ns = self._give_up_ns(within_s)
        for node in nodes:
            if node not in answers:
                answers[node] = self._receive(node, give_up_ns)
        if answers.replies() < replies_min:
            self._doubt(answers, replies_min, self._give_up_ns(at_most_s))
        return answers

    def settle(
        self, packed: bytes, nodes: Sequence[int], within_s: float, at_most_s: float
    ) -> tuple[Answers, list[int]]:
        """Ask what can run twice without harm, waiting for a quorum beyond `within_s`; where a connection broke, again.

        Returns the answers, and the nodes that answered 0 when asked again.
        """
        answers = self.ask(packed, nodes, within_s, replies_min=self.quorum, at_most_s=at_most_s)
        again = self.ask(packed, answers.giving(Silence.LOST), within_s)
        answers |= again
        return answers, again.giving(0)

    def owing(self) -> list[int]:
        """The nodes whose connection stands and owes a reply."""
        return [node for node in self.every if self._links[node].owes()]

    def abandon(self, nodes: Iterable[int], last_words: bytes) -> list[int]:
        """Close the links that owe a reply, `last_words` sent behind what is unanswered. Returns where that failed."""
        return [node for node in nodes if not self._links[node].abandon(last_words, settles=True)]

    def describe(self, answers: Answers) -> str:
        """What went wrong in a round, in words for a log."""
        return answers.describe({node: self.address(node) for node in self.every}, self._failures)

    def facts(self) -> ServerFacts:
        """Of all nodes: identities in node order, unlike settings side by side. Raises ConnectionError if all fail."""
        found: list[ServerFacts] = []
        identities = []
        for link in self._links:
            try:
                found.append(link.facts())
            except ConnectionError:
                identities.append("not reached")
            else:
                identities.append(found[-1].identity)
        if not found:
            raise ConnectionError(f"no node answers: {', '.join(link.address for link in self._links)}")
        settings = {name: "/".join(sorted({each.durability[name] for each in found})) for name in found[0].durability}
        versions = "/".join(sorted({each.version for each in found}))
        return ServerFacts(versions, ",".join(identities), settings, len(self._links))

    def close(self) -> None:
        for link in self._links:
            link.close()

    def _open_quorum(self, closed: Sequence[int], connected: int, within_s: float) -> None:
        """Begin a connection to each of `closed`; wait for as many as a quorum needs, if that many are asked at all."""
        for node in closed:
            self._links[node].begin_open()
        give_up_ns = self._give_up_ns(OPENING_ROUND_TRIPS * within_s)
        if connected + len(closed) >= self.quorum:
            for node in closed:
                if connected >= self.quorum:
                    return
                connected += self._links[node].await_open(self._left_s(give_up_ns))

    def _send_when_open(self, node: int, packed: bytes, give_up_ns: int, answers: Answers) -> None:
        """Send to a node whose connection is made in time; else say why nothing was sent."""
        self._failures[node] = "still connecting"
        try:
            if self._end_open(node, give_up_ns):
                self._send(node, packed, answers)
                return
        except (RedisError, UnfitServer) as failure:
            self._failures[node] = str(failure)
        answers[node] = Silence.HELD_BACK if self._links[node].owes() else Silence.UNREACHED

    def _end_open(self, node: int, until_ns: int) -> bool:
        link = self._links[node]
        if not link.end_open(self._left_s(until_ns)):
            return False
        try:
            refuse_one_server({each.address: each.info for each in self._links if each.info})
        except UnfitServer:
            link.drop()
            raise
        return True

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
        except ErrorReply as answer:
            return answer
        except RedisError:
            return Silence.LOST

    def _doubt(self, answers: Answers, replies_min: int, until_ns: int) -> None:
        """Wait for late replies until enough have come, each on its old connection until there is a new one."""
        late = answers.giving(Silence.LATE)
        for node in late:
            self._links[node].begin_open()
        for node in late:
            if answers.replies() >= replies_min:
                return
            try:
                answers[node] = self._links[node].receive_or_replace(self._left_s(until_ns))
            except ErrorReply as answer:
                answers[node] = answer
            except RedisError:
                answers[node] = Silence.LOST  # to be asked again, on the new connection, if there is one

    def _give_up_ns(self, within_s: float) -> int:
        return self._clock.monotonic_ns() + round(within_s * 1e9)

    def _left_s(self, give_up_ns: int) -> float:
        return max(0.0, (give_up_ns - self._clock.monotonic_ns()) / 1e9)
