"""The files of a hazard campaign: what was done to real lock holders, and who wrote what.

    data/runs/<campaign_id>/hazards.json       HazardCampaign: what was planned, in its seeded order
    data/runs/<campaign_id>/environment.json   Environment, as in a campaign of load
    data/runs/<campaign_id>/<run_id>/plan.json      HazardPlan     written before the first actor starts
                                     history.json   HazardHistory  written when the last trial has ended
                                     checked.json   HazardChecked  written after the history checker
                                     failed.json    Failed         instead of the two above
                                     log.txt        what actors and servers printed

A run is one scenario on one system with one set of parameters, once: the unit of replication. It holds one or more
trials, each with a history of its own. All instants are nanoseconds of CLOCK_BOOTTIME: one clock for all processes of
a machine, unmoved by any step of the wall clock, so that what two actors saw may be put in one order.

Histories follow Jepsen's rule: saved before they are judged, so that a better judge can be put on old histories.
"""

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from bench.records.schema import SCHEMA_VERSION, Facts

Scalar = bool | int | float | str


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class HazardPlan(_Record):
    """One scenario on one system with one set of parameters, once."""

    schema_version: int = SCHEMA_VERSION
    campaign_id: str
    run_id: str
    position: int  # in the campaign's seeded order, from 0
    scenario: str  # the name of its file in bench/hazards/scenarios
    system: str  # a name of the registry
    parameters: dict[str, Scalar]  # all of the scenario's, units last in their names
    repetition: int  # from 1
    seed: int


class HazardCampaign(_Record):
    """A set of hazard runs in one seeded order."""

    schema_version: int = SCHEMA_VERSION
    campaign_id: str
    created_at: str  # ISO 8601, UTC
    mode: str  # quick, full, custom
    seed: int
    lockbench_version: str
    git_commit: str
    runs: tuple[HazardPlan, ...]


class EndOfBelief(StrEnum):
    """How a client came to know that it does not hold the key, or why it could not."""

    RELEASED = "released"  # it sent a release: it stops believing then, whatever the answer
    LOST = "lost"  # its adapter reported it: the lease ran out on its clock, the session died, a renewal was refused
    REFUSED = "refused"  # the resource refused its token
    KILLED = "killed"  # it was killed: the dead believe nothing
    NONE = ""  # it believed to the end of the trial


class Ask(_Record):
    """One acquire, from its sending to its answer."""

    actor: str
    key: str
    asked_ns: int
    answered_ns: int | None  # None: never answered
    outcome: str  # of the adapter contract: acquired, busy, timeout, lost, unknown, error; "" without an answer
    reason: str = ""
    waited: bool = True  # did it ask to wait (False: it tried once)


class Belief(_Record):
    """The time in which one client believes that it holds one key: from learning of it until it learns otherwise."""

    actor: str
    key: str
    grant: str  # the owner value: no other grant has it
    token: int | None  # the fencing token, where the system has one
    asked_ns: int  # the acquire was sent
    from_ns: int  # the client learned of the grant
    until_ns: int | None  # it knew that it does not hold the key; None: it believed to the end of the trial
    ended_by: EndOfBelief
    ttl_ms: int
    lease_until_ns: int | None = None  # the last deadline the adapter gave, on the client's clock; None: no lease
    renewals: int = 0


class Write(_Record):
    """One attempt to write the resource, as its writer and the resource saw it."""

    actor: str
    key: str
    grant: str  # under which the writer wrote
    token: int | None
    sent_ns: int
    answered_ns: int | None  # None: never answered
    fence: bool  # did the resource check the token
    order: int  # the resource's own order over all attempts, from 1; 0: without an answer
    accepted: bool | None  # None: without an answer
    highest_before: int  # the highest token the resource had accepted before this attempt; 0: none
    value_read: int  # what the writer had read under its grant, and built on
    value_before: int  # what stood in the resource when the attempt came
    value_written: int
    reason: str = ""  # of an attempt without a verdict: what went wrong, in words
    judged_ns: int | None = None  # when the resource judged it; None: without an answer, or not recorded


class Presentation(_Record):
    """One token shown to the resource in one step with a read: from then on the resource refuses older ones."""

    actor: str
    key: str
    grant: str  # under which it was shown
    token: int | None
    sent_ns: int
    answered_ns: int | None  # None: never answered
    fence: bool  # did the resource check the token
    order: int  # the resource's own, over writes and presentations, from 1; 0: without an answer
    accepted: bool | None  # None: without an answer
    highest_before: int  # the highest token the resource had accepted before; 0: none
    value_read: int  # what stood in the resource; 0: without an answer
    reason: str = ""  # where there is no verdict: what went wrong, in words
    judged_ns: int | None = None  # when the resource judged it; None: without an answer, or not recorded


class FaultWindow(_Record):
    """One fault with its real start and end. `confirmed` says how it was seen to be in force, never assumed."""

    kind: str  # pause, kill, partition, clock_jump, restart, failover, nodes, stall, swallow_reply, ...
    target: str  # an actor or a server node
    began_ns: int  # in force from here, as confirmed
    ended_ns: int | None  # None: it lasts, or is an instant
    confirmed: str
    amount: float | None = None
    unit: str = ""


class Trial(_Record):
    """One staging of a scenario: its actors' history, and what was measured beside it."""

    name: str
    parameters: dict[str, Scalar] = Field(default_factory=dict)  # those by which the trials of a run differ
    ttl_ms: int
    began_ns: int
    ended_ns: int
    asks: tuple[Ask, ...] = ()
    beliefs: tuple[Belief, ...] = ()
    writes: tuple[Write, ...] = ()
    presentations: tuple[Presentation, ...] = ()  # none where tokens are shown with writes only
    faults: tuple[FaultWindow, ...] = ()
    measures: dict[str, float] = Field(default_factory=dict)  # units last in names
    notes: dict[str, str] = Field(default_factory=dict)  # what a system reported, in words


class HazardHistory(_Record):
    """All trials of a run."""

    schema_version: int = SCHEMA_VERSION
    started_at: str  # ISO 8601, UTC
    trials: tuple[Trial, ...]
    facts: Facts | None  # what the lock's servers reported before the first trial; None: there are none
    source: str  # native, or none
    capabilities: dict[str, str] = Field(default_factory=dict)  # the adapter's, as in `Measured`
    tags: tuple[str, ...] = ()
    staging: tuple[str, ...] = ()  # what was not as staged (a fault not confirmed, an actor that died by itself): void


class Overlap(_Record):
    """Two clients believed that they hold one key, at the same time: the hazard itself."""

    key: str
    earlier: str  # the grant that was reported first
    later: str
    from_ns: int
    until_ns: int  # the end of the trial where both believed to the end

    @property
    def seconds(self) -> float:
        return (self.until_ns - self.from_ns) / 1e9


class StaleWrite(_Record):
    """A write that came after a later grant of the key was reported: sent after it, or only judged after it."""

    grant: str
    order: int
    accepted: bool | None
    by_token: bool  # its token was below the highest that the resource had accepted: a fence could see it
    read_by_next: bool = False  # accepted, and read by every later holder as it presented its token: nothing was lost


class TokenFault(_Record):
    """Two grants of one key, one wholly after the other, whose tokens do not rise."""

    key: str
    earlier: str
    later: str
    earlier_token: int
    later_token: int


class TrialChecked(_Record):
    """What the history checker found in one trial. All counts are over the whole trial."""

    name: str
    parameters: dict[str, Scalar] = Field(default_factory=dict)
    grants: int
    writes: int
    overlaps: tuple[Overlap, ...]
    overlap_ns: int  # time in which two or more clients believed in one key: the union, so that no instant counts twice
    stale_writes: tuple[StaleWrite, ...]
    overtaken_writes: tuple[StaleWrite, ...] = ()  # sent before a later grant was reported, and judged after it
    lost_updates: int  # accepted writes that overwrote a value that their writer had not read
    token_pairs: int  # pairs of neighbouring grants whose order the instants prove: the n behind token_faults
    token_faults: tuple[TokenFault, ...]
    fence_faults: int  # writes and presentations judged against the resource's own rule: refuse token < highest
    never_served: int  # waiters without an answer, or that timed out although the key was free all the while
    unknown: int  # asks that ended `unknown`, and writes and presentations without an answer

    @property
    def stale_accepted(self) -> int:
        return sum(one.accepted is True for one in self.stale_writes)

    @property
    def stale_refused(self) -> int:
        return sum(one.accepted is False for one in self.stale_writes)

    @property
    def late_read(self) -> int:
        """Late writes, stale or overtaken, that did no harm: whoever held the key after them had read them."""
        return sum(one.read_by_next for one in (*self.stale_writes, *self.overtaken_writes))

    @property
    def overtaken_accepted(self) -> int:
        return sum(one.accepted is True for one in self.overtaken_writes)

    @property
    def overtaken_refused(self) -> int:
        return sum(one.accepted is False for one in self.overtaken_writes)


class HazardChecked(_Record):
    """The judgement of a run's history."""

    schema_version: int = SCHEMA_VERSION
    trials: tuple[TrialChecked, ...]
    staging: tuple[str, ...] = ()  # what was not as staged (a fault not confirmed, an actor that died by itself): void
