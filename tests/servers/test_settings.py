"""lockbench.toml and the environment: one clear message for each mistake, and no secret anywhere."""

from pathlib import Path

import pytest

from bench.servers.settings import SettingsError, endpoint_from_url, load_settings


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "lockbench.toml"
    path.write_text(text)
    return path


def test_no_file_is_fine(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "lockbench.toml", {}).of("redis").source == "auto"


def test_the_environment_wins(tmp_path: Path) -> None:
    path = write(tmp_path, '[servers.redis]\nurl = "a:1"\n')
    assert load_settings(path, {"LOCKBENCH_REDIS_URL": "b:2"}).of("redis").url == "b:2"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[servers", "cannot be read"),
        ("\xff\xfe", "servers|cannot be read|Invalid"),
        ("[servers.mongo]\n", "no servers 'mongo': choose from redis"),
        ('[servers.redis]\nsource = "magic"\n', r"servers\.redis\.source: .*'native'"),
        ("[servers.redis]\nport = 1\n", r"servers\.redis\.port: Extra inputs"),
        ("[servers.redis]\nfirst_port = 80\n", r"servers\.redis\.first_port: .*1024"),
        ('[servers.redis]\nurl = "redis://u:hunter2@h:1"\n', "LOCKBENCH_<SYSTEM>_PASSWORD"),
        ("servers = 3\n", "servers: "),
    ],
)
def test_a_mistake_is_one_message(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        load_settings(write(tmp_path, text), {})
    assert "hunter2" not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_an_endpoint_of_ones_own() -> None:
    endpoint = endpoint_from_url(
        "postgres", "postgresql://db.staging:5432/locks?sslmode=require", {"LOCKBENCH_POSTGRES_PASSWORD": "hunter2"}
    )
    assert endpoint.addresses == (("db.staging", 5432),)
    assert endpoint.options == {"database": "locks", "sslmode": "require", "scheme": "postgresql"}
    assert endpoint.secrets == {"password": "hunter2"}
    assert "hunter2" not in repr(endpoint)
    assert "hunter2" not in str(endpoint)


def test_several_nodes() -> None:
    assert endpoint_from_url("etcd", "a:1,b:2,[::1]:3", {}).addresses == (("a", 1), ("b", 2), ("::1", 3))


@pytest.mark.parametrize("url", ["redis://nowhere", "host:port", "http://:80"])
def test_a_url_without_host_and_port(url: str) -> None:
    with pytest.raises(SettingsError, match="is not host:port"):
        endpoint_from_url("redis", url, {})
