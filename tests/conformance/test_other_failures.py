"""Checks that do not apply to `faulty` can fail too: shown on systems and clients that lack what they ask for."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from bench.conformance.catalogue import CHECKS, applies, near
from bench.conformance.harness import Harness
from bench.servers.endpoint import Endpoint
from bench.systems.registry import SYSTEMS

# (system without a server, check, what it must complain of): the check's subject is missing in that system.
IN_PROCESS = [
    ("memory", "processes_exclude_each_other", "increments were lost"),
    ("memory", "crashed_holder_frees_at_once", "expected a grant"),
    ("faulty", "severed_holder_is_told", "is not notified"),
    ("memory", "open_names_who_does_not_answer", "opened where nobody listens"),
]
# (system, class in bad_clients, check, what it must complain of)
BAD_CLIENTS = [
    ("redis", "TwoStepRedisLock", "killed_at_any_moment_leaves_at_most_a_lease", "expected a grant"),
    ("etcd", "UntidyEtcdLock", "killed_greenlet_leaves_nothing", "stayed in the queue|was not granted at once"),
    ("etcd", "CredulousEtcdLock", "lease_lost_in_the_queue_is_no_grant", "whose lease ended in the queue got"),
]
# (system of the registry that is unsound on purpose, check that its difference breaks, what it must complain of)
UNSOUND = [
    ("redis-plain-delete", "stale_grant_changes_nothing", "the release of a grant that another followed succeeded"),
    ("redis-plain-delete", "expired_holder_changes_nothing", "a release after another took the key said"),
]
MINORITY = "a_minority_may_be_unreachable"


def test_every_check_beyond_faulty_is_here() -> None:
    here = {check for _, check, _ in IN_PROCESS} | {check for _, _, check, _ in BAD_CLIENTS} | {MINORITY}
    assert here == {near(check) for check in CHECKS if not applies(check, SYSTEMS["faulty"])}


@pytest.mark.parametrize(("system_name", "check", "complaint"), IN_PROCESS, ids=lambda value: value.replace(" ", "-"))
def test_check_fails_where_its_subject_is_missing(system_name: str, check: str, complaint: str) -> None:
    with (
        Harness(SYSTEMS[system_name], Endpoint((("in-process", 0),))) as bench,
        pytest.raises(AssertionError, match=complaint),
    ):
        CHECKS[check](bench)


@pytest.mark.servers
@pytest.mark.parametrize(("name", "client", "check", "complaint"), BAD_CLIENTS, ids=[row[1] for row in BAD_CLIENTS])
def test_bad_client_is_found(
    name: str, client: str, check: str, complaint: str, bench_of: Callable[[str], AbstractContextManager[Harness]]
) -> None:
    with bench_of(name) as bench:
        bench.system = replace(SYSTEMS[name], client_path=f"tests.conformance.bad_clients:{client}")
        with pytest.raises(AssertionError, match=complaint):
            CHECKS[check](bench)


@pytest.mark.servers
@pytest.mark.parametrize(("name", "check", "complaint"), UNSOUND, ids=[f"{row[0]}-{row[1]}" for row in UNSOUND])
def test_unsound_variant_is_found(
    name: str, check: str, complaint: str, bench_of: Callable[[str], AbstractContextManager[Harness]]
) -> None:
    with bench_of(name) as bench, pytest.raises(AssertionError, match=complaint):
        CHECKS[check](bench)


@pytest.mark.servers
def test_losing_a_majority_is_noticed(bench_of: Callable[[str], AbstractContextManager[Harness]]) -> None:
    """The check takes two nodes away; of three that is a majority, and it must say so."""
    with bench_of("redlock") as bench:
        bench.endpoint = bench.endpoint.at(bench.endpoint.addresses[:3])
        with pytest.raises(AssertionError, match="reached 1 of 3 nodes"):
            CHECKS[MINORITY](bench)
