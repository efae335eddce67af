"""The machine in words, no further than it is known: what may have been limited, and whose servers ran elsewhere."""

from collections.abc import Collection

from bench.analysis.evidence import Evidence
from bench.records.processors import NO_LIMIT, NOT_KNOWN
from bench.records.schema import Environment
from bench.report.formats import counted, significant

OWN = "url"  # the source of servers that are the user's: where they run, nobody knows
_NO_SERVERS = "none"


def cores(machine: Environment) -> str:
    """How many processors there were to run on, and how much of their time: 1 core; 4 cores (limited to 1.5)."""
    words = counted([machine.cpu_count], "core")
    if machine.cpu_limit == NOT_KNOWN:
        return f"{words} (limits {NOT_KNOWN})"
    if machine.cpu_limit == NO_LIMIT or machine.cpu_limit >= machine.cpu_count:
        return words
    return f"{words} (limited to {significant(float(machine.cpu_limit))})"


def ours(sources: Collection[str]) -> frozenset[str]:
    """The sources whose servers lockbench started, on the machine that it measured."""
    return frozenset(sources) - {OWN, _NO_SERVERS}


def servers_place(sources: Collection[str]) -> str:
    """Where the servers ran, from where each one came: a clause for captions."""
    if OWN not in sources:
        return "generator and servers share it" if ours(sources) else "no servers ran"
    if not ours(sources):
        return f"it ran the generator; the servers' machine is {NOT_KNOWN}"
    return f"generator and our servers share it; the machine of servers given by URL is {NOT_KNOWN}"


def run_sources(evidence: Evidence) -> frozenset[str]:
    """Where the servers of all measured runs came from."""
    return frozenset(row.setting.source for row in evidence.rows if row.setting is not None)
