"""What an ensemble says of itself: by four-letter words, and by the configuration that every session may read."""

import re
import ssl
from collections.abc import Mapping

from kazoo.exceptions import KazooException

from bench.systems.base import ServerFacts
from bench.systems.zookeeper.four_letter import NotAllowed, ask, fields
from bench.systems.zookeeper.session import Session

NOT_REPORTED = "not reported"
_ON_LOOPBACK = re.compile(r"=127(?:\.\d+){3}:(\d+):\d+:")  # server.1=host:quorum port:election port:role
_CONFIG = "/zookeeper/config"  # since 3.5; each member's line, in the words of zoo.cfg


def read_facts(session: Session, timeout_s: float) -> ServerFacts:
    """What the server in use says. Raises OSError when it cannot be reached.

    A foreign ensemble may allow only `srvr`; what it does not report is "not reported", never a guess.
    """
    srvr, conf, mntr = (_answer(session.address, word, timeout_s, session.encrypt) for word in ("srvr", "conf", "mntr"))
    members = _members(session)
    # No command shows forceSync. The server counts the fsyncs of its log, and with forceSync=no it does none.
    synced = mntr.get("zk_cnt_fsynctime")
    return ServerFacts(
        version=srvr.get("Zookeeper version", NOT_REPORTED).partition("-")[0].partition(",")[0],
        # The same from every member, since a client may be connected to any. A server alone has but its own folder.
        identity=", ".join(members) or conf.get("dataDir", f"{NOT_REPORTED} (neither {_CONFIG} nor conf)"),
        durability={
            "forceSync": NOT_REPORTED if synced is None else "yes" if int(synced) else "no",
            "tickTime": conf.get("tickTime", NOT_REPORTED),
            "syncLimit": conf.get("syncLimit", NOT_REPORTED),
        },
        nodes=len(members) or (1 if srvr.get("Mode") == "standalone" else None),
    )


def _answer(address: tuple[str, int], word: str, timeout_s: float, encrypt: ssl.SSLContext | None) -> Mapping[str, str]:
    try:
        return fields(ask(*address, word, timeout_s, encrypt))
    except NotAllowed:
        return {}


def _members(session: Session) -> list[str]:
    """All servers with their peer addresses, as `server.1=…`; none where this is not reported, or no ensemble."""
    try:
        data, _ = session.ask(lambda: session.kazoo.get_async(_CONFIG))
    except KazooException:
        return []
    return sorted(_alike(line) for line in data.decode().splitlines() if line.startswith("server."))


def _alike(member: str) -> str:
    """The same from every server: behind delay lines each knows the others by other addresses of loopback, and those
    that it may not ask by another port for elections."""
    return _ON_LOOPBACK.sub(r"=127.0.0.1:\1:", member)
