"""Which product a server is, and its version, from INFO, where "redis_version" may be what it claims to be like."""

import re
from collections.abc import Mapping

NOT_REPORTED = "not reported"
# Redis' own names that end so: those of its compiler and of what it stands for. Programs in its place report their own
# version under their own name (valkey_version, dragonfly_version, kvrocks_version, …).
_NOT_A_PRODUCT = ("redis", "gcc")
_ONLY_KEYDB_REPORTS = "mvcc_depth"  # and reports no version of its own


def version(info: Mapping[str, str]) -> str:
    """Redis' version bare, another product's behind its name; what is not reported is said not to be."""
    claimed = info.get("redis_version", NOT_REPORTED)
    for name, value in info.items():
        match = re.fullmatch(r"([a-z]+)_version", name)
        if match and match[1] not in _NOT_A_PRODUCT:
            return f"{match[1].capitalize()} {value}"
    product = "KeyDB" if _ONLY_KEYDB_REPORTS in info else info.get("server_name", "redis").capitalize()
    return claimed if product == "Redis" else f"{product}, version {NOT_REPORTED}, like Redis {claimed}"
