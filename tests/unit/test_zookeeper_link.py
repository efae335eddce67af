"""What of a ZooKeeper URL is honoured, and what is refused by name. Nothing here needs a server."""

import pytest

from bench.servers.endpoint import Endpoint
from bench.servers.running.settings import SettingsError, endpoint_from_url
from bench.systems.zookeeper.link import URL_RULES, credentials, root_of


def read(url: str, **secrets: str) -> Endpoint:
    return endpoint_from_url("zookeeper", url, URL_RULES, {f"LOCKBENCH_ZOOKEEPER_{n}": v for n, v in secrets.items()})


@pytest.mark.parametrize(
    ("url", "root", "tls"),
    [
        ("h:1", "/lockbench", False),
        ("h:1/", "/lockbench", False),
        ("h:1,i:2,[::1]:3/tenant-a", "/tenant-a/lockbench", False),
        ("zookeeper://h:1/a/b/", "/a/b/lockbench", False),
        ("zk://h:1/a%20b/%2Dc", "/a b/-c/lockbench", False),
        ("zookeepers://h:1/...", "/.../lockbench", True),
        ("zks://h:1?chroot=a/b", "/a/b/lockbench", True),
    ],
)
def test_the_path_is_the_node_below_which_we_work(url: str, root: str, tls: bool) -> None:
    endpoint = read(url)
    assert (root_of(endpoint), endpoint.tls) == (root, tls)


@pytest.mark.parametrize(
    ("url", "named"),
    [
        ("h:1/a//b", "chroot"),
        ("h:1/..", "chroot"),
        ("h:1/a/./b", "chroot"),
        ("h:1/a%00b", "chroot"),
        ("h:1/a%2F..%2Fb", "chroot"),
        ("h:1/%EF%BF%BF", "chroot"),
        ("h:1/a?chroot=b", "chroot"),
        ("h:1?timeout=3", "timeout"),
        ("h:1?database=3", "database"),
        ("h:1/a#b", "#b"),
        ("https://h:1", "https"),
        ("zookeeper+tls://h:1", "zookeeper"),
    ],
)
def test_what_is_not_honoured_is_refused_by_name(url: str, named: str) -> None:
    with pytest.raises(SettingsError, match=named):
        read(url)


@pytest.mark.parametrize("secrets", [{"USER": "joe"}, {"PASSWORD": "x"}, {"USER": "a:b", "PASSWORD": "x"}])
def test_half_a_credential_is_refused_by_name(secrets: dict[str, str]) -> None:
    with pytest.raises(ConnectionError, match="LOCKBENCH_ZOOKEEPER_PASSWORD"):
        credentials(read("h:1", **secrets))


def test_a_credential_is_not_shown() -> None:
    with pytest.raises(ConnectionError) as told:
        credentials(read("h:1", PASSWORD="hunter2"))
    assert "hunter2" not in str(told.value)
