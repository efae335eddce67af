"""One etcd of a test's own, with flags that the bench's own servers do not have: users, TLS."""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from bench.servers.running.ports import free_ports
from bench.servers.spec import Found
from bench.systems.etcd.server import EtcdServers

_UP_WITHIN_S = 30.0


@contextmanager
def etcd(folder: Path, *flags: str, scheme: str = "http") -> Iterator[int]:
    """The port of a running member, a cluster of its own."""
    found = EtcdServers().find()
    assert isinstance(found, Found), found
    port, peer = free_ports(2)
    client_url, peer_url = f"{scheme}://127.0.0.1:{port}", f"http://127.0.0.1:{peer}"
    own = {
        "name": "one",
        "data-dir": str(folder / "data"),
        "listen-client-urls": client_url,
        "advertise-client-urls": client_url,
        "listen-peer-urls": peer_url,
        "initial-advertise-peer-urls": peer_url,
        "initial-cluster": f"one={peer_url}",
        "heartbeat-interval": "50",
        "election-timeout": "650",
        "log-outputs": "stderr",
        "logger": "zap",
    }
    arguments = [found.programs["etcd"], *(f"--{name}={value}" for name, value in own.items()), *flags]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        _wait_until_serving(folder / "log", process)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait_until_serving(log: Path, process: "subprocess.Popen[bytes]") -> None:
    until = time.monotonic() + _UP_WITHIN_S
    while b"serving client traffic" not in log.read_bytes():
        if process.poll() is not None or time.monotonic() > until:
            raise AssertionError(log.read_text()[-2_000:])
        time.sleep(0.05)  # poll: a log tells nobody that it has grown


def ask(port: int, path: str, question: dict[str, Any], token: str = "") -> dict[str, Any]:
    """One question to the JSON gateway, as an operator would put it."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("POST", f"/v3/{path}", json.dumps(question), {"Authorization": token} if token else {})
        response = connection.getresponse()
        content = response.read()
    except HTTPException as failed:
        raise AssertionError(f"{path}: {failed}") from failed
    finally:
        connection.close()
    assert response.status == 200, f"{path}: {content!r}"
    answer: dict[str, Any] = json.loads(content)
    return answer
