"""Where a load process finds its servers."""

from pathlib import Path

import pytest

from bench.load.endpoints import NoEndpoint, endpoint_of, to_environment, variable_of
from bench.servers.endpoint import Endpoint
from bench.systems.registry import system


def test_an_endpoint_survives_the_way_through_the_environment() -> None:
    secrets = {"password": "for ; 'everybody'", "tls_ca": "/etc/ca.pem"}
    endpoint = Endpoint((("127.0.0.1", 7001), ("::1", 7002)), {"engine": "dynalite"}, secrets)
    assert endpoint_of(system("dynamodb"), to_environment(system("dynamodb"), endpoint)) == endpoint


def test_paths_to_tls_files_are_made_absolute(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    handed = to_environment(system("redis"), Endpoint((("h", 1),), {}, {"tls_ca": "ca.pem"}))
    assert endpoint_of(system("redis"), handed).secrets == {"tls_ca": str(tmp_path / "ca.pem")}


def test_addresses_may_be_written_by_hand() -> None:
    found = endpoint_of(system("redlock"), {"LOCKBENCH_ENDPOINT_REDLOCK": "127.0.0.1:1,[::1]:2"})
    assert found == Endpoint((("127.0.0.1", 1), ("::1", 2)))


@pytest.mark.parametrize("text", ["6379", "host:port", "{", '{"addresses": 3}', "a:1,"])
def test_a_malformed_endpoint_is_told(text: str) -> None:
    with pytest.raises(NoEndpoint, match="LOCKBENCH_ENDPOINT_REDIS is neither host:port"):
        endpoint_of(system("redis"), {"LOCKBENCH_ENDPOINT_REDIS": text})


def test_a_variable_is_one_that_a_shell_can_set() -> None:
    assert variable_of(system("postgres-row")) == "LOCKBENCH_ENDPOINT_POSTGRES_ROW"


def test_servers_that_are_not_up_are_told_with_the_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LOCKBENCH_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NoEndpoint, match="`lockbench up redis`"):
        endpoint_of(system("redis"), {})
