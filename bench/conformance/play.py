"""Checks carried out on one system, each with its result: passed, failed, or out of the system's reach."""

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from bench.conformance.catalogue import CHECKS, why_not
from bench.conformance.harness import Harness
from bench.errors import LockbenchError
from bench.servers.endpoint import Endpoint
from bench.systems.registry import System

_STORES = itertools.count(1)


class Verdict(StrEnum):
    """What came of a check."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"


@dataclass(frozen=True, slots=True)
class Result:
    """One check. `why` says what is wrong, or why the check does not apply."""

    check: str
    verdict: Verdict
    why: str = ""


def chosen_checks(entry: System, names: Iterable[str]) -> tuple[str, ...]:
    """Checks by name, all of them where none is named. Raises LockbenchError for one that does not exist."""
    if not entry.is_lock:
        raise LockbenchError(f"{entry.name} is no lock: there is nothing to conform to")
    for name in names:
        if name not in CHECKS:
            raise LockbenchError(f"no check {name!r}: choose from {', '.join(CHECKS)}")
    return tuple(names) or tuple(CHECKS)


def store_of_its_own() -> Endpoint:
    """For a system without servers: nobody else has this endpoint."""
    return Endpoint((("in-process", next(_STORES)),))


def results(entry: System, endpoint: Endpoint | None, checks: Iterable[str]) -> Iterator[Result]:
    """Carry checks out, one after the other. `endpoint` None: the system has no servers."""
    for check in checks:
        why = why_not(check, entry)
        if why is not None:
            yield Result(check, Verdict.NOT_APPLICABLE, why)
            continue
        try:
            with Harness(entry, endpoint or store_of_its_own()) as bench:
                CHECKS[check](bench)
        except AssertionError as failed:
            yield Result(check, Verdict.FAILED, str(failed))
        except Exception as raised:  # noqa: BLE001 - outcomes are values: whatever an adapter lets out is a failure
            yield Result(check, Verdict.FAILED, f"{type(raised).__name__}: {raised}")
        else:
            yield Result(check, Verdict.PASSED)
