"""lockbench.toml and the environment: where the user's own servers are, and where servers come from.

    [servers.redis]
    url = "redis://10.0.0.5:6379"          # use this server; several nodes: a comma between host:port pairs
    source = "native"                      # or compose, url; default: the first that works
    first_port = 16379                     # native: ports from here on instead of free ones

The same from the environment: LOCKBENCH_REDIS_URL, LOCKBENCH_REDIS_SOURCE. Secrets from the environment only:
LOCKBENCH_REDIS_USER, LOCKBENCH_REDIS_PASSWORD, LOCKBENCH_REDIS_TLS_CA, LOCKBENCH_REDIS_TLS_CERT and
LOCKBENCH_REDIS_TLS_KEY (the last three are paths).
"""

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint

_SECRETS = ("user", "password", "tls_ca", "tls_cert", "tls_key")
SERVER_SETS = ("redis", "redlock", "zookeeper", "etcd", "postgres", "dynamodb")


class SettingsError(LockbenchError):
    """lockbench.toml or a LOCKBENCH_ variable is wrong; the message names the place and the mend."""


class ServerSettings(BaseModel):
    """How one server set is obtained. `url` implies the source `url`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    url: str | None = None
    source: Literal["auto", "native", "compose", "url"] = "auto"
    first_port: int | None = Field(default=None, ge=1024, le=65000)

    @field_validator("url")
    @classmethod
    def _no_secret_in_url(cls, url: str | None) -> str | None:
        if url is not None and ":" in _parts(url).credentials:
            raise ValueError("a password does not belong in a URL here: set LOCKBENCH_<SYSTEM>_PASSWORD instead")
        return url


class Settings(BaseModel):
    """All of lockbench.toml, the environment already laid over it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    servers: Mapping[str, ServerSettings] = Field(default_factory=dict)

    @field_validator("servers")
    @classmethod
    def _known(cls, servers: Mapping[str, ServerSettings]) -> Mapping[str, ServerSettings]:
        for name in servers:
            if name not in SERVER_SETS:
                raise ValueError(f"no servers {name!r}: choose from {', '.join(SERVER_SETS)}")
        return servers

    def of(self, server_set: str) -> ServerSettings:
        return self.servers.get(server_set, ServerSettings())


def load_settings(path: Path = Path("lockbench.toml"), environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the file, if there is one, and lay the environment over it. Raises SettingsError."""
    tree: dict[str, object] = {}
    if path.exists():
        try:
            tree = tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as broken:
            raise SettingsError(f"{path} cannot be read: {broken}") from broken
    servers = tree.setdefault("servers", {})
    if isinstance(servers, dict):
        for name in SERVER_SETS:
            for field in ("url", "source"):
                value = environment.get(f"LOCKBENCH_{name.upper()}_{field.upper()}")
                if value and isinstance(servers.setdefault(name, {}), dict):
                    servers[name][field] = value
    try:
        return Settings.model_validate(tree)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{path}: {place}: {first['msg']}") from wrong


def endpoint_from_url(server_set: str, url: str, environment: Mapping[str, str] = os.environ) -> Endpoint:
    """The endpoint of the user's own servers. Query parameters become options; secrets come from the environment."""
    parts = _parts(url)
    try:
        addresses = tuple(_address(item) for item in parts.places.split(","))
    except ValueError as wrong:
        raise SettingsError(f"LOCKBENCH_{server_set.upper()}_URL: {wrong}") from wrong
    prefix = f"LOCKBENCH_{server_set.upper()}_"
    secrets = {name: environment[prefix + name.upper()] for name in _SECRETS if environment.get(prefix + name.upper())}
    options = dict(parse_qsl(parts.query))
    if parts.path:
        options["database"] = parts.path
    if parts.scheme:
        options["scheme"] = parts.scheme
    return Endpoint(addresses, options, secrets)


class _Parts(NamedTuple):
    scheme: str
    credentials: str
    places: str
    path: str
    query: str


def _parts(url: str) -> _Parts:
    """Split scheme://user:password@host:port,host:port/path?query, all but the places optional.

    The standard library's `urlsplit` is for one host: some of its versions refuse several, one of them IPv6.
    """
    scheme, mark, rest = url.rpartition("://")
    rest, _, query = rest.partition("?")
    place, _, path = rest.partition("/")
    credentials, _, places = place.rpartition("@")
    return _Parts(scheme if mark else "", credentials, places, path.strip("/"), query)


def _address(item: str) -> tuple[str, int]:
    host, _, port = item.rpartition(":")
    if not host or not port.isdigit():
        raise ValueError(f"{item!r} is not host:port")
    return host.strip("[]"), int(port)
