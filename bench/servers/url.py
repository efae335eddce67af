"""What a system honours of the URL and the variables that name the user's own servers. The rest is refused by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

Secret = Literal["user", "password", "tls_ca", "tls_cert", "tls_key"]
EVERY_SECRET: frozenset[Secret] = frozenset(get_args(Secret))


@dataclass(frozen=True, slots=True)
class UrlRules:
    """One system's part of `endpoint_from_url`. What is listed here is honoured; a part without a rule is an error.

    `schemes` says of each scheme whether it asks for TLS; None leaves that to an option of the system's own, such as
    `sslmode`. A URL without a scheme is always read. `path` names the option that a URL's path becomes; None: there is
    no path. `options` gives each query parameter, and the path, its check: a regular expression for the whole value.
    """

    schemes: Mapping[str, bool | None]
    path: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    secrets: frozenset[Secret] = frozenset()
    password_needs_user: bool = False
    key_is_private: bool = False  # the system's client refuses a tls_key that others may read
    nodes_max: int | None = None  # addresses in one URL; None: as many as there are
