"""Which checks run on which system of the registry: all that apply on each adapter, a few on its variants."""

from bench.conformance.catalogue import CHECKS, applies
from bench.systems.registry import SYSTEMS

# The full suite is about the adapter, and a variant shares its sibling's. These are what its difference could break.
OF_A_VARIANT = ("threads_exclude_each_other", "tokens_rise", "odd_keys_work")


def checks_of(system_name: str) -> tuple[str, ...]:
    """The names of the checks meant for a system, those that do not apply to it included."""
    entry = SYSTEMS[system_name]
    if not entry.is_lock:  # tests/conformance/test_null.py shows that the suite fails on one
        return ()
    first_of_its_folder = next(one for one in SYSTEMS.values() if one.folder == entry.folder)
    return tuple(CHECKS) if entry is first_of_its_folder else OF_A_VARIANT


def pairs() -> list[tuple[str, str]]:
    """Every system with every check that is meant for it and applies: the matrix of the suite."""
    return [(name, check) for name, entry in SYSTEMS.items() for check in checks_of(name) if applies(check, entry)]
