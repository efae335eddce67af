"""The history checker: from what actors and resource saw to what went wrong. It reads records and nothing else.

It judges what clients *believed*, never what a server thought, since it is by its belief that a client acts (Kleppmann
2016, "How to do distributed locking": a lease ends while its holder is stopped, and the holder writes on). Histories
are saved first and judged afterwards, so that a better judge can be put on old ones (Jepsen). Two events are in a
proven order only when one had ended before the other began (Herlihy & Wing 1990, "Linearizability"): instants are
compared over processes, because all are of one monotonic clock, and nothing is concluded from two that lie side by
side.

What is counted, each term defined in full by the module of its name:

    overlaps    two beliefs in one key at once, also of one client; touching is no overlap
    writes      stale and overtaken writes, by whatever verdict, and lost updates
    tokens      grants of one key in proven order whose tokens do not rise
    fence       attempts that the resource judged against its own rule or its own log
    waiters     asks that were never answered, or timed out at a key that was free

Beside these, `unknown` counts the asks that ended `unknown` and the attempts without a verdict: what may have happened.

Everything is counted key by key, sorted once and swept: the cost is that of sorting. A history that contradicts itself
(a write under a grant that no client reported, a belief that ends before it begins) is not judged but refused with a
ValueError: it says something of the recorder, not of the lock.
"""

from bench.hazards.checker.trial import check_history, check_trial

__all__ = ["check_history", "check_trial"]
