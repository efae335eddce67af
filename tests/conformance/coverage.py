"""Which checks run on which system of the registry: all that apply on the headline six, a few on their variants."""

from bench.systems.registry import SYSTEMS
from tests.conformance.catalogue import CHECKS, applies

# Not in the matrix, because it is no lock; test_null.py shows that the suite fails on it.
NOT_A_LOCK = frozenset({"null"})
# The full suite is about the adapter, and a variant shares its sibling's. These are what its difference could break.
OF_A_VARIANT = ("threads_exclude_each_other", "tokens_rise", "odd_keys_work")


def checks_of(system_name: str) -> tuple[str, ...]:
    """The names of the checks meant for a system, those that do not apply to it included."""
    entry = SYSTEMS[system_name]
    if system_name in NOT_A_LOCK:
        return ()
    return tuple(CHECKS) if entry.headline or entry.servers_path is None else OF_A_VARIANT


def pairs() -> list[tuple[str, str]]:
    """Every system with every check that is meant for it and applies: the matrix of the suite."""
    return [(name, check) for name, entry in SYSTEMS.items() for check in checks_of(name) if applies(check, entry)]
