"""A toy server set for supervisor tests: each node is a small process that answers its own folder's name."""

import socket
import sys
from collections.abc import Mapping, Sequence
from typing import ClassVar

from bench.servers.endpoint import Endpoint
from bench.servers.spec import Found, Launch, Missing, Node, NotReady, ServerSpec, WrongServer
from bench.servers.url import UrlRules

_SERVE = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", int(sys.argv[1])))
print("listening", flush=True)
while True:
    peer, _ = listener.accept()
    peer.sendall(f"{os.getpid()} {sys.argv[2]}".encode())
    peer.close()
"""


class ToyServers(ServerSpec):
    name = "redis"  # a name that settings know; nothing here is Redis
    title = "Toy"
    node_names = ("toy-1", "toy-2")
    compose_services = ("toy-1", "toy-2")
    compose_port = 1
    url_rules = UrlRules(schemes={"toy": False})
    ready_within_s = 10.0
    script: ClassVar[str] = _SERVE

    def find(self) -> Found | Missing:
        return Found({"python": sys.executable}, "toy 1")

    def prepare(self, nodes: Sequence[Node], found: Found) -> Sequence[Launch]:
        return [
            Launch((found.programs["python"], "-c", self.script, str(node.port), str(node.directory))) for node in nodes
        ]

    def prove(self, node: Node, pid: int | None) -> str:
        try:
            with socket.create_connection((node.host, node.port), timeout=1) as client:
                answer = client.recv(4096).decode()
        except OSError as refused:
            raise NotReady(str(refused)) from refused
        if answer != f"{pid} {node.directory}":
            raise WrongServer(f"{node.host}:{node.port} is answered by {answer!r}, not by the server that was started")
        return answer

    def endpoint(self, nodes: Sequence[Node]) -> Endpoint:
        return Endpoint(tuple((node.host, node.port) for node in nodes))

    def native_durability(self) -> Mapping[str, str]:
        return {}


class StillbornServers(ToyServers):
    """Its nodes die at once, with a reason."""

    script = "import sys; sys.exit('the toy is broken on purpose')"


class SilentServers(ToyServers):
    """Its nodes run and never listen."""

    ready_within_s = 0.5
    script = "import signal; signal.pause()"


class AbsentServers(ToyServers):
    """Not installed."""

    def find(self) -> Found | Missing:
        return Missing("toy-server", "sudo apt-get install toy-server")
