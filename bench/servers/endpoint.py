"""Where a system is reached, and with what credentials. Credentials are never printed and never stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Self


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The addresses of all nodes, in node order, and what a client needs to speak to them.

    `options` holds what is not secret (database name, region, engine); `secrets` (password, access keys, TLS paths)
    comes from the environment only and is left out of every repr and record.
    """

    addresses: tuple[tuple[str, int], ...]
    options: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)

    def at(self, addresses: tuple[tuple[str, int], ...]) -> Self:
        """The same system through other addresses, such as those of a proxy."""
        return replace(self, addresses=addresses)

    def __str__(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.addresses)
