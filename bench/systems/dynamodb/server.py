"""The bench's own server of the DynamoDB API: found, started, proven, reached."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import psutil

from bench.servers.endpoint import Endpoint
from bench.servers.running.ports import lets_in
from bench.servers.spec import Found, Launch, Missing, Node, NotReady, ServerSpec, ToldTime, WrongServer
from bench.servers.url import EVERY_SECRET, UrlRules
from bench.systems.dynamodb import clock, engines, tables, upkeep, view
from bench.systems.dynamodb.calls import NoAnswer, NotDone, shared_client
from bench.systems.dynamodb.lock import DynamoDBLock
from bench.systems.identity import seen_by

_CALL_TIMEOUT_MS = 5_000


class DynamoDBServers(ServerSpec):
    """One server, an emulator: its speed says nothing about the service's, its answers should be the same."""

    name: ClassVar[str] = "dynamodb"
    title: ClassVar[str] = "DynamoDB API"
    node_names: ClassVar[tuple[str, ...]] = ("dynamodb",)
    debian_packages: ClassVar[tuple[str, ...]] = ("nodejs", "npm")
    npm_packages: ClassVar[tuple[str, ...]] = (engines.DYNALITE,)
    compose_services: ClassVar[tuple[str, ...]] = ("dynamodb",)
    compose_port: ClassVar[int] = 8000
    url_rules = UrlRules(
        schemes={"http": False, "https": True},
        options={"region": "[a-z0-9-]+", "profile": ".+"},
        secrets=EVERY_SECRET,
        nodes_max=1,
    )
    program_variable: ClassVar[str] = engines.FOLDER_VARIABLE
    disk: ClassVar[tuple[str, ...] | None] = ()

    def find(self) -> Found | Missing:
        return engines.find()

    def prepare(self, nodes: Sequence[Node], found: Found) -> Sequence[Launch]:
        (node,) = nodes
        engine = {"engine": engines.engine_of(found), "version": found.version, "storage": engines.STORAGE}
        (node.directory / "engine.json").write_text(json.dumps(engine), encoding="utf-8")
        return [engines.launch(node, found)]

    def prove(self, node: Node, pid: int | None) -> str:
        """The random mark in the engine's own tables, behind a port that the started process listens on."""
        if pid is not None:
            served = lets_in(
                node.host, node.port
            )  # asked first: if it was our process that answered, it is listening by now
            if not _listens(pid, node.port):
                if served:
                    raise WrongServer(f"{node.host}:{node.port} is served by another process than {pid}")
                raise NotReady(f"process {pid} does not listen on port {node.port}")
        endpoint = self.endpoint([node])
        client = shared_client(endpoint, _CALL_TIMEOUT_MS)
        try:
            if pending := tables.pending_tables(client):
                raise NotReady(f"the engine is still making {', '.join(pending)}")
            engine = tables.engine(client)
            if engine != (expected := endpoint.options.get("engine", engine)):
                raise WrongServer(f"{node.host}:{node.port} answers like {engine}, not like {expected}")
            return tables.identity(client)
        except NotDone as refused:
            if not refused.code:
                raise NotReady(str(refused)) from refused
            raise WrongServer(f"{node.host}:{node.port} refuses what the DynamoDB API knows: {refused}") from refused
        except NoAnswer as failed:
            raise NotReady(str(failed)) from failed

    def identify(self, endpoint: Endpoint) -> str:
        return seen_by(DynamoDBLock, endpoint)

    def tell_time(self, node: Node, log_path: Path) -> ToldTime:
        return clock.tell(node)

    def view(self, endpoint: Endpoint) -> Mapping[str, float]:
        return view.read(endpoint)

    def erase(self, endpoint: Endpoint, key: str) -> str:
        return upkeep.erase(endpoint, key)

    def endpoint(self, nodes: Sequence[Node]) -> Endpoint:
        (node,) = nodes
        kept = node.directory / "engine.json"  # of a container there is none: it says by its replies what it is
        started = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
        return Endpoint(((node.host, node.port),), {"scheme": "http", "region": "us-east-1", **started})

    def native_durability(self) -> Mapping[str, str]:
        return {"storage": engines.STORAGE}


def _listens(pid: int, port: int) -> bool:
    try:
        sockets = psutil.Process(pid).net_connections("tcp")
    except (psutil.NoSuchProcess, psutil.AccessDenied):  # gone, or none of ours
        return False
    return any(found.laddr.port == port for found in sockets if found.status == psutil.CONN_LISTEN)
