"""What an operation is called in Locust's statistics, and which operations its Aggregated row is made of.

Locust adds up everything reported to it. A lock is reported in two parts, an acquire and a release, and a client that
may not wait hears "busy" a hundred thousand times a second: the sum of them all is the rate and the percentile of
nothing. So the row, and with it RPS, Failures and both charts, counts a lock once: with its time when it was got,
without one when the acquire failed, and as a failure too when it was got and then lost, or its release went wrong.
Answers that a system gives in good health, `busy` and `timeout`, have rows of their own and stand in no sum.
Strangers beside a hot key have rows of their own too. Their locks stand in no sum: those are of the clients that meet.
"""

from bench.systems.base import Outcome

HOST = "each system's own servers (lockbench status)"  # Locust's page wants a host; ours come from the supervisor
FAILURES = frozenset({Outcome.LOST, Outcome.UNKNOWN, Outcome.ERROR})
ACQUIRE_NAMES = {o: "acquire" if o is Outcome.ACQUIRED else f"acquire ({o})" for o in Outcome}
RELEASE_NAMES = {o: "release" if o is Outcome.RELEASED else f"release ({o})" for o in Outcome}
STRANGERS_ACQUIRE_NAMES = {o: f"{name} by a stranger" for o, name in ACQUIRE_NAMES.items()}
STRANGERS_RELEASE_NAMES = {o: f"{name} by a stranger" for o, name in RELEASE_NAMES.items()}
_ALL_ACQUIRE_NAMES = (ACQUIRE_NAMES, STRANGERS_ACQUIRE_NAMES)
_ALL_NAMES = (*_ALL_ACQUIRE_NAMES, RELEASE_NAMES, STRANGERS_RELEASE_NAMES)
TIMED_LOCK = ACQUIRE_NAMES[Outcome.ACQUIRED]
UNTIMED_LOCKS = frozenset(names[outcome] for names in _ALL_ACQUIRE_NAMES for outcome in FAILURES)
NO_LOCKS = frozenset(name for names in _ALL_NAMES for name in names.values()) - {TIMED_LOCK} - UNTIMED_LOCKS
