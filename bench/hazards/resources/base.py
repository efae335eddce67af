"""The resource contract: a value that locks protect, which judges each write by its fencing token.

The rule is *refuse token < highest*. "Refuse token <= highest", as it is often printed, refuses a holder's own second
write: it is kept as `Rule.AT_MOST`, so that a run can show it. A write without a token cannot be judged and is taken:
a system without tokens cannot be fenced, whatever the resource would check.

A fence refuses what is below a token that the resource has *seen*. Where a new holder shows its token with its first
write only, a late write of the old one that comes before is taken, and what the new holder had read by then is no more
what it builds on. So a token may be presented before: an attempt without a value changes nothing, is judged by the same
rule, raises `highest` like a write, and has for its answer what stands in the resource, in the same atomic step. From
that instant on the resource refuses older tokens, and what came before it was read (`Presented` names both protocols).

The value is a counter: a writer reads it under its grant and writes what it read plus one, so that a lost update shows
in the value itself (Kleppmann 2016, "How to do distributed locking").
"""

import uuid
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any, ClassVar, Self

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.systems.base import LockClient

Place = Mapping[str, Any]  # how an actor reaches a resource; ready for JSON. Never printed: it may hold credentials
ANSWER_WITHIN_S = 5.0  # a resource that has not answered by then is unreachable


def addresses_of(place: Place) -> tuple[tuple[str, int], ...]:
    """Where a resource is reached over the network. Raises LockbenchError for one that is not."""
    if "port" in place:
        return (("127.0.0.1", int(place["port"])),)
    if "endpoint" in place:
        return Endpoint.from_tree(place["endpoint"]).addresses
    raise LockbenchError("this resource is not reached over a network: nothing can be held up on the way to it")


def reached_at(place: Place, addresses: Sequence[tuple[str, int]]) -> Place:
    """The same resource, by another way (through proxies, say)."""
    if "port" in place:
        return {**place, "port": addresses[0][1]}
    return {**place, "endpoint": Endpoint.from_tree(place["endpoint"]).at(tuple(addresses)).to_tree()}


class Rule(StrEnum):
    """Which tokens a fencing resource refuses."""

    BELOW = "below"  # token < highest: right
    AT_MOST = "at_most"  # token <= highest: refuses a holder's own second write


class Presented(StrEnum):
    """When a new holder shows its token to the resource."""

    AT_WRITE = "at_write"  # with its first write: until then the fence does not know of it
    BEFORE_READ = "before_read"  # in one step with its first read


@dataclass(frozen=True, slots=True)
class Attempt:
    """One write, or one presentation, as it is sent. `attempt_id` is unique in the trial: it finds the attempt in the
    log when the answer never came."""

    attempt_id: str
    actor: str
    key: str
    grant: str
    token: int | None
    fence: bool
    rule: Rule
    value_read: int
    value: int | None  # None: nothing is written, the token is presented

    def to_tree(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> Self:
        return cls(**{**tree, "rule": Rule(tree["rule"])})


@dataclass(frozen=True, slots=True)
class Reading:
    """What stands in the resource now. `highest` is the highest token it has accepted, 0 for none."""

    value: int
    highest: int


@dataclass(frozen=True, slots=True)
class Judged:
    """The resource's answer to one attempt. `order` counts all attempts on the key, from 1, in the order in which the
    resource judged them: the only order there is. A presentation reads `value_before`."""

    attempt_id: str
    order: int
    accepted: bool
    highest_before: int
    value_before: int
    # When, on the lab's one clock; None where the judging process does not say. The same verdict said again is equal.
    judged_ns: int | None = field(default=None, compare=False)


class ResourceUnreachable(Exception):
    """The resource gave no answer: the attempt may or may not have been judged."""


class WriteRefused(ResourceUnreachable):
    """The attempt was not judged, and is certain never to be carried out."""


class OfTheLock(ABC):
    """A resource that is written through the connection of the lock itself."""

    @abstractmethod
    def join(self, client: LockClient) -> None:
        """From now on, read and write through this client's open grant. Raises TypeError for another system's."""


class Resource(ABC):
    """One connection of one actor to a resource. Used by one thread at a time."""

    kind: ClassVar[str]

    @classmethod
    @abstractmethod
    def open(cls, place: Place) -> Self:
        """Connect. Raises ResourceUnreachable."""

    @abstractmethod
    def read(self, key: str) -> Reading:
        """The value and the highest token; a key never written has both 0. Raises ResourceUnreachable."""

    @abstractmethod
    def write(self, attempt: Attempt) -> Judged:
        """Have one attempt judged and, if accepted, carried out, in one atomic step; a presentation changes nothing but
        the highest token. Raises ResourceUnreachable.

        An attempt is judged once: the same `attempt_id` sent again has the first verdict for its answer. A write whose
        answer is lost is not sent again by this method: whether it was judged stands in the log.
        """

    @abstractmethod
    def judged(self, key: str) -> Sequence[Judged]:
        """Every attempt on `key` so far that was judged, in the resource's order. Raises ResourceUnreachable."""

    @abstractmethod
    def close(self) -> None:
        """Idempotent; never raises."""


class ResourceHost(ABC):
    """The stage's side of a resource: brings it into being for a block, and reads its log afterwards.

    What it keeps in a server lies apart from what locks keep there, and in a space of its own for each block, so that
    every key is new in every block.
    """

    resource: ClassVar[type[Resource]]  # the actors' side

    @abstractmethod
    def hosted(self) -> AbstractContextManager[Place]:
        """Have the resource for a block. Nothing of it is left running afterwards, however the block ends.

        Raises LockbenchError when it cannot be had.
        """

    def judged(self, place: Place, key: str) -> Sequence[Judged]:
        """Every attempt on `key` so far that the resource judged, in its order. Raises ResourceUnreachable."""
        with closing(self.resource.open(place)) as connection:
            return connection.judged(key)


class HostOnServers(ResourceHost):
    """A resource that lives on servers which are up already, and whose log stays there."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    @contextmanager
    def hosted(self) -> Iterator[Place]:
        self._prepare()
        yield {"endpoint": self._endpoint.to_tree(), "space": uuid.uuid4().hex}

    def _prepare(self) -> None:
        """Make what is missing; most kinds need nothing. Raises LockbenchError."""


def accepts(fence: bool, rule: Rule, token: int | None, highest: int) -> bool:
    """The rule itself, for resources whose judgement is made in Python; the others state it in their own language."""
    if not fence or token is None:
        return True
    return token >= highest if rule is Rule.BELOW else token > highest
