"""The house's arrows point one way; a wrong import fails here with the line that made it."""

import ast
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"

# What each room may import from the others. A room that is not listed may import nothing of the house but `errors`.
MAY_IMPORT = {
    "systems": {"systems", "servers"},
    "servers": {"servers"},
    "records": {"records"},
    "jobs": {"jobs", "systems", "servers", "records"},
    "load": {"load", "jobs", "systems", "servers", "records"},
    "conformance": {"conformance", "systems", "servers"},
    "hazards": {"hazards", "systems", "servers", "records"},
    "simulator": {"simulator", "hazards", "systems", "records"},
    "analysis": {"analysis", "records"},
    "report": {"report", "analysis", "records"},
    "campaign": {"campaign", "load", "hazards", "systems", "servers", "records", "analysis"},
    "calibrate": {"calibrate", "campaign", "load", "systems", "servers", "records", "analysis"},
    "commands": {
        *("commands", "calibrate", "campaign", "conformance", "hazards", "load", "systems", "servers", "records"),
        *("analysis", "report", "simulator"),
    },
    "frames": {"report", "analysis", "records"},  # tables for people's own plots: see its first lines
    "cli": {"commands"},
    "__main__": {"cli"},
    "errors": set(),
    "__init__": set(),
}
# The simulator plays the lab's scenarios on a model: it takes the scenarios, the rule of the resource and the checker
# from the lab, and nothing that starts a process or a server.
OF_THE_LAB = {"scenario", "traits", "checker", "resources"}
# The same within bench/servers; what lies beside the three is theirs to use, and uses none of them.
SERVER_ROOMS = {
    "installing": {"installing"},
    "running": {"running"},
    "breaking": {"breaking", "running"},
    "beside": set(),
}
# Which systems there are, and what each states of itself: names, titles, looks, sets of servers. All rooms ask it
# instead of naming a system. The registry imports no client library.
ALLOWED_BESIDE = {"bench.systems.registry": {"analysis", "report", "servers"}}
LOAD_ONLY = {"locust", "gevent"}
# gRPC must be initialised for gevent before the first channel: the etcd adapter does it where gevent is there already.
# The suite has clients whose greenlets are killed, in processes of their own.
GUARDED = {BENCH / "systems/etcd/grpc_under_gevent.py", BENCH / "conformance/greenlet_actor.py"}
CLIENT_LIBRARIES = {"redis", "kazoo", "etcd3", "grpc", "psycopg", "boto3", "botocore"}
MAY_USE_CLIENTS = (BENCH / "systems", BENCH / "load", BENCH / "hazards/resources")


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Line and module of every import, also those inside functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.lineno, node.module
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def room_of(path: Path) -> str:
    return path.relative_to(BENCH).parts[0].removesuffix(".py")


def wrong_arrows(path: Path, source: str) -> list[str]:
    room = room_of(path)
    found = []
    for line, module in imports(source):
        parts = module.split(".")
        inward = parts[0] == "bench" and len(parts) > 1
        allowed = any(module.startswith(name) and room in rooms for name, rooms in ALLOWED_BESIDE.items())
        if inward and not allowed and parts[1] not in MAY_IMPORT[room] | {"errors", "__version__"}:
            found.append(f"{path.relative_to(ROOT)}:{line}: {room} must not import {module}")
        if room == "simulator" and module.startswith("bench.hazards.") and parts[2] not in OF_THE_LAB:
            found.append(f"{path.relative_to(ROOT)}:{line}: the simulator must not import {module}")
        if room == "servers" and module.startswith("bench.servers."):
            inner = path.relative_to(BENCH / "servers").parts[0]
            if parts[2] in SERVER_ROOMS and parts[2] not in SERVER_ROOMS.get(inner, SERVER_ROOMS["beside"]):
                found.append(f"{path.relative_to(ROOT)}:{line}: servers/{inner} must not import {module}")
        if parts[0] == "tests":
            found.append(f"{path.relative_to(ROOT)}:{line}: tests are not installed: {module}")
        if parts[0] in LOAD_ONLY and room != "load" and path not in GUARDED:
            found.append(f"{path.relative_to(ROOT)}:{line}: only bench/load imports {parts[0]}")
        if parts[0] in CLIENT_LIBRARIES and not any(path.is_relative_to(place) for place in MAY_USE_CLIENTS):
            found.append(f"{path.relative_to(ROOT)}:{line}: only adapters and resources import {parts[0]}")
    return found


def test_arrows_point_one_way() -> None:
    sources = sorted(BENCH.rglob("*.py"))
    assert len(sources) > 40, "the house is not where this test looks for it"
    assert not [wrong for path in sources for wrong in wrong_arrows(path, path.read_text())]


@pytest.mark.parametrize(
    ("place", "source"),
    [
        ("systems/redis/lock.py", "from bench.load.recorder import Recorder"),
        ("analysis/rows.py", "def f():\n    from bench.servers.running.supervisor import Supervisor"),
        ("report/export.py", "import gevent"),
        ("servers/process.py", "from locust import User"),
        ("records/store.py", "from bench import systems"),
        ("servers/running/supervisor.py", "from bench.servers.breaking import freezing"),
        ("servers/process.py", "from bench.servers.running.state import exclusive"),
        ("report/export.py", "import redis"),
        ("conformance/harness.py", "from tests.processes import running_in"),
        ("hazards/stage.py", "import redis"),
        ("simulator/play.py", "from bench.hazards.stage import Stage"),
        ("simulator/play.py", "from bench.report.formats import ms"),
    ],
)
def test_a_wrong_arrow_is_seen(place: str, source: str) -> None:
    assert wrong_arrows(BENCH / place, source)


def test_notebooks_read_and_show_only() -> None:
    notebooks = sorted((ROOT / "notebooks").glob("*.ipynb"))
    assert notebooks
    for path in notebooks:
        cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
        modules = [module for cell in cells for _, module in imports("".join(cell["source"]))]
        rooms = {module.split(".")[1] for module in modules if module.startswith("bench.")}
        assert rooms <= {"analysis", "report", "records", "simulator", "frames"}, f"{path.name} imports {rooms}"
        assert not {module.split(".")[0] for module in modules} & (LOAD_ONLY | CLIENT_LIBRARIES), path.name
        assert all(cell["execution_count"] is None and not cell["outputs"] for cell in cells), f"clear {path.name}"


def test_the_command_starts_without_what_only_some_of_it_needs() -> None:
    """They take a second of processor time: a command imports what computes, draws or drives load when it does that."""
    heavy = {"pandas", "scipy", "pyarrow", "matplotlib", "IPython", "nbconvert", *LOAD_ONLY, *CLIENT_LIBRARIES}
    told = "import sys, bench.cli; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", told], capture_output=True, text=True, timeout=60, check=True)
    assert heavy.isdisjoint(done.stdout.split())
