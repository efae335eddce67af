"""Our own ZooKeeper ensemble: three servers of Debian's `zookeeper` package (or of an Apache release) under Java."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import psutil

from bench.servers.endpoint import Endpoint
from bench.servers.spec import Found, Launch, Missing, Node, NotReady, ServerSpec, ToldTime, WrongServer
from bench.servers.surroundings import READ_BY_JAVA, environment_without
from bench.systems.identity import seen_by
from bench.systems.zookeeper import clock, leader, link, upkeep, view
from bench.systems.zookeeper.four_letter import NotAllowed, Unanswered, ask, fields
from bench.systems.zookeeper.lock import ZooKeeperLock
from bench.systems.zookeeper.session import TICK_MS

HOME_VARIABLE = "LOCKBENCH_ZOOKEEPER_HOME"  # an unpacked Apache release, used instead of the Debian package
_DEBIAN_JARS = Path("/usr/share/java")
_ANSWER_WITHIN_S = 2.0

# Java reads zoo.cfg as Latin-1, a backslash in it as an escape, and cannot name a folder that is not in the locale's
# letters. So its folder is named by way of the one that it was started in.
_STARTED_IN = "/proc/self/cwd"

# A follower that lost its leader answers pings for syncLimit ticks more, so a session shorter than that can end at the
# leader while its client still believes in it. 15 ticks (3 s) are as few as a busy two-core machine bears.
_CONFIG = """\
tickTime={tick_ms}
initLimit=50
syncLimit=15
minSessionTimeout={session_ms_min}
maxSessionTimeout=600000
dataDir={directory}
clientPort={client}
clientPortAddress=127.0.0.1
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=conf,mntr,ruok,srvr,stat
autopurge.purgeInterval=1
forceSync=yes
"""

_LOGBACK = """\
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d %p %logger{0}: %m%n</pattern></encoder>
  </appender>
  <root level="WARN"><appender-ref ref="OUT"/></root>
</configuration>
"""

_LOG4J = """\
log4j.rootLogger=WARN, OUT
log4j.appender.OUT=org.apache.log4j.ConsoleAppender
log4j.appender.OUT.layout=org.apache.log4j.PatternLayout
log4j.appender.OUT.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


class ZooKeeperServers(ServerSpec):
    """An ensemble of three, every transaction forced to disk by a majority before it is answered."""

    name: ClassVar[str] = "zookeeper"
    title: ClassVar[str] = "ZooKeeper"
    node_names: ClassVar[tuple[str, ...]] = ("zookeeper-1", "zookeeper-2", "zookeeper-3")
    port_names: ClassVar[tuple[str, ...]] = ("client", "peer", "election")
    peer_port_names: ClassVar[tuple[str, ...]] = ("peer", "election")
    # The library has the jars; the package `zookeeper` adds scripts that are not used here, and a desktop Java.
    debian_packages: ClassVar[tuple[str, ...]] = ("libzookeeper-java", "default-jre-headless")
    compose_services: ClassVar[tuple[str, ...]] = ("zookeeper-1", "zookeeper-2", "zookeeper-3")
    compose_port: ClassVar[int] = 2181
    url_rules = link.URL_RULES
    disk: ClassVar[tuple[str, ...] | None] = ("version-2",)
    elects: ClassVar[bool] = True
    program_variable: ClassVar[str] = HOME_VARIABLE
    ready_within_s: ClassVar[float] = 60.0  # three Java machines starting at once on two cores

    def find(self) -> Found | Missing:
        """Java from JAVA_HOME or PATH; the jars from LOCKBENCH_ZOOKEEPER_HOME or from the Debian package."""
        install = f"apt-get install --no-install-recommends {' '.join(self.debian_packages)}"
        java = _java()
        if java is None:
            return Missing("java (JAVA_HOME is not set to one, and none is on PATH)", install)
        home = os.environ.get(HOME_VARIABLE)
        jars = Path(home) / "lib" if home else _DEBIAN_JARS
        release = _release(jars)
        if release is None:
            what = f"zookeeper-<version>.jar in {jars}"
            return Missing(f"{what} ({HOME_VARIABLE} names it)" if home else what, install)
        try:
            plain = environment_without(READ_BY_JAVA)
            ask_version = [java, "-version"]
            asked = subprocess.run(ask_version, env=plain, capture_output=True, text=True, timeout=20, check=True)
        except (OSError, subprocess.SubprocessError) as failure:
            return Missing(f"a Java that runs ({java} -version: {failure})", install)
        # Debian's jar names everything it needs in its manifest, except where its log goes.
        debian_path = f"{jars / 'zookeeper.jar'}:{jars / 'slf4j-simple.jar'}"
        classpath = f"{jars}/*" if home else debian_path
        return Found({"java": java, "classpath": classpath}, f"{release} on {asked.stderr.splitlines()[0]}")

    def prepare(self, nodes: Sequence[Node], found: Found) -> Sequence[Launch]:
        """Write `myid`, `zoo.cfg` and the logging of either kind of release into each node's data directory."""
        launches = []
        for number, node in enumerate(nodes, 1):
            entries = (_entry(number, node, other, one) for other, one in enumerate(nodes, 1))
            launches.append(self._prepare_one(node, number, "".join(entries), found))
        return launches

    def _prepare_one(self, node: Node, number: int, members: str, found: Found) -> Launch:
        directory = node.directory
        folder = f"{_STARTED_IN}/{directory.name}"
        config = _CONFIG.format(
            tick_ms=TICK_MS, session_ms_min=2 * TICK_MS, directory=folder, client=node.ports["client"]
        )
        (directory / "myid").write_text(f"{number}\n")
        (directory / "zoo.cfg").write_text(config + members)
        (directory / "logback.xml").write_text(_LOGBACK)
        (directory / "log4j.properties").write_text(_LOG4J)
        return Launch(
            (
                found.programs["java"],
                "-Xms64m",
                "-Xmx256m",
                "-XX:+UseSerialGC",  # a heap this small, on cores this few, gains nothing from parallel collectors
                "-Dzookeeper.jmx.log4j.disable=true",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "-Dorg.slf4j.simpleLogger.showDateTime=true",
                "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
                "-Dorg.slf4j.simpleLogger.logFile=System.out",
                f"-Dlogback.configurationFile={folder}/logback.xml",
                f"-Dlog4j.configuration=file:{folder}/log4j.properties",
                "-cp",
                found.programs["classpath"],
                "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                f"{folder}/zoo.cfg",
            ),
            hidden=READ_BY_JAVA,
        )

    def called_at(self, node: Node) -> tuple[str, int] | None:
        """Behind lines only the server with the higher number calls (see `_entry`), and only while it looks for a
        leader: one that came up after the others had elected theirs would never be called."""
        return (node.host, node.ports["election"]) if node.peer_host else None

    def prove(self, node: Node, pid: int | None) -> str:
        """The server's own number and data directory, compared with the node's when we started the process."""
        try:
            conf = fields(ask(node.host, node.port, "conf", _ANSWER_WITHIN_S))
        except NotAllowed as refusal:
            if pid is not None:
                raise WrongServer(f"{refusal}; {node.name} would have answered") from refusal
            return f"ZooKeeper at {node.host}:{node.port}, which allows no conf"
        except (OSError, Unanswered) as silence:
            raise NotReady(f"{node.name}: {silence}") from silence
        if not {"serverId", "dataDir"} <= conf.keys():
            raise WrongServer(f"{node.host}:{node.port} does not answer as ZooKeeper does")
        if pid is not None:
            _check_ours(node, pid, conf)
            conf = {**conf, "dataDir": os.fsencode(_folder(conf, pid)).decode("utf-8", "replace")}
        return f"myid={conf['serverId']} dataDir={conf['dataDir']}"

    def identify(self, endpoint: Endpoint) -> str:
        return seen_by(ZooKeeperLock, endpoint)

    def settle(self, nodes: Sequence[Node]) -> None:
        """One leader with every other node in step with it: a late follower would change the numbers half-way."""
        states = []
        for node in nodes:
            try:
                monitor = fields(ask(node.host, node.port, "mntr", _ANSWER_WITHIN_S))
            except NotAllowed:
                return  # an ensemble of the user's own that does not tell; sessions will show whether it serves
            except (OSError, Unanswered) as silence:
                raise NotReady(f"{node.name}: {silence}") from silence
            states.append(monitor["zk_server_state"])
            if states[-1] == "leader" and float(monitor["zk_synced_followers"]) < len(nodes) - 1:
                raise NotReady(f"the leader {node.name} has {monitor['zk_synced_followers']} followers in step")
        if len(nodes) > 1 and sorted(states) != ["follower"] * (len(nodes) - 1) + ["leader"]:
            raise NotReady(f"no leader with {len(nodes) - 1} followers yet: {', '.join(states)}")

    def leader(self, nodes: Sequence[Node]) -> str:
        return leader.find(nodes, self.quorum)

    def tell_time(self, node: Node, log_path: Path) -> ToldTime:
        return clock.tell(node, log_path)

    def view(self, endpoint: Endpoint) -> Mapping[str, float]:
        return view.read(endpoint)

    def erase(self, endpoint: Endpoint, key: str) -> str:
        return upkeep.erase(endpoint, key)

    def endpoint(self, nodes: Sequence[Node]) -> Endpoint:
        return Endpoint(tuple((node.host, node.port) for node in nodes))

    def native_durability(self) -> Mapping[str, str]:
        return {"forceSync": "yes"}


def _entry(own: int, node: Node, number: int, one: Node) -> str:
    """How the configuration of server `own` tells where server `number` is.

    Of two servers the one with the higher number opens the connection for elections; where the other asks first, that
    one is called back at the address where it listens, past any delay line. So behind lines only the higher one may
    ask: for the other there is a port at which nobody listens.
    """
    if number == own:
        return f"server.{number}={node.host}:{node.ports['peer']}:{node.ports['election']}\n"
    election = one.ports["client" if one.peer_host and own < number else "election"]
    return f"server.{number}={one.reached_at}:{one.ports['peer']}:{election}\n"


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and (program := shutil.which("java", path=str(Path(home) / "bin"))):
        return program
    return shutil.which("java")


def _release(jars: Path) -> str | None:
    """`ZooKeeper 3.8.0` from the name of the server's jar; None when there is none."""
    for jar in sorted(jars.glob("zookeeper-[0-9]*.jar")):
        return f"ZooKeeper {jar.stem.removeprefix('zookeeper-')}"
    return None


def _folder(conf: Mapping[str, str], pid: int) -> Path:
    """The folder that process `pid` works in, whatever its name is made of."""
    folder = Path(conf["dataDir"].replace("/proc/self/", f"/proc/{pid}/", 1)).resolve()
    return folder.parent if folder.name.startswith("version-") else folder


def _check_ours(node: Node, pid: int, conf: Mapping[str, str]) -> None:
    """Raise WrongServer unless the answer came from process `pid` and from this node's own folder."""
    number = (node.directory / "myid").read_text().strip()
    if conf["serverId"] != number or _folder(conf, pid) != node.directory.resolve():
        raise WrongServer(
            f"port {node.port} is answered by ZooKeeper myid={conf['serverId']} dataDir={conf['dataDir']}, "
            f"not by {node.name} (myid={number} dataDir={node.directory}): stop it, or choose another port"
        )
    try:
        listening = {
            connection.laddr.port
            for connection in psutil.Process(pid).net_connections("tcp")
            if connection.status == psutil.CONN_LISTEN
        }
    except psutil.NoSuchProcess as gone:
        raise WrongServer(f"port {node.port} is answered, but {node.name} (pid {pid}) has ended") from gone
    if node.port not in listening:
        raise WrongServer(f"port {node.port} is answered by another process than {node.name} (pid {pid})")
