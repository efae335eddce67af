"""The model's side of a play: actors, servers and resource of one system, and what faults do to them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from bench.errors import LockbenchError
from bench.hazards.resources.base import Rule
from bench.simulator.actor import Actor
from bench.simulator.clients import Client, ItemClient, LeaseClient, RowClient, SessionClient
from bench.simulator.history import History, Resource
from bench.simulator.kinds import Kind
from bench.simulator.services import Item, LeaseServer, Queue, Row
from bench.simulator.world import NS_PER_MS, WallClock, World

Over = Callable[[], None]
_RESTART_NS = 300 * NS_PER_MS  # until servers that were started, or took over, answer


class NotModelled(LockbenchError):
    """Something that a scenario has and the model does not; the message names it."""


class Scene:
    """One trial's cast. Faults are the methods named `strike_<kind>`; each returns what ends it, or None."""

    actor_class: ClassVar[type[Actor]] = Actor

    def __init__(
        self, kind: Kind, ttl_ns: int, fence: bool, rule: Rule, presents: bool, keeps_data: bool | None = None
    ) -> None:
        self.kind, self.world, self.history = kind, World(), History([], [], [], [])
        self.actors: dict[str, Actor] = {}
        self._ttl_ns, self._presents = ttl_ns, presents
        self._resource = Resource(fence, rule)
        self._servers = [Item() if kind.by_client else LeaseServer() for _ in range(kind.nodes)]
        self._queue, self._row = Queue(self.world), Row()
        self._keeps_data = kind.keeps_data if keeps_data is None else keeps_data
        self._replica: tuple[str, int, int] | None = None  # what a replica has that hears no more

    def add(self, name: str, call_ns: int, variant: Mapping[str, str]) -> Actor:
        """Another actor. Raises NotModelled for a variant of its client that the model does not know."""
        if unknown := set(variant) - {"node_timeout_ms", "keepalive"}:
            raise NotModelled(f"not modelled: the client's variant {', '.join(sorted(unknown))}")
        rest = (self.world, self.kind, name, self._ttl_ns, call_ns)
        client: Client
        if self.kind.lease == "session":
            client = SessionClient(self._queue, *rest)
            client.neglected = variant.get("keepalive") == "no"
            client.open()
        elif self.kind.lease == "none":
            client = RowClient(self._row, *rest)
        else:
            client = (ItemClient if self.kind.by_client else LeaseClient)(self._servers, *rest)
            client.node_timeout_ns = int(float(variant.get("node_timeout_ms", 50)) * NS_PER_MS)
        self.actors[name] = self.actor_class(self.world, name, client, self._resource, self.history, self._presents)
        return self.actors[name]

    def numbers(self, target: str, arguments: Mapping[str, Any]) -> Sequence[int]:
        """Servers by number, as scenarios name them."""
        count = self.kind.members
        if "nodes" in arguments:
            return range(int(arguments["nodes"]))
        if "last_nodes" in arguments:
            return range(count - int(arguments["last_nodes"]), count)
        _, _, number = target.rpartition("-")
        return (int(number) - 1,) if number.isdigit() else range(count)

    def _struck(self, target: str, arguments: Mapping[str, Any]) -> list[LeaseServer]:
        return [self._servers[number] for number in self.numbers(target, arguments) if number < len(self._servers)]

    # -- of actors -------------------------------------------------------------------------------------------------

    def strike_pause(self, target: str, _: Mapping[str, Any]) -> Over:
        actor = self.actors[target]
        actor.stop()
        return actor.go_on

    strike_suspend = strike_pause  # the clocks that clients go by count the time of a suspension

    def strike_kill(self, target: str, _: Mapping[str, Any]) -> None:
        self.actors[target].kill()

    def strike_partition(self, target: str, arguments: Mapping[str, Any]) -> Over:
        client = self.actors[target].client
        link, direction = client.link, str(arguments.get("direction", "both"))
        if "nodes" in arguments and self.kind.independent:
            link.cut_nodes = int(arguments["nodes"])
            return link.restore
        link.holds_out, link.holds_back = direction != "to_client", direction != "to_server"
        if direction != "both" and self.kind.lease == "none":
            return link.restore  # acknowledged by the kernels: neither end finds out
        client.silent(cut=True)

        def over() -> None:
            client.heard(cut=True)
            link.restore()

        return over

    def strike_slow_link(self, target: str, arguments: Mapping[str, Any]) -> Over:
        link, direction = self.actors[target].client.link, str(arguments.get("direction", "both"))
        late_ns = int(float(arguments["delay_ms"]) * NS_PER_MS)
        link.out_ns += late_ns if direction != "to_client" else 0
        link.back_ns += late_ns if direction != "to_server" else 0
        return link.restore

    def strike_swallow_reply(self, target: str, arguments: Mapping[str, Any]) -> Over:
        link = self.actors[target].client.link
        link.swallows, link.severs = int(arguments.get("requests", 1)), bool(arguments.get("then_sever", False))
        return link.restore

    def strike_request_held(self, target: str, _: Mapping[str, Any]) -> Over:
        link = self.actors[target].client.link
        link.holds = 1
        return link.restore

    def strike_write_held(self, target: str, _: Mapping[str, Any]) -> Over:
        link = self.actors[target].resource_link
        link.holds_out = True
        return link.restore

    def strike_client_clock(self, target: str, arguments: Mapping[str, Any]) -> Over:
        wall = self.actors[target].client.wall
        wall.step(int(float(arguments["by_ms"]) * NS_PER_MS))
        return wall.put_right

    # -- of servers ------------------------------------------------------------------------------------------------

    def strike_clock_jump(self, target: str, arguments: Mapping[str, Any]) -> Over:
        by_ns = int(float(arguments["by_ms"]) * NS_PER_MS)
        return self._change_clocks(target, arguments, lambda clock: clock.step(by_ns))

    def strike_clock_drift(self, target: str, arguments: Mapping[str, Any]) -> Over:
        rate, now_ns = float(arguments["percent"]) / 100.0, self.world.now_ns
        return self._change_clocks(target, arguments, lambda clock: clock.drift(rate, now_ns))

    def _change_clocks(self, target: str, arguments: Mapping[str, Any], change: Callable[[WallClock], None]) -> Over:
        clocks = [server.clock for server in self._struck(target, arguments)]
        for clock in clocks:
            change(clock)

        def over() -> None:
            for clock in clocks:
                clock.put_right()

        return over

    def strike_restart(self, target: str, arguments: Mapping[str, Any]) -> Over:
        if not arguments.get("keep_data", True):
            raise NotModelled("not modelled: a restart with an empty disk")
        struck = self._struck(target, arguments)
        for server in struck:
            server.up = False
            if not self._keeps_data:
                server.forget()
        if self.kind.lease == "none":
            self._row.forget()
        for actor in self.actors.values():
            actor.client.restarted()

        def over() -> None:
            self.world.run(self.world.now_ns + _RESTART_NS)
            for server in struck:
                server.up = True

        return over

    def strike_nodes(self, _: str, arguments: Mapping[str, Any]) -> Over | None:
        count, hang = int(arguments["nodes"]), str(arguments["how"]) == "hang"
        struck = self._servers[:count] if self.kind.independent else []
        for server in struck:
            server.up, server.hung = hang, hang
        no_majority = not self.kind.independent and count > (self.kind.members - 1) // 2
        for actor in self.actors.values():
            actor.client.link.down = no_majority

        def over() -> None:
            for server in struck:
                server.up, server.hung = True, False
            for actor in self.actors.values():
                actor.client.link.down = False

        return over if count else None

    def strike_replication_cut(self, _: str, __: Mapping[str, Any]) -> Over:
        server = self._servers[0]
        self._replica = (server.owner, server.until_ns, server.count)
        return lambda: None

    def strike_failover(self, _: str, __: Mapping[str, Any]) -> Over:
        if not self.kind.lossless:
            server = self._servers[0]
            server.up = False
            self.world.run(self.world.now_ns + _RESTART_NS)
            server.up = True
            if self._replica is not None:
                server.owner, server.until_ns, server.count = self._replica
        return lambda: None

    def strike_touch(self, _: str, __: Mapping[str, Any]) -> None:
        self._queue.touch()
