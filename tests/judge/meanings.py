"""For each scenario: its fault, its harm, which trials could have shown it by their staging, and its lines."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.judge.moments import MS, believed_on_ms, together_since_ms, two_at_once_ns
from tests.judge.records import Fields, Trial
from tests.judge.waiting import never_served
from tests.judge.writes import accepted, is_stale, late, late_accepted, refused, stale, was_read

LOOKING_MS = 50.0  # of belief after the next grant, which come from how often an awake client looks
ASKING_MS = 100.0  # between the end of a lease and the next grant, which come from how often a waiter asks
A_HAIR = 1.01  # a stop of one TTL, as it was asked for, is over the TTL by a hair

Question = Callable[[Trial], bool]


# -- the harm --------------------------------------------------------------------------------------------------------


def refused_without_a_fence(trial: Trial) -> bool:
    """No fence was checked, and no late write was taken: the resource is the lock's own database."""
    if trial.fenced or not stale(trial) or late_accepted(trial) or accepted(stale(trial)):
        return False
    return refused(stale(trial)) > 0 or trial.measured("late_write_accepted") == 0.0


def _wrote_over(trial: Trial) -> bool:
    """A write was sent after a later grant, or came after one unread; whatever a fence said."""
    return any(is_stale(trial, write) or not was_read(trial, write) for write in late(trial))


def two_holders(trial: Trial) -> bool:
    """Two believed at once, or one wrote over the other."""
    return (two_at_once_ns(trial) > 0 or _wrote_over(trial)) and not refused_without_a_fence(trial)


def two_holders_awake(trial: Trial) -> bool:
    """The same of a holder that looks at what it knows all the time: what its looking takes is not held against it."""
    return two_holders(trial) and (_wrote_over(trial) or believed_on_ms(trial) > LOOKING_MS)


def _went_on_awake(trial: Trial) -> bool:
    woken = [int(one["ended_ns"]) for one in trial.faults("suspend") if one["ended_ns"] is not None]
    return _wrote_over(trial) or together_since_ms(trial, max(woken, default=0)) > LOOKING_MS


def _came_late(trial: Trial) -> bool:
    """Nothing is lost by a write that the next holder read: then it came in time for all that it did."""
    return _wrote_over(trial)


def _stolen(trial: Trial) -> bool:
    return bool(trial.measured("stolen"))


def _dead_waiter(trial: Trial) -> bool:
    return any(trial.measured(name) for name in ("waiter_acquired", "neglected_acquired")) or two_holders(trial)


def _granted_with_nothing_left(trial: Trial) -> bool:
    return (nothing_left(trial) and bool(trial.measured("granted"))) or two_holders(trial)


def nothing_left(trial: Trial) -> bool:
    """Redlock: TTL - elapsed - drift, of which 1 % of the TTL and 2 ms are the drift."""
    elapsed_ms = trial.measured("elapsed_ms")
    return elapsed_ms is not None and trial.ttl_ms - elapsed_ms - (0.01 * trial.ttl_ms + 2.0) <= 0.0


# -- nobody gets the lock --------------------------------------------------------------------------------------------


def _waited_in_vain(trial: Trial) -> bool:
    return never_served(trial) > 0


def _never(_: Trial) -> bool:
    return False


def _no_recovery(trial: Trial) -> bool:
    """A scenario says -1 where the grant that it timed never came."""
    return (trial.measured("recovery_ms") or 0.0) < 0.0


def _kept_from_the_next(trial: Trial) -> bool:
    took_ms = trial.measured("recovery_ms") or 0.0
    return took_ms < 0.0 or took_ms > a_lease_and_the_asking_ms(trial)


def _blocked(trial: Trial) -> bool:
    blocked_ms = trial.measured("blocked_ms") or 0.0
    return blocked_ms < 0.0 or blocked_ms > a_lease_and_the_asking_ms(trial)


def _refused_though_lost(trial: Trial) -> bool:
    return trial.measured("granted") == 0.0 and not any(one["until_ns"] is None for one in trial.beliefs)


def _waited_for_the_clock(trial: Trial) -> bool:
    took_ms = trial.measured("recovery_ms") or 0.0
    back_ms = max((-_amount(one) for one in trial.faults()), default=0.0)
    return took_ms < 0.0 or took_ms > a_lease_and_the_asking_ms(trial) + back_ms / 2.0


def _nobody_next(trial: Trial) -> bool:
    return trial.measured("next_served") == 0.0


def _not_acquired(trial: Trial) -> bool:
    return not trial.measured("acquired")


def a_lease_and_the_asking_ms(trial: Trial) -> float:
    return trial.ttl_ms + max(trial.number("ttl_granularity_ms"), ASKING_MS)


# -- exposure: from the staging alone --------------------------------------------------------------------------------


def _played(_: Trial) -> bool:
    return True


def _stopped(*kinds: str) -> Question:
    """The longest window of these faults was longer than a lease may last."""

    def exposed(trial: Trial) -> bool:
        longest_ms = max(map(_length_ms, trial.faults(*kinds)), default=0.0)
        return longest_ms > A_HAIR * trial.ttl_ms + trial.number("ttl_granularity_ms")

    return exposed


def _outlasted(kind: str) -> Question:
    """As before; or somebody else was granted the key before the fault was over, for which the staging waits."""
    long_enough = _stopped(kind)

    def exposed(trial: Trial) -> bool:
        let_in = any(
            fault["ended_ns"] is not None
            and belief["actor"] != fault["target"]
            and fault["began_ns"] < belief["from_ns"] <= fault["ended_ns"]
            for fault in trial.faults(kind)
            for belief in trial.beliefs
        )
        return let_in or long_enough(trial)

    return exposed


def _struck(*kinds: str) -> Question:
    return lambda trial: bool(trial.faults(*kinds))


def _could_lose_its_memory(trial: Trial) -> bool:
    """A kill loses nothing that the kernel was given: settings that leave the rest to it are not tried so."""
    return trial.setting("durability") not in ("everysec", "no")


def _first_step_of_a_search(trial: Trial) -> bool:
    return float(trial.setting("jump_ms", 0.0)) >= trial.ttl_ms


def _left_ms(trial: Trial) -> float:
    """Of the lease, when another client had its answer: of the holder's validity, else all that it may last."""
    told = trial.measured("remaining_validity_ms")
    return trial.ttl_ms + trial.number("ttl_granularity_ms") if told is None else told


def servers_went_ahead(trial: Trial) -> bool:
    """Clocks of the servers, which end the lease, went ahead by more than was left of it."""
    ahead_ms = max((_amount(one) for one in trial.faults("clock_jump")), default=0.0)
    return _ended_by("server", trial) and ahead_ms > _left_ms(trial)


def _servers_ran_fast(trial: Trial) -> bool:
    """They gained more than was left, by running fast; and the other had its answer while the validity lasted."""
    gained_ms = (trial.measured("rate_percent") or 0.0) / 100.0 * (trial.measured("held_ms") or 0.0)
    in_time = (trial.measured("remaining_validity_ms") or 0.0) > 0.0
    return in_time and _ended_by("server", trial) and gained_ms > _left_ms(trial)


def _servers_went_back_after_a_crash(trial: Trial) -> bool:
    crashes = [one["began_ns"] for one in trial.faults("kill")]
    longest_ms = trial.ttl_ms + trial.number("ttl_granularity_ms")
    back = [one["began_ns"] for one in trial.faults("clock_jump") if _amount(one) < -longest_ms]
    if not (_ended_by("server", trial) and crashes and back):
        return False
    return bool(max(back) - min(crashes) < trial.ttl_ms * MS)


def _ends_too_soon_ms(trial: Trial) -> float:
    """By how much a lease that clients judge is over too soon, by the clocks of the two: below 0, too late."""
    ahead_ms = sum(_amount(one) for one in trial.faults("client_clock"))
    return -ahead_ms if trial.setting("whose") == "holder" else ahead_ms


def client_ends_it_early(trial: Trial) -> bool:
    return _ended_by("client", trial) and _ends_too_soon_ms(trial) > trial.ttl_ms


def _client_ends_it_late(trial: Trial) -> bool:
    return _ended_by("client", trial) and -_ends_too_soon_ms(trial) > trial.ttl_ms


def _quorum_came_late(trial: Trial) -> bool:
    return nothing_left(trial)


def _ended_by(judge: str, trial: Trial) -> bool:
    return trial.has_lease and trial.says("expiry_judge") == judge


def _amount(fault: Fields) -> float:
    return float(fault.get("amount") or 0.0)


def _length_ms(fault: Fields) -> float:
    return 0.0 if fault["ended_ns"] is None else (fault["ended_ns"] - fault["began_ns"]) / MS


# -- lines: what sets trials of one fault apart; None: nothing was done in this one ----------------------------------


def _one_line(_: Trial) -> str | None:
    return ""


def at_write(trial: Trial) -> bool:
    """With the fence on, the resource sees a new token with the new holder's first write, by choice."""
    return trial.fenced and trial.setting("presented") == "at_write"


def _by_protocol(trial: Trial) -> str | None:
    return "token first shown by a write" if at_write(trial) else ""


def _by_protocol_named(trial: Trial) -> str | None:
    return _by_protocol(trial) or "token presented before the first read"


def _by_meanwhile(trial: Trial) -> str | None:
    return {"cut_off": "holder cut off meanwhile", "releases": "holder gives up and releases meanwhile"}.get(
        str(trial.setting("meanwhile")), ""
    )


def _by_stall(trial: Trial) -> str | None:
    return "watchdog alive" if trial.setting("stalled") == "worker" else "watchdog stopped too"


def _by_idle_timeout(trial: Trial) -> str | None:
    told = trial.setting("idle_timeout")
    if told is None:
        return ""
    return f"idle timeout { ({True: 'on', False: 'off'}[told] if isinstance(told, bool) else told) }"


def _by_care(trial: Trial) -> str | None:
    return "" if trial.setting("asks_first", True) else "holder does not check first"


def _by_held_up(trial: Trial) -> str | None:
    return "clean-up delayed too" if trial.setting("held_up") == "all" else ""


def _by_direction(trial: Trial) -> str | None:
    amounts = [_amount(one) for one in trial.faults()]
    if not any(amounts):
        return None
    return "back" if min(amounts) < 0.0 else "ahead"


def _by_client(trial: Trial) -> str | None:
    direction = _by_direction(trial)
    if direction is None:
        return None
    return f"{trial.setting('whose', 'client')} {'behind' if direction == 'back' else 'ahead'}"


def nodes_held(trial: Trial) -> int:
    """Of how many nodes the holder had the lock: all, where nothing is said."""
    return int(trial.setting("nodes_held") or trial.number("nodes"))


def _by_nodes(trial: Trial) -> str | None:
    if trial.number("nodes") == 1:
        return "ahead"
    return f"{trial.setting('nodes_jumped', 0)} of {nodes_held(trial)} held nodes ahead"


def _by_drift(trial: Trial) -> str | None:
    fast = f"fast by {trial.setting('rate_percent', 0)} %"
    if trial.number("nodes") == 1:
        return fast
    return f"{trial.setting('nodes_drifting', 0)} of {nodes_held(trial)} held nodes {fast}"


def _by_failover(trial: Trial) -> str | None:
    return str(trial.setting("failover", ""))


def _where_a_clock_moved(trial: Trial) -> str | None:
    return None if _by_direction(trial) is None else ""


def _by_durability(trial: Trial) -> str | None:
    told = trial.setting("durability", "own")
    return "" if told == "own" else f"durability {told}"


def _by_replication(trial: Trial) -> str | None:
    if trial.number("quorum") > 1:
        return ""
    return "after replication" if trial.setting("replicated") else "before replication"


def _by_role(trial: Trial) -> str | None:
    return str(trial.setting("who", ""))


def nodes_down(trial: Trial) -> int:
    told = trial.measured("nodes_down")
    return int(trial.setting("nodes_down", 0) if told is None else told)


def _some_down(trial: Trial) -> bool:
    return nodes_down(trial) > 0


def minority_down(trial: Trial) -> bool:
    """Are enough left for a quorum?"""
    return trial.number("nodes") - nodes_down(trial) >= trial.number("quorum")


def _by_share(trial: Trial) -> str | None:
    if nodes_down(trial) == 0:
        return None
    share = "minority" if minority_down(trial) else "majority"
    return f"{share} {'hanging' if trial.setting('how', 'kill') == 'hang' else 'killed'}"


# -- all of it -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Meaning:
    """What one scenario is evidence for."""

    fault: str
    hazard: str = "two holders"
    harm: Question = two_holders
    exposed: Question = _played
    nobody: Question = _waited_in_vain
    exposed_to_nobody: Question | None = None  # as to the harm, where nothing else is said
    line: Callable[[Trial], str | None] = _one_line
    search: bool = False  # trials lead to a value, and are no frequency

    def could_show_nobody(self, trial: Trial) -> bool:
        return (self.exposed_to_nobody or self.exposed)(trial)

    def label(self, trial: Trial) -> str | None:
        apart = self.line(trial)
        return None if apart is None else f"{self.fault} ({apart})" if apart else self.fault

    @property
    def about_getting_it(self) -> bool:
        return self.hazard in ("availability", "blocked")


_PAUSE = Meaning("pause of the holder", exposed=_stopped("pause"), line=_by_protocol)
_RESTARTED = "lost lock"
MEANINGS = {
    "gc-pause": _PAUSE,
    "page-scenario": _PAUSE,
    "fence-gap": Meaning(
        "late write before the new holder's first", exposed=_outlasted("pause"), line=_by_protocol_named
    ),
    "late-on-the-wire": Meaning(
        "write delayed on the wire", "late write", _came_late, _outlasted("write_held"), line=_by_meanwhile
    ),
    "suspended-client": Meaning("holder's machine suspended", "went on", _went_on_awake, _outlasted("suspend")),
    "watchdog": Meaning("stall of a renewing holder", exposed=_stopped("pause", "stall"), line=_by_stall),
    "idle-in-transaction": Meaning("pause inside a transaction", exposed=_stopped("pause"), line=_by_idle_timeout),
    "cable-pulled": Meaning("holder cut off", harm=two_holders_awake, exposed=_outlasted("partition"), line=_by_care),
    "crash-recovery": Meaning("crash of the holder", "availability", exposed=_struck("kill"), nobody=_no_recovery),
    "crash-and-failover": Meaning(
        "crash of the holder, then a failover",
        "blocked",
        exposed=_struck("failover"),
        nobody=_kept_from_the_next,
        line=_by_failover,
    ),
    "late-release": Meaning("late release", "freed for another", _stolen, _outlasted("pause")),
    "swallowed-reply": Meaning(
        "lost reply to an acquire", "blocked", exposed=_struck("swallow_reply"), nobody=_blocked
    ),
    "late-request": Meaning(
        "acquire delayed on the wire",
        "blocked",
        exposed=_struck("request_held", "partition"),
        nobody=_blocked,
        line=_by_held_up,
    ),
    "lease-dies-in-queue": Meaning(
        "lease expires in the queue", "dead waiter", _dead_waiter, _stopped("pause"), nobody=_nobody_next
    ),
    "late-quorum": Meaning("late quorum", "late grant", _granted_with_nothing_left, _quorum_came_late, nobody=_never),
    "server-clock": Meaning(
        "server clock jump",
        harm=two_holders_awake,
        exposed=servers_went_ahead,
        nobody=_never,
        line=_by_direction,
    ),
    "redlock-clock": Meaning(
        "server clock jump", exposed=_first_step_of_a_search, nobody=_never, line=_by_nodes, search=True
    ),
    "redlock-drift": Meaning("server clock drift", exposed=_servers_ran_fast, nobody=_never, line=_by_drift),
    "client-clock": Meaning(
        "wrong client clock",
        harm=two_holders_awake,
        exposed=client_ends_it_early,
        nobody=_refused_though_lost,
        exposed_to_nobody=_client_ends_it_late,
        line=_by_client,
    ),
    "clock-back-and-crash": Meaning(
        "crash of the holder, clocks set back",
        "blocked",
        exposed=_servers_went_back_after_a_crash,
        nobody=_waited_for_the_clock,
        line=_where_a_clock_moved,
    ),
    "restart": Meaning("restart of all servers", _RESTARTED, exposed=_could_lose_its_memory, line=_by_durability),
    "restarted-node": Meaning("restart of one node", _RESTARTED, exposed=_could_lose_its_memory, line=_by_durability),
    "failover": Meaning("failover", _RESTARTED, exposed=_struck("failover"), line=_by_replication),
    "stalled-leader": Meaning("server stalled", _RESTARTED, two_holders_awake, _stopped("server_stall"), line=_by_role),
    "nodes-down": Meaning("servers stopped", "availability", exposed=_some_down, nobody=_not_acquired, line=_by_share),
}
OTHERS = frozenset({"token-sources", "naive-fence", "mod-revision", "resources", "second-write"})


def meaning(scenario: str) -> Meaning:
    """One that is not listed is judged by two holders at once, under its own name."""
    return MEANINGS.get(scenario) or Meaning(scenario)
