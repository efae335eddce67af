"""docker-compose.yml, and the settings of a server as its container and as its native process are given them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import yaml

from bench.servers.spec import Found, Launch, Missing, Node, ServerSpec
from tests.packaging.pyproject import ROOT

# How an image turns its variables into settings of the server.
_ZOOKEEPER = {
    "ZOO_TICK_TIME": "tickTime",
    "ZOO_INIT_LIMIT": "initLimit",
    "ZOO_SYNC_LIMIT": "syncLimit",
    "ZOO_MAX_CLIENT_CNXNS": "maxClientCnxns",
    "ZOO_AUTOPURGE_PURGEINTERVAL": "autopurge.purgeInterval",
    "ZOO_ADMINSERVER_ENABLED": "admin.enableServer",
    "ZOO_4LW_COMMANDS_WHITELIST": "4lw.commands.whitelist",
}


def compose() -> dict:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))


def service(name: str) -> dict:
    return compose()["services"][name]


def container_settings(name: str) -> dict[str, str]:
    """What the command and the environment of a service set."""
    settings = dict(_from_words([str(word) for word in service(name).get("command", ())]))
    for variable, value in service(name).get("environment", {}).items():
        if variable in _ZOOKEEPER:
            settings[_ZOOKEEPER[variable]] = value
        elif variable == "ZOO_CFG_EXTRA":
            settings |= dict(pair.split("=", 1) for pair in value.split())
        elif variable.startswith("ETCD_"):
            settings[variable.removeprefix("ETCD_").lower().replace("_", "-")] = value
    return settings


def native_settings(spec: ServerSpec, folder: Path) -> dict[str, str]:
    """What the first node's command line and configuration files set, as `prepare` writes them into `folder`."""
    nodes = []
    for index, name in enumerate(spec.node_names):
        directory = folder / name
        (directory / "cluster").mkdir(parents=True)  # Postgres: a kept cluster, so that none is made
        ports = {port: 20000 + index * 10 + place for place, port in enumerate(spec.port_names)}
        nodes.append(Node(name, ports, directory))
    found = spec.find()
    launches: Sequence[Launch] = spec.prepare(nodes, Found(_Programs(), "0") if isinstance(found, Missing) else found)
    settings = dict(_from_words(launches[0].argv[1:]))
    for path in sorted(nodes[0].directory.glob("*.c*f*g")) + sorted(nodes[0].directory.glob("*.conf")):
        settings |= dict(_from_words(path.read_text(encoding="utf-8").splitlines()))
    return settings


class _Programs(dict[str, str]):
    """Stands for programs that are not installed: only their settings are looked at."""

    def __missing__(self, name: str) -> str:
        return f"/usr/bin/{name}"


def _from_words(words: Sequence[str]) -> Iterator[tuple[str, str]]:
    """`--name=value`, `name=value` after -c, `name value` in one word (a line of redis.conf); DynamoDB Local's flag."""
    for word in words:
        if match := re.fullmatch(r"(?:--)?([\w.-]+)=(.*)", word):
            yield match[1], match[2]
        elif match := re.fullmatch(r"([a-z][\w-]+) (\S.*)", word):
            yield match[1], "" if match[2] == '""' else match[2]
        elif word == "-inMemory":
            yield "storage", "memory"


def substituted(word: str, **variables: str) -> str:
    """As Compose fills in `${NAME:-default}`."""
    return re.sub(r"\$\{(\w+):-(.*?)\}", lambda found: variables.get(found[1], found[2]), word)


def published(name: str) -> Mapping[int, str]:
    """Container port -> the address that it is published on."""
    ports = {}
    for line in service(name).get("ports", ()):
        host, _, rest = substituted(str(line)).partition(":")
        ports[int(rest.rpartition(":")[2])] = host
    return ports
