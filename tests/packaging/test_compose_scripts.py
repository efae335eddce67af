"""The shell lines in docker-compose.yml, run here as a container would run them."""

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from bench.servers.running.ports import free_ports
from bench.servers.spec import Node
from bench.systems.redis.scripts import command
from bench.systems.redis.server import RedisServers
from bench.systems.redis.wire import ask
from tests.packaging.compose_file import service


def unescaped(words: list[str]) -> list[str]:
    """As Compose hands them on: `$$` is a dollar sign that it leaves alone."""
    return [word.replace("$$", "$") for word in words]


@contextmanager
def redis(folder: Path, port: int) -> Iterator[None]:
    """The command of the service `redis`, with a folder and a port of this test's."""
    (folder / "bin").mkdir(exist_ok=True)
    entrypoint = folder / "bin/docker-entrypoint.sh"
    entrypoint.write_text('#!/bin/sh\nexec "$@"\n', encoding="utf-8")  # the image's own drops root, then does the same
    entrypoint.chmod(0o755)
    words = [
        word.replace("/data", str(folder)).replace("6379", str(port)) for word in unescaped(service("redis")["command"])
    ]
    with subprocess.Popen(words, env={**os.environ, "PATH": f"{entrypoint.parent}:{os.environ['PATH']}"}) as server:
        try:
            answers(port)
            yield
        finally:
            server.kill()  # what `docker kill` does: the file must be whole without a farewell


def answers(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        assert time.monotonic() < deadline, "redis-server did not start"


def setting(port: int, name: str) -> str:
    ((_, value),) = ask("127.0.0.1", port, command("CONFIG", "GET", name))
    return value.decode()


@pytest.mark.servers
@pytest.mark.skipif(shutil.which("redis-server") is None, reason="redis comes from containers here")
def test_redis_starts_with_the_lines_and_keeps_a_variant(tmp_path: Path) -> None:
    (port,) = free_ports(1)
    with redis(tmp_path, port):
        assert [setting(port, name) for name in ("save", "appendonly", "maxmemory-policy")] == ["", "no", "noeviction"]
        RedisServers().configure([Node("redis", {"client": port}, tmp_path)], {"durability": "always"})
    with redis(tmp_path, port):
        assert [setting(port, name) for name in ("appendonly", "appendfsync")] == ["yes", "always"]


class Answer(BaseHTTPRequestHandler):
    status = 400

    def do_GET(self) -> None:
        self.send_response(self.status)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Quiet."""


def dynamodb_health(port: int) -> int:
    words = [word.replace("8000", str(port)) for word in unescaped(service("dynamodb")["healthcheck"]["test"][1:])]
    return subprocess.run(words, stderr=subprocess.DEVNULL, timeout=20, check=False).returncode


@pytest.mark.parametrize(("status", "healthy"), [(400, True), (200, True), (404, True), (500, False), (503, False)])
def test_dynamodb_is_healthy_when_it_answers_an_unsigned_request(status: int, healthy: bool) -> None:
    server = HTTPServer(("127.0.0.1", 0), type("Told", (Answer,), {"status": status}))
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    try:
        assert (dynamodb_health(server.server_port) == 0) == healthy
    finally:
        server.shutdown()
        serving.join()
        server.server_close()


def test_dynamodb_is_not_healthy_when_nothing_listens() -> None:
    (port,) = free_ports(1)
    assert dynamodb_health(port) != 0
