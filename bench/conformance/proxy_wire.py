"""The wire of a real system: the bench's fault proxy before every address of its endpoint."""

from collections.abc import Callable, Iterator

from bench.servers.breaking.proxy import Direction, FaultProxy
from bench.servers.endpoint import Endpoint


class ProxyWire:
    """One proxy a node. Faults without a `node` go to all of them. Sound, it makes every round trip this long."""

    def __init__(self, endpoint: Endpoint, round_trip_ms: int) -> None:
        self._one_way_ms = round_trip_ms / 2
        self._proxies = [FaultProxy(address) for address in endpoint.addresses]
        for proxy in self._proxies:
            proxy.delay(self._one_way_ms)
        self.endpoint = endpoint.at(tuple(proxy.address for proxy in self._proxies))

    def _chosen(self, node: int | None) -> Iterator[FaultProxy]:
        yield from self._proxies if node is None else [self._proxies[node]]

    def delay(self, delay_ms: int, node: int | None = None) -> None:
        """Requests arrive this late; replies are not held."""
        for proxy in self._chosen(node):
            proxy.delay(self._one_way_ms + delay_ms, Direction.TO_SERVER)

    def drop(self, node: int | None = None) -> None:
        """Nothing passes in either direction, and nobody is notified."""
        for proxy in self._chosen(node):
            proxy.drop()

    def sever(self, node: int | None = None) -> None:
        """Reset every connection; new ones work."""
        for proxy in self._chosen(node):
            proxy.sever()

    def hang_up(self) -> None:
        """The servers end every connection, as they do with idle ones; new ones work."""
        for proxy in self._proxies:
            proxy.hang_up()

    def silence(self) -> None:
        """Nothing passes any more over the connections there are, and nobody is notified; new ones work."""
        for proxy in self._proxies:
            proxy.silence()

    def refuse(self, node: int | None = None) -> None:
        """Nobody listens there any more: connecting is refused. Not undone by `restore`."""
        for proxy in self._chosen(node):
            proxy.close()

    def swallow_reply(self, *, then_sever: bool) -> None:
        """Each server's next reply vanishes after the request was carried out; the connection breaks then or stays."""
        for proxy in self._proxies:
            proxy.swallow_reply(then_sever=then_sever)

    def restore(self) -> None:
        """A sound wire again; what was held is delivered."""
        for proxy in self._proxies:
            proxy.restore()
            proxy.delay(self._one_way_ms)

    def overhear(self, heard: Callable[[Direction], None]) -> None:
        """Tell of everything that passes from now on, at the client's end. Called by several threads."""
        for proxy in self._proxies:
            proxy.overhear(heard)

    def close(self) -> None:
        """End all proxies."""
        for proxy in self._proxies:
            proxy.close()
