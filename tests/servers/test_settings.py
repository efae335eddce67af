"""lockbench.toml and the environment: one clear message for each mistake, and no secret anywhere."""

from pathlib import Path

import pytest

from bench.servers.endpoint import Endpoint
from bench.servers.running.settings import SettingsError, endpoint_from_url, load_settings
from bench.servers.url import UrlRules
from bench.systems.registry import SERVER_SETS, SYSTEMS
from tests.certificates import Authority


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


RULES = UrlRules(
    schemes={"db": None, "dbs": True, "plain": False},
    path="database",
    options={"database": "[a-z]+", "mode": "fast|safe"},
    secrets=frozenset({"user", "password", "tls_ca", "tls_cert", "tls_key"}),
    nodes_max=3,
)
FEW = UrlRules(schemes={"few": False})


def read(url: str, rules: UrlRules = RULES, **variables: str) -> Endpoint:
    return endpoint_from_url("toy", url, rules, {f"LOCKBENCH_TOY_{name.upper()}": v for name, v in variables.items()})


def test_an_endpoint_of_ones_own() -> None:
    endpoint = read("db://db.staging:5432/locks?mode=safe", password="hunter2")
    assert endpoint.addresses == (("db.staging", 5432),)
    assert endpoint.options == {"database": "locks", "mode": "safe"}
    assert endpoint.secrets == {"password": "hunter2"}
    assert not endpoint.tls
    assert "hunter2" not in repr(endpoint)
    assert "hunter2" not in str(endpoint)


def test_several_nodes_and_no_scheme() -> None:
    assert read("a:1,b:2,[::1]:3").addresses == (("a", 1), ("b", 2), ("::1", 3))


def test_the_user_of_a_url_is_the_user() -> None:
    assert read("db://m%40e@h:1").secrets == {"user": "m@e"}


def test_tls_is_asked_for_by_a_scheme_or_by_any_variable_of_it(tmp_path: Path) -> None:
    pem = Authority(tmp_path).sign("client").both
    assert read("dbs://h:1").tls
    assert read("h:1", tls_ca=str(pem)).tls
    assert read("db://h:1", tls_cert=str(pem), tls_key=str(pem)).tls
    assert not read("h:1").tls
    assert Endpoint.from_tree(read("dbs://h:1").to_tree()).tls


@pytest.mark.parametrize(
    ("url", "rules", "variables", "told"),
    [
        ("nowhere", RULES, {}, "'nowhere' is not host:port"),
        ("host:port", RULES, {}, "is not host:port"),
        ("db://:80", RULES, {}, "is not host:port"),
        ("h:0", RULES, {}, "is not host:port"),
        ("h:65536", RULES, {}, "is not host:port"),
        ("h:٣", RULES, {}, "is not host:port"),
        ("h:1,", RULES, {}, "is not host:port"),
        ("h:1,h:1", RULES, {}, "one address stands there twice"),
        ("a:1,b:1,c:1,d:1", RULES, {}, "4 addresses, and 3 is the most"),
        ("other://h:1", RULES, {}, "scheme other:// is not known here: choose from db, dbs, plain"),
        ("h:1/DB", RULES, {}, "database cannot be 'DB'"),
        ("h:1/a/b", RULES, {}, "database cannot be 'a/b'"),
        ("h:1/a?database=b", RULES, {}, "say the same"),
        ("h:1?mode=odd", RULES, {}, "mode cannot be 'odd'"),
        ("h:1?mode=", RULES, {}, "mode cannot be ''"),
        ("h:1?mode", RULES, {}, "LOCKBENCH_TOY_URL"),
        ("h:1?mode=fast&mode=safe", RULES, {}, "'mode' stands there twice"),
        ("h:1?speed=9", RULES, {}, "parameter 'speed' is not known here: choose from database, mode"),
        ("h:1#part", RULES, {}, "#part means nothing here"),
        ("h:1/tenant", FEW, {}, "the path /tenant means nothing here"),
        ("h:1?a=b", FEW, {}, "parameter 'a' is not known here: there are none"),
        ("h:1", FEW, {"user": "me"}, "LOCKBENCH_TOY_USER: toy makes no use of it"),
        ("me@h:1", FEW, {}, "LOCKBENCH_TOY_USER: toy makes no use of it"),
        ("h:1", FEW, {"password": "hunter2"}, "LOCKBENCH_TOY_PASSWORD: toy makes no use of it"),
        ("h:1", FEW, {"tls_ca": "/dev/null"}, "LOCKBENCH_TOY_TLS_CA: toy makes no use of it"),
        ("me@h:1", RULES, {"user": "you"}, "names a user, and so does LOCKBENCH_TOY_USER"),
        ("h:1", RULES, {"tls_cert": "/dev/null"}, "set both, or neither"),
        ("h:1", RULES, {"tls_key": "/dev/null"}, "set both, or neither"),
        ("h:1", RULES, {"tls_ca": "/nowhere/ca.pem"}, "'/nowhere/ca.pem' is not a file that can be read"),
        ("h:1", RULES, {"tls_ca": "/"}, "'/' is not a file that can be read"),
        ("h:1", RULES, {"tls_ca": ""}, "LOCKBENCH_TOY_TLS_CA is set, and empty"),
        ("h:1", RULES, {"tls_key": " "}, "LOCKBENCH_TOY_TLS_KEY is set, and empty"),
        ("me:hunter2@h:1", RULES, {}, "a password does not belong in a URL"),
        ("db://me:hunt/er2@h:1", RULES, {}, "an @ stands behind the addresses"),
        ("db://me:hunt?er2@h:1", RULES, {}, "an @ stands behind the addresses"),
        ("db://me:hunt#er2@h:1", RULES, {}, "an @ stands behind the addresses"),
        ("db:127.0.0.1:1", RULES, {}, "is not host:port"),
        ("db:// h:1", RULES, {}, "is not host:port"),
        ("a b:1", RULES, {}, "is not host:port"),
        ("*:1", RULES, {}, "is not host:port"),
        ("[::1:1", RULES, {}, "is not host:port"),
        ("h%2e:1", RULES, {}, "is not host:port"),
        ("H:1,h:1", RULES, {}, "one address stands there twice"),
        ("plain://h:1", RULES, {"tls_ca": "/dev/null"}, "says plain://, which is not encrypted, .* write dbs://"),
    ],
)
def test_what_would_not_be_honoured_is_refused(url: str, rules: UrlRules, variables: dict[str, str], told: str) -> None:
    with pytest.raises(SettingsError, match=told) as caught:
        read(url, rules, **variables)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("name", SERVER_SETS)
def test_every_server_set_says_what_it_honours(name: str) -> None:
    rules = {entry.servers.name: entry.servers for entry in SYSTEMS.values() if entry.servers}[name].url_rules
    assert rules.path is None or rules.path in rules.options
    for url, variables in (
        ("nobody://h:1", {}),
        ("h:1?no-such-option=1", {}),
        ("h:1#fragment", {}),
        *(("h:1", {secret: "/dev/null"}) for secret in ("user", "password", "tls_ca") if secret not in rules.secrets),
    ):
        with pytest.raises(SettingsError):
            read(url, rules, **variables)
