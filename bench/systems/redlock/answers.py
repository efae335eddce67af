"""What came back from one round of asking, node by node: replies, errors, and the kinds of silence."""

from collections.abc import Mapping
from enum import Enum
from typing import Any

from bench.systems.redis.refusals import ErrorReply


class Silence(Enum):
    """Why a node gave no reply."""

    UNREACHED = "not reached"  # nothing was sent
    HELD_BACK = "silent since a command before"  # nothing was sent: the connection owes a reply, and none new is there
    LATE = "late"  # sent; the connection stands and owes the reply
    LOST = "connection lost"  # sent, in whole or part; may have run


class Answers(dict[int, Any]):
    """A reply, an ErrorReply or a Silence for each node that was asked."""

    sent_ns = 0  # when the first request went out; a lease counts from here

    def giving(self, reply: object) -> list[int]:
        """The nodes that gave exactly this."""
        return [node for node, answer in self.items() if answer is reply or answer == reply]

    def owing(self) -> list[int]:
        """The nodes whose connection stands and owes a reply."""
        return self.giving(Silence.LATE) + self.giving(Silence.HELD_BACK)

    def refused(self) -> list[int]:
        """The nodes that replied with an error."""
        return [node for node, answer in self.items() if isinstance(answer, ErrorReply)]

    def silent(self) -> list[int]:
        """The nodes that gave no reply."""
        return [node for node, answer in self.items() if isinstance(answer, Silence)]

    def replies(self) -> int:
        """How many gave a reply, if only an error."""
        return sum(not isinstance(answer, Silence) for answer in self.values())

    def describe(self, addresses: Mapping[int, str], failures: Mapping[int, str]) -> str:
        """The unclear ones, in words for a log. `failures`: why a node could not be reached."""
        words = []
        for node in self.silent() + self.refused():
            answer = self[node]
            what = answer.value if isinstance(answer, Silence) else str(answer)
            why = f" ({failures[node]})" if answer is Silence.UNREACHED else ""
            words.append(f", {addresses[node]} {what}{why}")
        return "".join(words)
