"""A network in the form of the live page: real delay lines before a real server, for the test that asked for them."""

import json
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from bench.campaign.live.network import LiveNetwork
from bench.campaign.live.session import attend
from bench.load.endpoints import to_environment
from bench.load.live import live_running
from bench.servers.running.ports import free_ports
from bench.systems.registry import system
from tests.campaign.live.test_network import Serving
from tests.load.pages import FORM, Page, fill_in, opened, told_beside
from tests.load.runs import own_redis
from tests.processes import words_of
from tests.report.browser import browser

pytestmark = pytest.mark.thorough

ON_REDIS = {**FORM, "system": "redis", "beside": ""}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """As `lockbench live` serves it. Redis is lockbench's own, and a sibling of it the user's."""
    (port,) = free_ports(1)
    with own_redis(tmp_path_factory.mktemp("redis")) as (endpoint, _):
        redis: Any = Serving(endpoint.addresses[0])
        own: Any = Serving(endpoint.addresses[0], "url")
        network = LiveNetwork(lambda entry: redis if entry.name == "redis" else own)
        surroundings = to_environment(system("redis"), endpoint) | to_environment(system("redis-naive-fence"), endpoint)
        with live_running(["redis"], port, 1, surroundings) as (process, channel):
            attending = threading.Thread(target=attend, args=(channel, None, None, network))
            attending.start()
            with opened(port, process) as page:
                yield page
        attending.join(30)
        assert not attending.is_alive()
        assert lines() == [], "the page has ended"


def lines() -> list[psutil.Process]:
    """The line processes of this one."""
    children = psutil.Process().children(recursive=True)
    return [one for one in children if "bench.servers.network.child" in words_of(one)]


def latest(page: Page, after: int) -> Mapping[str, Any] | None:
    """The newest moment with a median, of a test after that of this number."""
    moments: list[Mapping[str, Any]] = json.loads(page.get("/locks/moments"))["moments"]
    new = (one for one in reversed(moments) if one["session"] > after)
    return next((one for one in new if one["systems"]["redis"].get("acquire_us_p50")), None)


def test_it_is_refused_beside_the_field(served: Page, tmp_path: Path) -> None:
    """The first test here: a page that had none shows its form."""
    with browser(tmp_path) as window:
        window.open(served.address)
        window.wait_for("document.querySelector('[name=network]')")
        fill_in(window, {"userCount": "2", "spawnRate": "2", "network": "zome"}, mistakes=1)
        assert "'zome' is no network" in told_beside(window, "network")


def test_the_load_goes_over_the_lines_and_the_next_test_goes_directly(served: Page) -> None:
    answer = served.post("/swarm", {**ON_REDIS, "network": "rtt=20ms"})
    assert answer["success"] is True, answer["message"]
    assert "Network rtt=20ms: the round trip measured through its lines is" in answer["notice"]
    moment = served.until(lambda: latest(served, 0))
    assert moment["network"]["asked"] == "rtt=20ms"
    assert moment["network"]["rtt_us"] > 19_000
    delayed_us = moment["systems"]["redis"]["acquire_us_p50"]
    assert delayed_us > 19_000
    assert "--network: cannot be changed" in served.post("/swarm", {**ON_REDIS, "network": "none"})["message"]
    (line,) = lines()
    served.stop()
    line.wait(20)
    assert served.post("/swarm", {**ON_REDIS, "network": "none"})["success"] is True
    moment = served.until(lambda: latest(served, 1))
    assert moment["network"] is None
    assert moment["systems"]["redis"]["acquire_us_p50"] < delayed_us
    served.stop()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"network": "soon"}, "--network: 'soon' is no network: write none, zone, region, wan, or rtt=0.5ms"),
        ({"network": ""}, "--network: '' is no network"),
        ({"network": "rtt=2s"}, "--network: 2s is outside 0ms to 1s"),
        ({"network": "zone+jitter=0.1ms+jitter=1ms"}, "--network: 'jitter=1ms' in"),
        ({"network": "zone", "system": "memory"}, "--network: memory has no servers"),
        (
            {"network": "zone", "system": "redis-naive-fence"},
            "--network: the servers of redis-naive-fence are your own",
        ),
    ],
)
def test_what_does_not_fit_is_refused(served: Page, more: dict[str, str], message: str) -> None:
    answer = served.post("/swarm", {**ON_REDIS, **more})
    assert answer["success"] is False
    assert message in answer["message"]
    assert lines() == []
