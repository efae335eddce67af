"""Random schedules: four clients that acquire, work and release, and faults that strike them and their servers."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import ClassVar, NamedTuple

from bench.hazards.resources.base import Rule
from bench.records.hazards import FaultWindow
from bench.simulator.actor import Actor
from bench.simulator.clients import Answered
from bench.simulator.history import History
from bench.simulator.kinds import Kind
from bench.simulator.network import Task
from bench.simulator.scene import Scene
from bench.simulator.world import NS_PER_MS

LASTING = ("pause", "partition")
CLIENTS = ("A", "B", "C", "D")
TTL_NS = 2_000 * NS_PER_MS
_CALL_NS = 2_000 * NS_PER_MS
_LATE = 0.05  # of a TTL, on a slow link in each direction, from then on
GAPS = (0.02, 0.05, 0.1, 0.4, 0.8, 1.3)  # of a TTL, between one step and the next
LENGTHS = (0.5, 1.5, 3.0)  # of a TTL, of a pause or a partition
_STEPS = (0.5, 1.5, -1.5)  # of a TTL, of a clock
_OTHER = 0.6  # how often a step is of any client, and not of the one of the step before
_WORK = 0.2  # of a TTL, between reading and writing
_PATIENCE = 1.5  # of a TTL
_POLLS = 8  # within a TTL, where a waiter asks: fewer than real ones, which changes no order of grants


class Step(NamedTuple):
    """One step: after so long, who does or suffers what. `amount` is in TTLs, `node` a server's number."""

    gap: float
    do: str
    client: str
    amount: float = 0.0
    node: int = 0


class Worker(Actor):
    """Does what makes sense: takes the key if it has not got it, and looks at its lease before it begins to work."""

    def _do_take(self, task: Task, timeout_ns: int) -> Answered:
        if self.believes:
            return "held"
        return (yield from self._do_acquire(task, timeout_ns))

    def _do_work(self, task: Task, for_ns: int) -> Answered:
        self.look()
        if not self.believes or (yield from self._do_read(task)) != "read":
            return "lost"
        self.look()
        if not self.believes:
            return "lost"
        yield from task.sleep(self.world.now_ns + for_ns)
        return (yield from self._do_write(task))

    def _do_give_back(self, task: Task) -> Answered:
        return (yield from self._do_release(task)) if self.believes else "lost"


class _Scene(Scene):
    actor_class: ClassVar[type[Actor]] = Worker


class Setting(NamedTuple):
    """What all schedules of a search have in common."""

    kind: Kind
    fence: bool
    presents: bool
    faults: tuple[str, ...]

    @property
    def parameters(self) -> dict[str, bool | int | float | str]:
        """As a trial's record has them."""
        return {"fence": self.fence, "presented": "before_read" if self.presents else "at_write"}


def faults_of(kind: Kind) -> tuple[str, ...]:
    """The faults that mean something to a kind of system."""
    clocks = (("client_clock",) if kind.by_client else ("clock_jump",)) if kind.by_wall else ()
    return ("pause", "partition", "slow_link", *(("partition_nodes",) if kind.independent else ()), *clocks)


# What breaks more than a lease, and is played only where it is asked for: servers that forget what they granted.
WHERE_ASKED = ("restart",)


def drawn(random: Random, setting: Setting) -> list[Step]:
    """One schedule."""
    draw = random.random
    verbs = ("take", "take", "take", "work", "work", "work", "give_back", *setting.faults)
    clients = CLIENTS[: 2 + int(draw() * 3)]
    client, steps = clients[0], []
    for _ in range(4 + int(draw() * 11)):
        do = verbs[int(draw() * len(verbs))]
        gap = GAPS[int(draw() * len(GAPS))]
        if draw() < _OTHER:
            client = clients[int(draw() * len(clients))]
        amount, node = 0.0, 0
        if do in LASTING:
            amount = LENGTHS[int(draw() * len(LENGTHS))]
        elif do == "partition_nodes":
            amount = float(1 + int(draw() * (setting.kind.nodes - setting.kind.quorum)))
        elif do in ("clock_jump", "client_clock"):
            amount, node = _STEPS[int(draw() * len(_STEPS))], int(draw() * setting.kind.nodes)
        steps.append(Step(gap, do, client, amount, node))
    return steps


def carried_out(steps: Sequence[Step], setting: Setting, tells_faults: bool = False) -> History:
    """What comes of a schedule. Faults are recorded only where they are asked for: that takes longer than playing."""
    scene = _Scene(setting.kind, TTL_NS, setting.fence, Rule.BELOW, setting.presents)
    world, actors, last_ns = scene.world, scene.actors, 0
    for step in steps:
        world.run(world.now_ns + int(step.gap * TTL_NS))
        actor = actors.get(step.client) or scene.add(step.client, _CALL_NS, {})
        length_ns = int(step.amount * TTL_NS)
        if step.do == "take":
            actor.ask("take", timeout_ns=int(_PATIENCE * TTL_NS))
        elif step.do == "work":
            actor.ask("work", for_ns=int(_WORK * TTL_NS))
        elif step.do == "give_back":
            actor.ask("give_back")
        elif step.do == "pause":
            if not actor.process.stopped:
                actor.stop()
                world.at(world.now_ns + length_ns, actor.go_on)
                last_ns = max(last_ns, world.now_ns + length_ns)
        elif step.do == "partition":
            if not actor.client.link.holds_out:
                world.at(world.now_ns + length_ns, scene.strike_partition(step.client, {}))
                last_ns = max(last_ns, world.now_ns + length_ns)
        elif step.do == "slow_link":
            scene.strike_slow_link(step.client, {"delay_ms": _LATE * TTL_NS / NS_PER_MS})
        elif step.do == "restart":
            scene.strike_restart("", {})()
        elif step.do == "partition_nodes":
            scene.strike_partition(step.client, {"nodes": int(step.amount)})
        else:
            by = {"by_ms": length_ns / NS_PER_MS}
            if step.do == "client_clock":
                scene.strike_client_clock(step.client, by)
            else:
                scene.strike_clock_jump(f"node-{step.node + 1}", by)
        if tells_faults and step.do not in ("take", "work", "give_back"):
            scene.history.faults.append(_window(step, world.now_ns, length_ns))
    world.run(max(world.now_ns, last_ns) + 2 * TTL_NS)
    return scene.history


def _window(step: Step, now_ns: int, length_ns: int) -> FaultWindow:
    lasts = step.do in LASTING
    target = {"clock_jump": f"node {step.node + 1}", "restart": "servers"}.get(step.do, step.client)
    return FaultWindow(
        kind=step.do,
        target=target,
        began_ns=now_ns,
        ended_ns=now_ns + length_ns if lasts else None,
        confirmed="in the model",
        amount=step.amount if step.do == "partition_nodes" else length_ns / NS_PER_MS,
        unit="nodes" if step.do == "partition_nodes" else "ms",
    )


def setting_of(kind: Kind, fence: bool, presents: bool, faults: Sequence[str] = ()) -> Setting:
    """A search's setting; without faults, all that mean something to this kind."""
    coarse = replace(kind, poll_ns=TTL_NS // _POLLS) if kind.poll_ns else kind
    return Setting(coarse, fence, presents, tuple(faults) or faults_of(kind))
