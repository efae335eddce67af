"""The planted faults, and how `ClientOptions.variant` chooses them.

`variant["fault"]` is a comma-separated list of names from `FAULTS`; the other entries of the variant are `PARAMETERS`.
Each fault copies a way in which some published lock client was reported to fail, or is a disturbance of known size that
the recorder has to measure.
"""

import math
import random
from collections.abc import Callable, Mapping

FAULTS: Mapping[str, str] = {
    "double-grant": "every n-th request for a held key is granted as well",
    "early-expiry": "the lease lasts half of what was asked, and the grant claims all of it",
    "never-expires": "the lease of a holder that died is kept for ever",
    "token-falls": "every n-th grant carries a token two below the last",
    "token-repeats": "every n-th grant carries the last token again",
    "timeout-leaves-entry": "a waiter that gave up stays in the queue, and is handed the lock later",
    "interrupted-again-stays": "an acquire stays whose clean-up an exception ends as well",
    "interrupted-stays": "an acquire that an exception ends stays in the queue, or holds the key",
    "queue-jump": "whoever joins the queue stands first in it",
    "acquire-hangs": "a waiter comes back three seconds after its timeout",
    "try-waits": "a try on a held key waits for it",
    "missed-wake": "a waiter misses the release and looks again only after two seconds",
    "lost-wake-up": "a waiter by queue whose wake-up was lost sleeps until its timeout",
    "herd": "a release wakes all who wait, and each of them asks again",
    "slow-hand-off": "who waited for a release gets its answer 20 ms late",
    "contender-dies": "an acquire of a held key raises TypeError",
    "token-restarts": "the token counts the grants of one client, not of the key",
    "deadline-from-reply": "a grant's deadline counts from the reply, not from the request",
    "loss-cried": "a fresh grant is reported as lost",
    "release-frees-other": "a release frees the key, whoever holds it",
    "release-always-ok": "a release of a grant that is gone says released",
    "renew-adds": "a renewal adds to what remains of the lease instead of replacing it",
    "renew-forgets": "a renewal says yes and leaves the lease as it was",
    "renew-new-token": "a renewal carries another token than the grant",
    "renew-recreates": "a renewal of a grant that is gone takes the key again",
    "renew-takes-over": "a renewal of a grant that another now holds takes it from them",
    "zero-ttl": "a TTL of zero is accepted, and deletes the grant",
    "loss-untold": "a grant whose lease ran out is never reported as lost",
    "undo-by-name": "owners are the client's name and a count, and a lost reply frees what is so called",
    "lost-reply-busy": "an acquire whose reply was lost is reported as busy",
    "late-grant": "a grant that took longer than its own lease is handed out",
    "late-renewal": "a renewal that took longer than the lease is reported as done",
    "renew-unsent": "a renewal on a closed connection says yes, and was never sent",
    "idle-end-costs": "a call that finds its connection ended is answered by an error, and sends nothing",
    "silence-unnoticed": "a connection over which nothing arrives any more is never replaced",
    "recovers-only-nearby": "a new connection has 10 ms to be made, however far the store is, and else fails",
    "broken-wait-hangs": "a wait whose connection broke or fell silent ends five seconds after its timeout",
    "keys-truncated": "only the first 64 characters of a key count",
    "keys-casefolded": "upper and lower case of a key are the same",
    "keys-ascii": "a key with other than plain ASCII characters is answered by an error",
    "keys-unchecked": "a key that no system could carry is accepted",
    "global-mutex": "there is one lock for all keys",
    "serial-client": "one call at a time in the whole process",
    "closed-client-hangs": "a closed client waits five seconds before it refuses",
    "closed-client-grants": "a closed client goes on granting",
    "closed-stays-connected": "a closed client leaves its connection open",
    "close-twice-fails": "the second close raises",
    "no-facts": "the server's facts are empty",
    "extra-round-trip": "an acquire asks something else first, and waits for the answer",
    "latency": "every acquire is late by a draw from a known distribution",
    "stall": "at one acquire of all clients together the service stands still for a second",
}

PARAMETERS: Mapping[str, str] = {
    "fault": "names of faults, comma separated",
    "every": "n of the faults that strike now and then (default 5)",
    "latency": "constant:US, lognormal:MEDIAN_US:SIGMA, or two-point:FAST_US:SLOW_US:SLOW_SHARE",
    "seed": "of the latency draws; each client draws its own sequence (default 1)",
    "pause": "how the delay passes: sleep (default), or spin, which is exact to a microsecond and blocks the process",
    "token": "what a grant's token is: count (default), or took: how long its acquire took, in nanoseconds",
    "stall_at": "the acquire, counted over all clients, at which the service stands still (default 100)",
    "stall_ms": "for how long (default 1000)",
}


def chosen(variant: Mapping[str, str]) -> frozenset[str]:
    """The faults that a variant names. Raises ValueError, with what exists, for an unknown fault or parameter."""
    for name in variant:
        if name not in PARAMETERS:
            raise ValueError(f"faulty has no parameter {name!r}: it knows {', '.join(PARAMETERS)}")
    names = frozenset(name.strip() for name in variant.get("fault", "").split(",") if name.strip())
    for name in names:
        if name not in FAULTS:
            raise ValueError(f"faulty has no fault {name!r}: it knows {', '.join(FAULTS)}")
    return names


def latency_us(text: str, seed: str) -> Callable[[], float]:
    """A seeded source of delays in microseconds, as `PARAMETERS["latency"]` writes them. ValueError if malformed."""
    name, *parts = text.split(":")
    draw = random.Random(seed)
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        numbers = []
    match name, numbers:
        case "constant", [delay_us] if delay_us >= 0:
            return lambda: delay_us
        case "lognormal", [median_us, sigma] if median_us > 0 and sigma >= 0:
            return lambda: draw.lognormvariate(math.log(median_us), sigma)
        case "two-point", [fast_us, slow_us, share] if min(fast_us, slow_us) >= 0 and 0 <= share <= 1:
            return lambda: slow_us if draw.random() < share else fast_us
    raise ValueError(f"no latency {text!r}: write {PARAMETERS['latency']}")
