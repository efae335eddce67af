"""What the model knows of a system: facts of its capabilities, never its name."""

from dataclasses import dataclass
from functools import cache

from bench.hazards.traits import traits_of
from bench.simulator.world import NS_PER_MS
from bench.systems.registry import system
from bench.systems.wait import POLLING, Wait


@dataclass(frozen=True, slots=True)
class Kind:
    """How one system grants, ends and hands on its lock."""

    system: str
    lease: str  # what it belongs to: grant, session, none (the lock ends with its connection)
    by_client: bool  # whoever wants the key judges whether its lease is over
    by_wall: bool  # ... or its server does, by the wall clock; False: by one that no step moves
    nodes: int  # that hold a lease each and know nothing of the others; 1 where a cluster speaks with one voice
    members: int  # servers in all
    quorum: int
    token: bool
    token_first: bool  # the token is drawn in a round trip of its own, before the key is taken
    any_owner: bool  # a release deletes the key, whoever holds it
    keeps_data: bool  # what was granted outlives its servers' restart
    whole_s: bool  # its servers count a session's timeout in whole seconds
    grain_ns: int  # by how much a session outlives its timeout: half of what its designers allow
    poll_ns: int  # how often a waiter asks; 0: it is notified
    lossless: bool  # no grant is lost when another server takes over

    @property
    def independent(self) -> bool:
        """Do several servers grant, each for itself?"""
        return self.nodes > 1


@cache
def kind_of(name: str) -> Kind:
    """The kind of a system of the registry. Raises UnknownSystem."""
    entry, traits = system(name), traits_of(name)
    able = entry.client_class.capabilities
    wait = Wait.parse(entry.default_wait)
    session = able.lease_scope == "session"
    # A lease that may last a second longer is one that is counted in seconds.
    seconds, grain_ms = divmod(able.ttl_granularity_ms, 1_000)
    return Kind(
        system=name,
        lease=able.lease_scope,
        by_client=traits["judged_by_client"],
        by_wall=able.lease_clock == "wall",
        nodes=1 if traits["elects"] else able.nodes,
        members=able.nodes,
        quorum=1 if traits["elects"] else able.quorum,
        token=traits["token"],
        token_first=able.acquire_round_trips > 1 and not able.token_rises,
        any_owner="unsound release" in entry.tags,
        keeps_data=session or entry.server_variant.get("durability") == "always",
        whole_s=session and seconds > 0,
        grain_ns=grain_ms * NS_PER_MS // 2 if session else 0,
        poll_ns=int(wait.interval_ms * NS_PER_MS) if wait.strategy in POLLING else 0,
        lossless=traits["elects"],
    )
