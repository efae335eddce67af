"""A reply that is lost on the way: the writer is told that there was none, and the attempt is not judged twice."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from bench.hazards.resources.base import (
    Attempt,
    Place,
    Reading,
    Resource,
    ResourceUnreachable,
    addresses_of,
    reached_at,
)
from bench.hazards.resources.registry import kinds
from bench.servers.breaking.proxy import Direction, FaultProxy
from tests.hazards.resources.hosted import Hosted, attempt, fresh_key, presentation

# A file has no wire: test_file_writers kills its writer at that instant.
WIRED = [kind for kind in kinds() if kind != "file"]
pytestmark = [pytest.mark.servers, pytest.mark.parametrize("hosted", WIRED, indirect=True)]
ARRIVES_WITHIN_S = 3.0  # more than the second that boto3 waits for leave to send the body of a PUT
# These read before they write: the reply to lose is that after the read, which this method does.
READS_FIRST = {"etcd-txn": "_call", "s3-object": "_get"}


class Wire:
    """The way to a resource, through a proxy before each of its servers."""

    def __init__(self, place: Place, stack: ExitStack) -> None:
        self._proxies = [stack.enter_context(FaultProxy(address)) for address in addresses_of(place)]
        self.place = reached_at(place, [proxy.address for proxy in self._proxies])

    def mute(self) -> None:
        """Requests arrive, and no answer comes back."""
        for proxy in self._proxies:
            proxy.drop(Direction.TO_CLIENT)

    def sever(self) -> None:
        """Reset the connections, with the answers that were held, and have the wire sound again."""
        for proxy in self._proxies:
            proxy.sever()
            proxy.restore()


@pytest.fixture
def wire(hosted: Hosted) -> Iterator[Wire]:
    with ExitStack() as stack:
        yield Wire(hosted.place, stack)


def mute_before_the_write(hosted: Hosted, resource: Resource, wire: Wire, patch: pytest.MonkeyPatch) -> None:
    name = READS_FIRST.get(hosted.kind)
    if name is None:
        wire.mute()
        return
    real, calls = getattr(resource, name), []

    def then_mute(*arguments: Any) -> Any:
        answer = real(*arguments)
        if not calls:
            wire.mute()
        calls.append(name)
        return answer

    patch.setattr(resource, name, then_mute)


def arrives(hosted: Hosted, sent: Attempt) -> bool:
    """Does the attempt come to stand in the log? Asked past the wire."""
    deadline = time.monotonic() + ARRIVES_WITHIN_S
    while all(verdict.attempt_id != sent.attempt_id for verdict in hosted.log(sent.key)):
        if time.monotonic() >= deadline:
            return False
        threading.Event().wait(0.02)
    return True


@pytest.mark.parametrize("stale", [False, True])
def test_a_lost_verdict(hosted: Hosted, wire: Wire, stale: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    key = fresh_key()
    # DynamoDB refuses by two updates. What is lost is the answer that the first does not apply; no second is sent then.
    judged = not (hosted.kind == "dynamodb-item" and stale)
    with hosted.open(wire.place) as resource, hosted.open() as other, ThreadPoolExecutor(1) as writer:
        assert resource.write(attempt(key, 5, value=1)).accepted
        lost = attempt(key, 4 if stale else 6, value=2)
        with monkeypatch.context() as patch:
            mute_before_the_write(hosted, resource, wire, patch)
            writing = writer.submit(resource.write, lost)
            assert arrives(hosted, lost) is judged
            wire.sever()
            with pytest.raises(ResourceUnreachable):
                writing.result(60)
        assert len(hosted.log(key)) == (2 if judged else 1), "nothing sends it again by itself"
        assert other.write(lost).accepted is not stale
        assert other.write(attempt(key, 7, value=3)).accepted
        again = resource.write(lost)  # the same connection works again, or is replaced
        assert (again.order, again.accepted) == (2, not stale)
        assert len(hosted.log(key)) == 3
        assert resource.read(key) == Reading(3, 7)


def test_a_presentation_whose_reply_is_lost_counts_all_the_same(
    hosted: Hosted, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its holder has read nothing, and must ask again; the resource has seen its token, and refuses older ones."""
    key = fresh_key()
    with hosted.open(wire.place) as resource, hosted.open() as other, ThreadPoolExecutor(1) as reader:
        assert resource.write(attempt(key, 5, value=1)).accepted
        lost = presentation(key, 6)
        with monkeypatch.context() as patch:
            mute_before_the_write(hosted, resource, wire, patch)
            reading = reader.submit(resource.write, lost)
            assert arrives(hosted, lost)
            wire.sever()
            with pytest.raises(ResourceUnreachable):
                reading.result(60)
        assert not other.write(attempt(key, 5, value=2)).accepted
        again = resource.write(lost)
        assert (again.order, again.accepted, again.value_before) == (2, True, 1)
        assert resource.read(key) == Reading(1, 6)


def test_nobody_there(hosted: Hosted, wire: Wire) -> None:
    with ExitStack() as stack:
        gone = Wire(hosted.place, stack)
    with pytest.raises(ResourceUnreachable):
        hosted.open(gone.place)
