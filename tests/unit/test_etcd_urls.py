"""Every part of an etcd URL, and every secret, is honoured or refused by its name."""

import pytest

from bench.servers.running.settings import SettingsError, endpoint_from_url
from bench.systems.etcd.server import EtcdServers

PREFIX = "LOCKBENCH_ETCD_"
# (URL, secrets) -> (addresses, is it TLS, the user)
HONOURED = [
    ("h:1", {}, 1, False, None),
    ("http://h:1", {}, 1, False, None),
    ("etcd://h:1", {}, 1, False, None),
    ("https://h:1", {}, 1, True, None),
    ("h:1,i:2,j:3", {}, 3, False, None),
    ("https://[::1]:1,h:2/", {}, 2, True, None),
    ("http://u@h:1", {"PASSWORD": "p"}, 1, False, "u"),
    ("h:1", {"USER": "u", "PASSWORD": "p"}, 1, False, "u"),
    ("https://h:1", {"USER": "u"}, 1, True, "u"),  # a user without a password is etcd's to refuse
]
REFUSED = [
    ("http://h:1/tenant-a", {}, "path /tenant-a"),
    ("h:1/tenant-a/b", {}, "path /tenant-a/b"),
    ("http://h:1?namespace=a", {}, "'namespace'"),
    ("h:1?timeout=5s", {}, "'timeout'"),
    ("http://h:1#a", {}, "#a"),
    ("etcds://h:1", {}, "etcds://"),
    ("grpc://h:1", {}, "grpc://"),
    ("unix://h:1", {}, "unix://"),
    ("dns://h:1", {}, "dns://"),
    ("h:1,h:1", {}, "twice"),
    ("h", {}, "host:port"),
    ("http://u@h:1", {"USER": "v"}, "USER"),
    ("h:1", {"PASSWORD": "p"}, "PASSWORD"),
    ("https://h:1", {"PASSWORD": "p"}, "PASSWORD"),
    ("h:1", {"TLS_CERT": __file__}, "TLS_KEY"),
    ("h:1", {"TLS_KEY": __file__}, "TLS_CERT"),
    ("h:1", {"TLS_CA": "no-such-file"}, "TLS_CA"),
    ("http://h:1", {"TLS_CA": __file__}, "not encrypted"),
]


@pytest.mark.parametrize(("url", "secrets", "nodes", "tls", "user"), HONOURED)
def test_a_part_is_honoured(url: str, secrets: dict[str, str], nodes: int, tls: bool, user: str | None) -> None:
    environment = {PREFIX + name: value for name, value in secrets.items()}
    endpoint = endpoint_from_url("etcd", url, EtcdServers.url_rules, environment)
    assert len(endpoint.addresses) == nodes
    assert endpoint.tls is tls
    assert endpoint.secrets.get("user") == user
    assert endpoint.options == {}, "etcd's adapter knows no options"


@pytest.mark.parametrize(("url", "secrets", "name"), REFUSED)
def test_a_part_is_refused_by_name(url: str, secrets: dict[str, str], name: str) -> None:
    environment = {PREFIX + variable: value for variable, value in secrets.items()}
    with pytest.raises(SettingsError) as refused:
        endpoint_from_url("etcd", url, EtcdServers.url_rules, environment)
    assert name in str(refused.value)
