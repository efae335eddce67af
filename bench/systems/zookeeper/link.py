"""What an endpoint's URL and variables ask of a ZooKeeper session: below which node, encrypted or not, and as whom."""

from typing import Any

from kazoo.security import CREATOR_ALL_ACL

from bench.servers.endpoint import Endpoint
from bench.servers.url import EVERY_SECRET, UrlRules

_ROOT = "/lockbench"
# One name of a node, as ZooKeeper allows it (PathUtils.validatePath): neither . nor .., none of what cannot be shown.
_NAME = r"(?!\.{1,2}(?:/|$))[^/\x00-\x1f\x7f-\x9f\ud800-\uf8ff\ufff0-\uffff]+"

URL_RULES = UrlRules(
    schemes={"zookeeper": False, "zk": False, "zookeepers": True, "zks": True},
    path="chroot",
    options={"chroot": f"{_NAME}(?:/{_NAME})*"},
    secrets=EVERY_SECRET,
)


def root_of(endpoint: Endpoint) -> str:
    """The node below which all of ours are. The parents that are missing are made."""
    chroot = endpoint.options.get("chroot")
    return f"/{chroot}{_ROOT}" if chroot else _ROOT


def credentials(endpoint: Endpoint) -> dict[str, Any]:
    """kazoo's options for digest authentication, or none. Raises ConnectionError for half a credential.

    What is made as somebody is that one's alone: others may neither see, change nor delete it. A server of digest
    authentication refuses nobody by itself: it is the nodes' access lists that do.
    """
    user, password = (endpoint.secrets.get(name) for name in ("user", "password"))
    if user is None and password is None:
        return {}
    if user is None or password is None or ":" in user:
        raise ConnectionError(
            f"ZooKeeper at {endpoint}: digest authentication needs a user without a colon and a password: set both "
            "LOCKBENCH_ZOOKEEPER_USER and LOCKBENCH_ZOOKEEPER_PASSWORD, or neither"
        )
    return {"auth_data": [("digest", f"{user}:{password}")], "default_acl": CREATOR_ALL_ACL}
