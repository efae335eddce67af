"""Whether the clock of a system's servers can be stepped on this machine: tried on a process of no importance."""

import subprocess
from functools import cache

from bench.hazards.clocks.process_clock import ProcessClock
from bench.hazards.clocks.refusal import CannotStep
from bench.systems.registry import system

_ENDS_WITHIN_S = 10.0


def can_step(name: str, source: str = "native") -> str | None:
    """None: yes. Else why not, in words for a table. `source` is where the system's servers come from."""
    servers = system(name).servers
    if servers is None:
        return f"{system(name).title} has no server, and so no server's clock"
    if source != "native":
        return f"only clocks of private, native servers are stepped; {servers.title} is served by {source}"
    return _why_not(servers.unprivileged_account())


@cache
def _why_not(account: str | None) -> str | None:
    """Change a shell that waits for input, under the account that the server would have, and let it end."""
    shell = subprocess.Popen(
        ["/bin/sh", "-c", "echo; read -r line"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, user=account, cwd="/"
    )
    try:
        assert shell.stdout is not None
        shell.stdout.readline()  # until it is the shell: it has no clock functions while it is being loaded
        clock = ProcessClock(shell.pid)
        clock.set(1_000_000)
        clock.restore()
    except (CannotStep, ProcessLookupError) as reason:
        return str(reason)
    finally:
        shell.communicate(timeout=_ENDS_WITHIN_S)
    return None
