"""The page's buttons: which fault each one is, whom it strikes, and the limits of its numbers."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from bench.hazards.lab.disks import keeps_nothing
from bench.servers.spec import ServerSpec


class Amount(NamedTuple):
    """How much of something, in ms: the least, what the page proposes, and the most."""

    title: str
    low: float
    proposed: float
    high: float


@dataclass(frozen=True, slots=True)
class Button:
    """`fault` is a name in the hazard lab's registry; with `seconds` 0 it is an instant."""

    title: str
    fault: str
    explanation: str
    of_servers: bool = False
    seconds: float = 5.0
    amount: Amount | None = None
    target: str = ""  # of servers: as `bench.hazards.faults.targets` names them
    argument: str = ""  # what the fault calls the amount


SECONDS_MOST = 60.0
SECONDS_LEAST = 0.5
_LATE = Amount("late by, ms", 1, 200, 5_000)
_JUMP = Amount("ahead by, ms", -3_600_000, 60_000, 3_600_000)

BUTTONS: Mapping[str, Button] = {
    "pause": Button(
        "Pause the holder", "pause", "Its whole process stands still, as in a long garbage collection. Then it writes."
    ),
    "kill": Button("Kill the holder", "kill", "Its process ends at once. Another takes its place.", seconds=0),
    "cut-off": Button(
        "Cut the holder off", "partition", "No packet passes between it and the lock's servers. The resource answers."
    ),
    "delay": Button(
        "Delay its link", "slow_link", "Each byte to and from the lock's servers comes late.", amount=_LATE,
        argument="delay_ms",
    ),
    "step-holder-clock": Button(
        "Jump the holder's clock", "client_clock", "Its wall clock steps; nobody else's does.", amount=_JUMP,
        argument="by_ms",
    ),
    "step-server-clock": Button(
        "Jump a server's clock", "clock_jump", "The wall clock of one server steps, the leader's where there is one.",
        of_servers=True, amount=_JUMP, argument="by_ms", target="leader",
    ),
    "stop-node": Button(
        "Stop a node", "server_stall", "One server stands still. Of a cluster it is a follower.", of_servers=True,
        target="follower",
    ),
    "stop-leader": Button(
        "Stop the leader", "server_stall", "The server that decides stands still.", of_servers=True, target="leader"
    ),
    "restart-server": Button(
        "Restart a server", "restart", "It is killed, and started again afterwards. Of a cluster it is the leader.",
        of_servers=True, target="leader",
    ),
}  # fmt: skip


def buttons_of(spec: ServerSpec) -> dict[str, dict[str, Any]]:
    """Those that the page shows for one system, ready for JSON."""
    return {name: _told(one) for name, one in BUTTONS.items() if spec.elects or one is not BUTTONS["stop-leader"]}


def struck_by(button: Button, spec: ServerSpec) -> str:
    """The target of a fault of servers: only clusters have a leader."""
    return button.target if spec.elects else spec.node_names[0]


def arguments_of(button: Button, amount: float | None, spec: ServerSpec) -> dict[str, Any]:
    """What the fault gets beside its target."""
    if button.fault == "restart":  # who keeps everything in memory has no disk to find it on
        return {"keep_data": not keeps_nothing(spec)}
    return {} if button.amount is None or amount is None else {button.argument: amount}


def _told(button: Button) -> dict[str, Any]:
    amount = None if button.amount is None else button.amount._asdict()
    seconds = [SECONDS_LEAST, button.seconds, SECONDS_MOST] if button.seconds else None
    return {name: asdict(button)[name] for name in ("title", "explanation")} | {"seconds": seconds, "amount": amount}
