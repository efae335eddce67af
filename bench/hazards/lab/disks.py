"""What a node keeps on its disk, and what it means to start it without that."""

import shutil
from collections.abc import Mapping

from bench.servers.spec import Node

# Inside the node's data folder: what goes when its disk is lost. Settings stay, a machine is set up anew from them.
_CONTENTS: Mapping[str, tuple[str, ...]] = {
    "redis": ("appendonlydir", "dump.rdb"),
    "redlock": ("appendonlydir", "dump.rdb"),
    "zookeeper": ("version-2",),
    "dynamodb": (),
}
_REFUSALS: Mapping[str, str] = {
    "etcd": "an etcd member without its data is refused by its cluster: it must be removed and added as a new one",
    "postgres": "a PostgreSQL without its data is another database, with another password",
}


def keeps_nothing(set_name: str) -> bool:
    """Does a node of this set have all it knows in memory?"""
    return _CONTENTS.get(set_name) == ()


def check(set_name: str, keep_data: bool) -> None:
    """Raise ValueError where a node cannot be started again in this way."""
    if keep_data and keeps_nothing(set_name):
        raise ValueError(f"{set_name} keeps everything in memory: start it with keep_data=False")
    if not keep_data and set_name in _REFUSALS:
        raise ValueError(f"{set_name} cannot be started with an empty disk: {_REFUSALS[set_name]}")


def empty(set_name: str, node: Node) -> None:
    """Remove what a stopped node of this set has kept."""
    for name in _CONTENTS[set_name]:
        path = node.directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
