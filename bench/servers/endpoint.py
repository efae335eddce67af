"""Where a system is reached, and with what credentials. Credentials are never printed and never stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The addresses of all nodes, in node order, and what a client needs to speak to them.

    `options` holds what is not secret (database name, region, engine); `secrets` (password, access keys, TLS paths)
    comes from the environment only and is left out of every repr and record.
    """

    addresses: tuple[tuple[str, int], ...]
    options: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    tls: bool = False  # asked for: an adapter then speaks TLS, or refuses to connect

    def at(self, addresses: tuple[tuple[str, int], ...]) -> Self:
        """The same system through other addresses, such as those of a proxy."""
        return replace(self, addresses=addresses)

    def to_tree(self) -> dict[str, Any]:
        """All of it, ready for JSON, to hand to a process of ours: never print or store it, for it holds the secrets.

        Paths to TLS files are made absolute, since that process may work in another folder.
        """
        secrets = {
            name: str(Path(value).absolute()) if name.startswith("tls_") else value
            for name, value in self.secrets.items()
        }
        addresses = [list(address) for address in self.addresses]
        return {"addresses": addresses, "options": dict(self.options), "secrets": secrets, "tls": self.tls}

    @classmethod
    def from_tree(cls, tree: Mapping[str, Any]) -> Self:
        """What `to_tree` made. Raises KeyError, TypeError or ValueError for anything else."""
        addresses = tuple((str(host), int(port)) for host, port in tree["addresses"])
        return cls(addresses, tree["options"], tree["secrets"], tree["tls"])

    def __str__(self) -> str:
        return ",".join(f"{host}:{port}" for host, port in self.addresses)
