"""Why a clock cannot be stepped."""

from bench.errors import LockbenchError


class CannotStep(LockbenchError):
    """A server's clock cannot be stepped on this machine, or not now; the message says why, and what to do."""


def not_ours(pid: int | str, refused: OSError) -> CannotStep:
    """The kernel does not let this process change that one."""
    return CannotStep(
        f"the kernel does not let lockbench change the clock of process {pid} ({refused.strerror}): "
        "run as root, or set kernel.yama.ptrace_scope to 0; in a container, add the capability SYS_PTRACE"
    )
