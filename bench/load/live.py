"""Locust's web page on the bench's servers, for people: the command behind `lockbench live`."""

from bench.errors import LockbenchError
from bench.load.child import locust_command, locust_running
from bench.servers.running.ports import PortTaken, claim_ports


class LiveFailed(LockbenchError):
    """The page could not be opened, or Locust ended by itself."""


def live_command(system: str, port: int = 8089, processes: int = 1) -> list[str]:
    """Locust's argument vector: the page on 127.0.0.1 only, its form filled in for `system`."""
    return locust_command({"web-host": "127.0.0.1", "web-port": port, "system": system}, processes=processes)


def require_port(port: int) -> None:
    """Raise LiveFailed when the page's port is taken."""
    try:
        claim_ports((port,))
    except PortTaken:
        raise LiveFailed(f"port {port} on 127.0.0.1 is taken: choose another with --port") from None


def run_live(system: str, port: int = 8089, processes: int = 1) -> None:
    """Serve the page until Ctrl-C or SIGTERM, which end it as an exception here. Raises LiveFailed.

    No process of Locust is left afterwards.
    """
    require_port(port)
    with locust_running(live_command(system, port, processes), {}) as process:
        exit_code = process.wait()
    if exit_code != 0:
        raise LiveFailed(f"Locust ended with exit code {exit_code}; the reason stands above")
