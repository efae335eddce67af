"""The files of a campaign, as typed models. Every file carries `schema_version`; each file is written once, whole.

    data/runs/<campaign_id>/campaign.json      Campaign: what was planned, in its seeded order
    data/runs/<campaign_id>/environment.json   Environment: the machine, its libraries, its fdatasync and RTT
    data/runs/<campaign_id>/resumed-<n>.json   Resumed: the campaign was interrupted and went on; one file each time
    data/runs/<campaign_id>/added-<n>.json     Added: more runs were planned for it later; one file each time
    data/runs/<campaign_id>/<run_id>/plan.json      RunPlan       written before the load starts
                                     measured.json  Measured      written when the load has ended
                                     events.parquet one row an operation, see `EVENT_COLUMNS`
                                     checked.json   Checked       written after the self-checks
                                     failed.json    Failed        instead of the two above: why there is no measurement
                                     log.txt        the load generator's own output

A run's state is read from which of these exist, so a crash at any instant leaves a truthful folder: a plan alone is an
interrupted run. When a campaign goes on, the folder of such a run, or of a failed one, is renamed into
`<run_id>.interrupted-<n>` or `<run_id>.failed-<n>` and kept, and the run is measured anew under its own id.

Schema history. 1: first version.
"""

from enum import StrEnum
from statistics import median
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from bench.records.workload import Workload

SCHEMA_VERSION = 1
STRANGERS = "stranger_"  # begins the name of each phase of theirs in `Measured`
LIVE = "live"  # the mode of a campaign that is a session on the live page

# One row an operation in events.parquet; instants in nanoseconds of CLOCK_MONOTONIC (one clock for all processes of a
# machine). `acquired_ns` is when the acquire was answered, whatever the answer; `released_ns` is when the release was
# *sent* (the client stops believing before the server knows), 0 where nothing was held; `released` is the release's
# outcome, "" where nothing was held; `token` is -1 where there is none; `key` is the key's index.
EVENT_COLUMNS = (
    "client",
    "key",
    "intended_ns",
    "started_ns",
    "acquired_ns",
    "released_ns",
    "outcome",
    "released",
    "token",
)
# Columns that came later: older records lack them. `freed_ns` is when the release was answered, 0 where nothing was
# held.
ADDED_COLUMNS = ("freed_ns",)
# Rows of the same form, in a file of their own: operations that began before the window or after it, and ended within
# it or while those of the window still did. They are in no count and in no latency, but without them nobody can say who
# had a key before whom.
AROUND_FILE = "around.parquet"


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class RunPlan(_Record):
    """One workload on one system, once: the unit of replication."""

    schema_version: int = SCHEMA_VERSION
    campaign_id: str
    run_id: str
    position: int  # in the campaign's seeded order, from 0
    system: str  # a name of the registry
    workload: Workload
    repetition: int  # from 1
    seed: int


class Campaign(_Record):
    """A set of runs in one seeded, interleaved order. `seed` gives the order and every run's own seed."""

    schema_version: int = SCHEMA_VERSION
    campaign_id: str
    created_at: str  # ISO 8601, UTC
    mode: str  # quick, full, custom, live
    seed: int
    lockbench_version: str
    git_commit: str  # "unknown" outside a checkout; "-dirty" appended when the tree differs
    measuring_code: str = ""  # digest of the code that measures, see bench/campaign/measuring_code.py; "": not recorded
    pinned: bool = False  # generator and servers each on processors of their own
    runs: tuple[RunPlan, ...]


class Environment(_Record):
    """The machine and the software, captured before the first run. Latencies are measured, not looked up."""

    schema_version: int = SCHEMA_VERSION
    cpu_model: str
    cpu_count: int  # processors that we may run on
    cpu_limit: float | Literal["none", "not known"] = "not known"  # processors' worth of time that cgroups allow
    memory_bytes: int
    kernel: str
    governor: str  # "unknown" where the kernel does not say
    operating_system: str
    virtualization: str
    filesystem: str  # type of the filesystem that holds the servers' folders
    fdatasync_us_p50: float
    fdatasync_us_p99: float
    fdatasync_calls: int = 100  # behind the two above
    loopback_rtt_us_p50: float  # of the quickest burst
    loopback_rtt_us_bursts: tuple[float, ...] = ()  # the median of every burst; empty: not recorded
    python: str
    libraries: dict[str, str]
    load_average_1m: float


class Resumed(_Record):
    """A campaign went on after an interruption: when, and the machine as it was found and measured then."""

    schema_version: int = SCHEMA_VERSION
    resumed_at: str  # ISO 8601, UTC
    environment: Environment


class Facts(_Record):
    """What the server said of itself at one instant (see `ServerFacts` of the adapter contract)."""

    version: str
    identity: str
    durability: dict[str, str]
    nodes: int | None


class Added(_Record):
    """Runs that were added to a campaign after its own: when, which, and the machine as it was found then."""

    schema_version: int = SCHEMA_VERSION
    added_at: str  # ISO 8601, UTC
    environment: Environment
    runs: tuple[RunPlan, ...]


class WarmUp(_Record):
    """The load that a set of servers had before its first run, and whether its throughput had become flat by then."""

    round_s: float
    pairs_per_s: tuple[float, ...]  # by round, in their order
    change: float | None  # across the last rounds, as a share of their median; None: too few to tell
    flat: bool


class LadderStep(_Record):
    """A number of clients, and what they got: one step of the climb of a saturation run, before its window."""

    clients: int
    window_s: float
    pairs: int  # acquire and release
    acquire: str  # encoded histogram of the acquires that got the lock, ns; "" where none did

    @property
    def pairs_per_s(self) -> float:
        return self.pairs / self.window_s


class Struck(_Record):
    """What was done to servers or to a holder while the window was open, as confirmed.

    Instants are monotonic ns, as in the events.
    """

    kind: str  # of `bench.records.workload.FAULTS`
    target: str  # which nodes, or the holder
    window_opens_ns: int
    began_ns: int  # just before the first signal was sent: what follows may be its effect
    ended_ns: int | None  # when it was over: nodes went on, or served again; None: an instant, which has no end
    in_force_ns: int | None = None  # from when all of it was in force, without a doubt; None: not recorded
    confirmed: str


class RecordsServers(_Record):
    """The servers that kept the records of jobs, as facts of a lock's servers: for some ways, and systems, the same."""

    system: str
    source: str
    facts_before: Facts
    facts_after: Facts


class JobsDone(_Record):
    """What became of the jobs of a run: as their clients were answered, and as the table said when all had ended.

    Counted are all jobs, those of the warm-up too; `retries` alone are of the window.
    """

    way: str
    lines_of_code: int  # of the way's file when it ran
    acknowledged: int  # jobs that were answered to be done
    unknown: int  # jobs whose answer never came
    due: int  # writes that these must have left: one for each job, or for each message consumed
    writes: int  # as the table counted them
    lost_updates: int  # writes whose effect somebody overwrote
    missing: int  # acknowledged, and not in the table
    repeated: int  # messages' effects after the first
    retries: dict[str, int] = Field(default_factory=dict)  # how many jobs had so many


class LiveSession(_Record):
    """What sets a session on the live page apart from a planned run: people changed things while it ran."""

    beside: tuple[str, ...] = ()  # other systems under the same load, by the same load processes
    clients_changed: bool = False  # the plan has the most that there were
    processes_lost: int = 0  # load processes whose end was never reported
    cut_off: bool = False  # only its beginning is kept: there were more operations, or the disk was full


class RoundTrips(_Record):
    """Round trips of the probe (bench/records/round_trip.py): quartiles in µs, and how many there were."""

    us_p25: float
    us_p50: float
    us_p75: float
    samples: int


class NetworkMeasured(_Record):
    """A network that a run had, between clients and servers or between servers, as measured, beside what was asked.

    Round trips are whole ones, loopback and line included: what a client waits for. `before` and `after` the load have
    one for each line between clients and servers; between servers one, of a line beside the others, in the same process
    and with the same delay. What the lines themselves did is of the time of the load.
    """

    asked: str  # as in `Workload.network` or `Workload.peer_network`
    placement: str  # of the lines: on which processors, or "not pinned"
    added_us_asked: float  # by the delay alone, at the median: half of the jitter is in it
    direct: RoundTrips  # the same probe without a line
    undelayed: RoundTrips  # through the lines, with no delay: the rest is what a line itself costs
    before: tuple[RoundTrips, ...]
    after: tuple[RoundTrips, ...]
    messages: int
    messages_per_s: float
    messages_per_s_at_most: float  # one by one, of a whole processor: what the line is full at
    busy_share: float  # of a processor
    late_us_p50_alone: float | None  # how late messages went on while only the probe was there; None: none was held
    late_us_p50: float | None  # the same while the load was there
    late_us_p99: float | None

    @property
    def rtt_us(self) -> float:
        """The round trip that the run had: the median over its lines, before and after."""
        return median(one.us_p50 for one in (*self.before, *self.after))

    @property
    def overhead_us(self) -> float:
        """What a line costs by itself."""
        return self.undelayed.us_p50 - self.direct.us_p50

    @property
    def error_us(self) -> float:
        """Of the round trip that was added, over what was asked for."""
        return self.rtt_us - self.direct.us_p50 - self.added_us_asked


class PeerNetworkMeasured(NetworkMeasured):
    """The network between the servers of a run, and what is to be known of these for it to count.

    A client that is alone asks the leader: through any other server it would wait for one more round trip between them.
    """

    leader: str  # which node, before the load
    leader_after: str
    past_lines: tuple[str, ...] = ()  # connections between servers that no line carried, in words


class Carried(_Record):
    """What delay lines carried, each way. A message is what one read from a socket returned."""

    messages_to: int  # to the servers
    bytes_to: int
    messages_from: int
    bytes_from: int

    @property
    def messages(self) -> int:
        """Both ways."""
        return self.messages_to + self.messages_from

    @property
    def bytes(self) -> int:
        """Both ways."""
        return self.bytes_to + self.bytes_from


class TrafficPhase(_Record):
    """What was carried while something was done so many times, or nothing for so long."""

    seconds: float
    times: int = 0
    clients: Carried
    peers: Carried | None = None  # between servers; None: no lines there


class Traffic(_Record):
    """What goes over the wire for a lock, counted after the load by one client, or two, over lines without a delay.

    Phases: `open` (a client that holds nothing), `pairs` (acquire and release), `holder` (it holds a lock), `waiter`
    (it holds a lock and another waits for it), `hand_offs` (from a release to the waiter's grant).
    """

    ttl_ms: int  # of the sessions and leases: what keeps these alive is sent a few times in each
    wait: str
    phases: dict[str, TrafficPhase]


class Measured(_Record):
    """What the load generator saw between the end of the warm-up and the end of the window.

    `histograms` maps "phase/outcome" to an encoded histogram of nanoseconds (`bench.records.histogram`). Phases:
    `acquire` (started to answered), `response` (intended to answered), `hold`, `release`; plus `loop_lag/all` and the
    generator's own time between two operations of a client: `think/all` in a closed loop (end of one to the start of
    the next), `wake/all` in an open one (from when an arrival was due and its client free, to its start).
    Operations of strangers are in phases of their own, `stranger_acquire` and so on, and in `think/all` as all are.
    `counts` maps the same names to the number of operations; the two agree, and a check says so.
    """

    schema_version: int = SCHEMA_VERSION
    started_at: str
    window_s: float
    # First and last instant (ns of CLOCK_MONOTONIC) at which the windows of all load processes were open; None: older.
    window_ns: tuple[int, int] | None = None
    histograms: dict[str, str]
    counts: dict[str, int]
    aborted: int  # operations cut off by the end of the run: neither success nor failure, in no histogram
    arrivals: int = 0  # of the schedule within the window, counted from the schedule alone; 0 in a closed loop
    unsent: int = 0  # of these, those that no client was free to send before the window closed; in no histogram
    lost_updates: int = 0  # of counters that clients of one process raised while they held their keys
    jobs: JobsDone | None = None  # of a workload of jobs
    ladder: tuple[LadderStep, ...] = ()  # of a saturation run, from few clients to all of the plan's
    ladder_recorded: bool = False  # each operation of the climb was recorded and reported to Locust, as in the window
    climb_requests: int = 0  # acquires of the climb, which are in Locust's count and in no histogram above
    window_clients: int | None = None  # at work in its window: as many as had the best throughput on the ladder
    knee_clients: int | None = None  # the smallest step with at least 95 % of the ladder's best throughput
    generator_cpu_s: float  # user + system time of all load processes within the window
    generator_processes: int
    facts_before: Facts
    facts_after: Facts
    source: str  # where the servers came from: native, compose, url, none
    records_servers: RecordsServers | None = None  # of a workload of jobs; None there: not recorded
    locust_requests: int  # Locust's own count: must equal the sum of acquire counts and of the climb's
    # What the machine did meanwhile. None or empty: not recorded, as of servers that are no processes of this machine.
    machine_cpu_share: float | None = None  # busy share of all processors that the run may use
    cpu_share_by_processor: dict[str, float] = Field(default_factory=dict)  # the same of each, by its number
    cpu_s_by_process: dict[str, float] = Field(default_factory=dict)  # "generator", each node, "rest of the machine"
    placement: dict[str, str] = Field(default_factory=dict)  # "generator", "servers" -> processors, or "not pinned"
    warmed: dict[str, WarmUp] = Field(default_factory=dict)  # by set of servers
    errors: dict[str, int] = Field(default_factory=dict)  # reason -> count, the ten commonest
    # What the generator saw of itself before the window, for the self-checks: see bench/load/overlap.py and process.py.
    self_observations: dict[str, float] = Field(default_factory=dict)
    # The adapter's `Capabilities` as text, by field name ("" where it has none), plus `engine` where one system has
    # several. Kept with the run because reports read records only and must not import client libraries.
    capabilities: dict[str, str] = Field(default_factory=dict)
    # What the servers counted and timed of themselves over the run (`ServerSpec.view`, after less before): more than
    # the window, since connections and the warm-up are in it too. So a duration is asked as sum by count, both from
    # here. Empty where the servers tell nothing, or were started anew in between.
    server_view: dict[str, float] = Field(default_factory=dict)
    # The same over the window alone, and the seconds between the two looks. Empty: not recorded.
    window_view: dict[str, float] = Field(default_factory=dict)
    window_view_s: float = 0.0
    faults: tuple[Struck, ...] = ()
    network: NetworkMeasured | None = None  # between clients and servers, where one was asked for
    peer_network: PeerNetworkMeasured | None = None  # between servers, where one was asked for
    traffic: Traffic | None = None  # of one client alone, where the round trip asked for is 0 ms
    tags: tuple[str, ...] = ()  # the registry's tags at the time of the run, such as `emulator`
    live: LiveSession | None = None  # None: a planned run


class Severity(StrEnum):
    VOID = "void"  # the cell shows the reason instead of a number
    NOTE = "note"  # the number stands, with a footnote


class Check(_Record):
    """One self-check of a run: what it looked at, what it saw, and what a reader should think of it."""

    name: str
    passed: bool
    severity: Severity
    observed: str
    limit: str
    message: str  # one sentence for a footnote; says what to do next


class OverTime(_Record):
    """Acquires by when they were meant to start, since the window's opening: how long each took, and how it ended.

    Of those of one outcome that were meant to start within 10 ms, the slowest.
    """

    at_ms: tuple[float, ...]
    took_ms: tuple[float, ...]
    outcomes: tuple[str, ...]


class Checked(_Record):
    """The self-checks of a run, after the measurement."""

    schema_version: int = SCHEMA_VERSION
    checks: tuple[Check, ...]
    # What only the events tell, by the names of `bench.analysis.metrics`: kept here, since events may be left out of
    # what is committed. A name that is missing was not recorded, or does not apply.
    from_events: dict[str, float] = Field(default_factory=dict)
    # Of a run with a fault, likewise from the events: by the names of `bench.analysis.contention.availability`.
    availability: dict[str, float] = Field(default_factory=dict)
    over_time: OverTime | None = None

    @property
    def void(self) -> bool:
        return any(not check.passed and check.severity is Severity.VOID for check in self.checks)


class Failed(_Record):
    """Why a run has no measurement: `reason` is for people, `phase` says how far it came."""

    schema_version: int = SCHEMA_VERSION
    phase: str  # servers, load, checks
    reason: str


class RunState(StrEnum):
    INTERRUPTED = "interrupted"
    MEASURED = "measured"
    CHECKED = "checked"
    FAILED = "failed"
