"""The network of one test of a live page: measured through its lines, refused where none fits, gone at every end."""

import queue
import socket
import time
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from bench.campaign.live.network import LiveNetwork
from bench.records.round_trip import echoing, round_trips_us
from bench.servers.endpoint import Endpoint
from bench.servers.spec import ServerSpec

RTT_US = 10_000
Address = tuple[str, int]
Told = Mapping[str, Any]


class Serving:
    """A supervisor whose server only echoes."""

    def __init__(self, address: Address, source: str = "native") -> None:
        self.address, self.whose = address, source

    def source(self, spec: ServerSpec) -> str:
        return self.whose

    def running(self, spec: ServerSpec) -> Any:
        class Running:
            source, endpoint, pids = self.whose, Endpoint((self.address,)), dict[str, int]()

        return Running


@pytest.fixture
def server() -> Iterator[Address]:
    with echoing() as address:
        yield address


def asked(network: LiveNetwork, text: str = "rtt=10ms", *systems: str) -> Told:
    answers: queue.SimpleQueue[Told] = queue.SimpleQueue()
    network.ask({"number": 1, "network": text, "systems": systems or ("redis",), "seed": 1}, answers.put)
    return answers.get(timeout=60)


def of(server: Address, source: str = "native") -> LiveNetwork:
    supervisor: Any = Serving(server, source)
    return LiveNetwork(lambda _: supervisor)


def is_gone(place: Address) -> bool:
    with socket.socket() as one:
        return one.connect_ex(place) != 0


def test_the_lines_stand_for_one_test_and_were_measured(server: Address) -> None:
    with of(server) as network:
        told = asked(network)
        ((behind, place),) = told["places"]
        assert behind == server
        assert told["rtt_us"] > 0.9 * RTT_US
        network.begin("rtt=10ms")
        assert network.about == {"asked": "rtt=10ms", "rtt_us": told["rtt_us"]}
        assert min(round_trips_us(place, 3, 3)) > 0.9 * RTT_US, "the load's way"
        crossed = network.end().result(60)
        assert crossed is not None
        measured = crossed.of([server])
        assert (measured.asked, len(measured.before), len(measured.after)) == ("rtt=10ms", 1, 1)
        assert measured.rtt_us > 0.9 * RTT_US
        assert measured.messages >= 6, "three there and back"
        assert is_gone(place)
        assert network.end().result(60) is crossed, "a second end of the same test asks for the same"
        network.begin("none")
        assert network.about is None
        assert network.end().result(60) is None


def test_lines_that_no_test_wants_are_taken_away(server: Address) -> None:
    with of(server) as network:
        ((_, place),) = asked(network, "rtt=1ms")["places"]
        network.begin("none")  # its form was refused after all, and somebody started another
        deadline = time.monotonic() + 20
        while not is_gone(place):
            assert time.monotonic() < deadline
            time.sleep(0.05)  # pace: between two looks, bounded by the deadline
        assert asked(network, "none") == {"number": 1, "places": [], "rtt_us": None}


def test_whatever_ends_the_page_ends_the_lines(server: Address) -> None:
    with of(server) as network:
        ((_, place),) = asked(network, "rtt=1ms")["places"]
        network.begin("rtt=1ms")
    assert is_gone(place)


def test_servers_of_ones_own_have_a_network_already(server: Address) -> None:
    with of(server, "url") as network:
        refused = asked(network)["refused"]
        assert refused == "the servers of redis are your own, and have a network: choose none"
