"""What it means to start a node without what it kept on its disk; each `ServerSpec` says what that is."""

import shutil

from bench.servers.spec import Node, ServerSpec


def keeps_nothing(spec: ServerSpec) -> bool:
    """Does a node of this set have all it knows in memory?"""
    return spec.disk == ()


def check(spec: ServerSpec, keep_data: bool) -> None:
    """Raise ValueError where a node cannot be started again in this way."""
    if keep_data and keeps_nothing(spec):
        raise ValueError(f"{spec.name} keeps everything in memory: start it with keep_data=False")
    if not keep_data and spec.disk is None:
        raise ValueError(f"{spec.name} cannot be started with an empty disk: {spec.why_no_empty_disk}")


def empty(spec: ServerSpec, node: Node) -> None:
    """Remove what a stopped node of this set has kept."""
    for name in spec.disk or ():
        path = node.directory / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
