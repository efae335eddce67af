"""lockbench.toml and the environment: where the user's own servers are, and where servers come from.

    [servers.redis]
    url = "redis://10.0.0.5:6379"          # use this server; several nodes: a comma between host:port pairs
    source = "native"                      # or compose, url; default: the first that works
    first_port = 16379                     # native: ports from here on instead of free ones

The same from the environment: LOCKBENCH_REDIS_URL, LOCKBENCH_REDIS_SOURCE; either puts aside what the file says against
it. Secrets from the environment only: LOCKBENCH_REDIS_USER, LOCKBENCH_REDIS_PASSWORD, LOCKBENCH_REDIS_TLS_CA,
LOCKBENCH_REDIS_TLS_CERT and LOCKBENCH_REDIS_TLS_KEY (the last three are paths).
"""

import os
import re
import tomllib
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Self, get_args
from urllib.parse import parse_qsl, unquote

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, field_validator, model_validator

from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.servers.surroundings import check_names
from bench.servers.tls import UnusableFile, check_files
from bench.servers.url import Secret, UrlRules
from bench.systems.registry import SERVER_SETS, is_server_set

_SECRETS: tuple[str, ...] = get_args(Secret)
_TLS_FILES = tuple(name for name in _SECRETS if name.startswith("tls_"))
_LAID_OVER = ("url", "source")  # fields of the file that the environment may replace
_STARTED = ("native", "compose")  # sources of servers that are not the user's own
_NAME, _SIX = r"[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_.])?", r"[0-9A-Fa-f:.]+"
_OF_A_SET = re.compile(r"LOCKBENCH_([A-Z0-9]+)_(?:URL|SOURCE)")
_ADDRESS = re.compile(rf"(?:(?P<name>{_NAME})|\[(?P<six>{_SIX})\]):(?P<port>[0-9]{{1,5}})")


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

    @model_validator(mode="after")
    def _agree(self) -> Self:
        if self.url is not None and self.source in _STARTED:
            raise ValueError(f"source is {self.source!r}, and a url is named as well: keep one of them")
        if self.first_port is not None and self.url is not None:
            raise ValueError("first_port is for servers that are started here, and a url is named: keep one of them")
        if self.first_port is not None and self.source in ("compose", "url"):
            raise ValueError(f"first_port is for native servers, and source is {self.source!r}: keep one of them")
        return self


class Settings(BaseModel):
    """All of lockbench.toml, the environment already laid over it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    servers: Mapping[str, ServerSettings] = Field(default_factory=dict)
    _variables: frozenset[str] = PrivateAttr(frozenset())  # the names of those that are set, not what they hold

    @field_validator("servers")
    @classmethod
    def _known(cls, servers: Mapping[str, ServerSettings]) -> Mapping[str, ServerSettings]:
        for name in servers:
            if not is_server_set(name):
                raise ValueError(f"no servers {name!r}: choose from {', '.join(SERVER_SETS)}")
        return servers

    def of(self, server_set: str) -> ServerSettings:
        return self.servers.get(server_set, ServerSettings())

    def refuse_unused(self, server_set: str, source: str, used: Collection[str]) -> None:
        """Raise SettingsError for a variable of this set of which its servers, from `source`, make no use.

        `used` names those that they do, beside the URL, the source, and the secrets that a URL goes with.
        """
        secrets = [variable(server_set, secret) for secret in _SECRETS]
        known = [*(variable(server_set, field) for field in _LAID_OVER), *secrets]
        for name in sorted(self._variables - set(used)):
            if name.startswith(variable(server_set, "")) and name not in known:
                raise SettingsError(f"{name} is not known here: choose from {', '.join(known)}")
            if name in secrets and source != "url":
                raise SettingsError(
                    f"{name} is for servers of your own, and these are not ({source}): name yours in {known[0]}, or "
                    f"unset {name}"
                )


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
        for name in _named_in(environment):
            given = {field: environment.get(variable(name, field)) for field in _LAID_OVER}
            if any(given.values()) and isinstance(servers.setdefault(name, {}), dict):
                _lay_over(name, {field: value for field, value in given.items() if value}, servers[name])
    try:
        settings = Settings.model_validate(tree)
    except ValidationError as wrong:
        first = wrong.errors()[0]
        _, name, field = (*(str(part) for part in first["loc"]), "", "", "")[:3]
        where = variable(name, field)
        place = where if environment.get(where) else f"{path}: " + ".".join(str(part) for part in first["loc"])
        raise SettingsError(f"{place}: {first['msg']}") from wrong
    settings._variables = frozenset(name for name, value in environment.items() if value)
    return settings


def _named_in(environment: Mapping[str, str]) -> Iterable[str]:
    """The server sets of which the environment says where they come from."""
    named = [found[1].lower() for one in environment if (found := _OF_A_SET.fullmatch(one)) is not None]
    return [name for name in dict.fromkeys(named) if is_server_set(name)]


def variable(server_set: str, field: str) -> str:
    """The name of a server set's variable: `field` is a field of the file, a secret, or empty for its beginning."""
    return f"LOCKBENCH_{server_set.upper()}_{field.upper()}"


def _lay_over(server_set: str, given: Mapping[str, str], mine: dict[str, Any]) -> None:
    """The environment wins: a URL over the file's source, a source over the file's URL, and both over its port.

    Raises SettingsError where the two of the environment contradict each other.
    """
    source = given.get("source")
    if "url" in given:
        if source in _STARTED:
            url, beside = variable(server_set, "url"), variable(server_set, "source")
            raise SettingsError(f"{beside} is {source!r}, and {url} names servers of your own: unset one of them")
        mine.pop("source", None)
    if source in _STARTED:
        mine.pop("url", None)
    if "url" in given or source in ("compose", "url"):
        mine.pop("first_port", None)
    mine.update(given)


def endpoint_from_url(
    server_set: str, url: str, rules: UrlRules, environment: Mapping[str, str] = os.environ
) -> Endpoint:
    """The endpoint of the user's own servers. Query parameters become options; secrets come from the environment.

    Raises SettingsError, before anything is sent, for each part that the system would not honour: one that is ignored
    names another place than the one that is measured.
    """
    prefix = variable(server_set, "")
    try:
        parts = _parts(url)
        addresses = tuple(_address(item) for item in parts.places.split(","))
        check_names(addresses, environment)
        options = _options(parts, rules)
        if rules.nodes_max is not None and len(addresses) > rules.nodes_max:
            raise ValueError(f"{len(addresses)} addresses, and {rules.nodes_max} is the most")
        if len(set(addresses)) < len(addresses):
            raise ValueError("one address stands there twice")
        if ":" in parts.credentials:
            raise ValueError(f"a password does not belong in a URL: set {prefix}PASSWORD instead")
    except ValueError as wrong:
        raise SettingsError(f"{prefix}URL: {wrong}") from wrong
    for name in _TLS_FILES:
        if not environment.get(prefix + name.upper(), "unset").strip():
            raise SettingsError(f"{prefix}{name.upper()} is set, and empty: name a file, or unset it")
    secrets = {name: environment[prefix + name.upper()] for name in _SECRETS if environment.get(prefix + name.upper())}
    if parts.credentials:
        if "user" in secrets:
            raise SettingsError(f"{prefix}URL names a user, and so does {prefix}USER: keep one of them")
        secrets["user"] = unquote(parts.credentials)
    for name in secrets:
        if name not in rules.secrets:
            raise SettingsError(f"{prefix}{name.upper()}: {server_set} makes no use of it here; unset it")
    if rules.password_needs_user and "password" in secrets and "user" not in secrets:
        raise SettingsError(f"{prefix}PASSWORD is a user's, and none is named: set {prefix}USER as well")
    if ("tls_cert" in secrets) != ("tls_key" in secrets):
        raise SettingsError(f"{prefix}TLS_CERT and {prefix}TLS_KEY only work together: set both, or neither")
    tls_files = [name for name in _TLS_FILES if name in secrets]
    if tls_files and rules.schemes.get(parts.scheme) is False:
        secure = [scheme for scheme, tls in rules.schemes.items() if tls]
        instead = f"write {secure[0]}:// or unset the variable" if secure else "unset the variable"
        raise SettingsError(
            f"{prefix}URL says {parts.scheme}://, which is not encrypted, and {prefix}TLS_… is set: {instead}"
        )
    try:
        check_files({name: secrets[name] for name in tls_files}, rules.key_is_private)
    except UnusableFile as bad:
        raise SettingsError(f"{prefix}{bad.secret.upper()}: {bad}") from bad
    return Endpoint(addresses, options, secrets, tls=bool(rules.schemes.get(parts.scheme)) or bool(tls_files))


def _options(parts: "_Parts", rules: UrlRules) -> dict[str, str]:
    """Path and query as options. Raises ValueError for what the system would not honour."""
    if parts.scheme and parts.scheme not in rules.schemes:
        raise ValueError(f"the scheme {parts.scheme}:// is not known here: {_choice(rules.schemes)}")
    if parts.fragment:
        raise ValueError(f"#{parts.fragment} means nothing here")
    options: dict[str, str] = {}
    for name, value in parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query)):
        if name not in rules.options:
            raise ValueError(f"the parameter {name!r} is not known here: {_choice(rules.options)}")
        if name in options:
            raise ValueError(f"the parameter {name!r} stands there twice")
        options[name] = value
    if parts.path:
        if rules.path is None:
            raise ValueError(f"the path /{parts.path} means nothing here")
        if rules.path in options:
            raise ValueError(f"the path /{parts.path} and the parameter {rules.path!r} say the same: keep one of them")
        options[rules.path] = unquote(parts.path)
    for name, value in options.items():
        if not re.fullmatch(rules.options.get(name, ".+"), value):
            raise ValueError(f"{name} cannot be {value!r}")
    return options


def _choice(known: Iterable[str]) -> str:
    listed = ", ".join(known)
    return f"choose from {listed}" if listed else "there are none"


class _Parts(NamedTuple):
    scheme: str
    credentials: str
    places: str
    path: str
    query: str
    fragment: str


def _parts(url: str) -> _Parts:
    """Split scheme://user:password@host:port,host:port/path?query, all but the places optional.

    The standard library's `urlsplit` is for one host: some of its versions refuse several, one of them IPv6.
    """
    url, _, fragment = url.partition("#")
    scheme, mark, rest = url.partition("://")
    if not mark:
        scheme, rest = "", url
    rest, _, query = rest.partition("?")
    place, _, path = rest.partition("/")
    credentials, _, places = place.rpartition("@")
    if "@" in f"{path}{query}{fragment}":  # perhaps of a password with one of /?# in it: none of it is printed
        raise ValueError("an @ stands behind the addresses; write %40 there, and no password in a URL")
    return _Parts(scheme, credentials, places, path.strip("/"), query, fragment)


def _address(item: str) -> tuple[str, int]:
    match = _ADDRESS.fullmatch(item)
    if match is None or not 0 < int(match["port"]) < 65_536:
        raise ValueError(f"{item!r} is not host:port")
    return (match["six"] or match["name"]).lower(), int(match["port"])
