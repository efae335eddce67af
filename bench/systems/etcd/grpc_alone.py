"""gRPC, imported and set up with none of its variables to be seen: import it from here, and open channels in `alone`.

It takes them at its import and when the first channel of a process is opened (doc/environment_variables.md of gRPC's
source names some of them, src/core/config/config_vars.yaml most). Those that it reads later name proxies, which the
options of our channels turn off, and authorities, which are always given.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.servers.surroundings import unseen

_HIDDEN = ("GRPC_",)

with unseen(_HIDDEN):
    import grpc as grpc
    import grpc.experimental.gevent  # noqa: F401 - for those who import grpc from here

_set_up: list[bool] = []


@contextmanager
def alone() -> Iterator[None]:
    """For the opening of each channel. Only the first sees to it: later, threads of gRPC may read the environment."""
    if _set_up:
        yield
        return
    with unseen(_HIDDEN):
        yield
    _set_up.append(True)
