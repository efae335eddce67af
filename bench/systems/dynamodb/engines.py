"""What serves the DynamoDB API here: DynamoDB Local from a folder that the user names, else dynalite from npm."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from bench.servers.installing.npm import NODE_OLDEST, installed_version
from bench.servers.spec import Found, Launch, Missing, Node
from bench.servers.surroundings import READ_BY_JAVA

DYNALITE = "dynalite@3.2.2"  # the newest that runs on Debian 12's Node.js 18
CHECKOUT = Path(__file__).resolve().parents[3]
STORAGE = "memory"
FOLDER_VARIABLE = "LOCKBENCH_DYNAMODB_LOCAL_DIR"  # an unpacked DynamoDB Local, used instead of dynalite
# Instead of dynalite's own command line. That listens on every address of the machine, and nobody needs a password; and
# a client that is cut off while it sends ends it, since dynalite throws the connection's error at the whole process.
_SERVE = """
const [folder, host, port] = process.argv.slice(1);
process.on("uncaughtException", (error) => {
  console.error(error);
  if (error.code !== "ECONNRESET") process.exit(1);
});
require(folder)().listen(Number(port), host, () => console.log(`dynalite listens at ${host}:${port}`));
"""


def find() -> Found | Missing:
    """DynamoDB Local where LOCKBENCH_DYNAMODB_LOCAL_DIR names its folder, else dynalite."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return _find_dynamodb_local(Path(folder).resolve()) if folder else _find_dynalite()


def launch(node: Node, found: Found) -> Launch:
    """How to start the engine that was found. It keeps everything in memory: a restart starts afresh."""
    port = str(node.port)
    if "dynalite" in found.programs:
        return Launch(
            (found.programs["node"], "-e", _SERVE, found.programs["dynalite"], node.host, port), hidden=("NODE_",)
        )
    folder = found.programs["dynamodb-local"]
    libraries, jar = f"-Djava.library.path={folder}/DynamoDBLocal_lib", f"{folder}/DynamoDBLocal.jar"
    argv = (found.programs["java"], libraries, "-jar", jar, "-inMemory", "-sharedDb", "-port", port)
    # By variable, not by option: older releases refuse an option that they do not know.
    return Launch(argv, env={"DDB_LOCAL_TELEMETRY": "0"}, hidden=READ_BY_JAVA)


def engine_of(found: Found) -> str:
    """`dynalite` or `dynamodb-local`."""
    return "dynalite" if "dynalite" in found.programs else "dynamodb-local"


def _find_dynamodb_local(folder: Path) -> Found | Missing:
    if not (folder / "DynamoDBLocal.jar").is_file():
        return Missing(
            f"DynamoDBLocal.jar in {folder} (where {FOLDER_VARIABLE} points)",
            f"unpack DynamoDB Local there, or unset {FOLDER_VARIABLE} to use dynalite",
        )
    java = _program("java")
    if java is None:
        return Missing("Java, to run DynamoDB Local", "sudo apt-get install default-jre-headless")
    return Found({"java": java, "dynamodb-local": str(folder)}, _local_version(folder))


def _find_dynalite() -> Found | Missing:
    node = _program("node")
    if node is None or _node_major(node) < NODE_OLDEST:
        return Missing(f"Node.js {NODE_OLDEST} or newer, to run dynalite", "sudo apt-get install nodejs npm")
    for modules in _module_folders():
        version = installed_version(modules.parent, "dynalite")
        if version is not None:
            return Found({"node": node, "dynalite": str(modules / "dynalite")}, version)
    home = Path(os.environ.get("LOCKBENCH_HOME") or ".lockbench")
    return Missing("dynalite, a server of the DynamoDB API", f"npm install --prefix {home / 'npm'} {DYNALITE}")


def _module_folders() -> Iterator[Path]:
    """`node_modules` folders that may have dynalite: the home's, the checkout's, that of a `dynalite` in the path.

    The checkout's too, since LOCKBENCH_HOME moves running servers, and programs need not be installed again for it.
    """
    yield Path(os.environ.get("LOCKBENCH_HOME") or ".lockbench").absolute() / "npm" / "node_modules"
    yield CHECKOUT / ".lockbench" / "npm" / "node_modules"
    on_path = shutil.which("dynalite")
    if on_path is not None:
        yield Path(on_path).resolve().parent.parent  # node_modules/dynalite/cli.js


def _program(name: str) -> str | None:
    beside_python = Path(sys.prefix) / "bin" / name  # conda's, where the environment is not activated
    return shutil.which(name) or (str(beside_python) if beside_python.is_file() else None)


def _node_major(node: str) -> int:
    version = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=False).stdout
    match = re.match(r"v(\d+)\.", version)
    return int(match[1]) if match else 0


def _local_version(folder: Path) -> str:
    """DynamoDB Local has no option that tells its version; its folder's library names it where it names anything."""
    names = (re.fullmatch(r"DynamoDBLocal-(\d[\w.]*)\.jar", path.name) for path in folder.rglob("*.jar"))
    return next((match[1] for match in names if match), "unknown version")
