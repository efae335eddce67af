"""Every time bound of the suite, with its reason. Bounds tell right from wrong, not fast from slow."""

# A test machine has two cores and runs servers, clients and other tests on them: a runnable thread may be held back,
# and a disk flush may take, some hundreds of milliseconds. What should happen at once gets a second.
AT_ONCE_MS = 1_000

# What an operation may take beyond its own timeout (cleaning up is some round trips, each with a disk flush).
OVERRUN_MS = 1_500

# A lease has ended by TTL + granularity, and whoever waits for it has noticed after one poll or wake-up more.
LAPSE_SLACK_MS = 1_500

# Two clocks are read in two processes, and servers round a lease to whole milliseconds.
ROUNDING_MS = 2

# A lease short enough to wait for, and long enough that a renewal due at a third of it survives a late thread.
SHORT_TTL_MS = 1_200

# A lease that never runs out within a check.
LONG_TTL_MS = 10_000

# Patience of contenders: not a bound on anything, only the end of a hang.
PATIENCE_MS = 30_000

# One backend call when the wire is bad: short, so that a check need not wait out the default of two seconds.
BAD_WIRE_CALL_MS = 400

# What lies between machines of one region and is missing on loopback: what costs several round trips may not fit in a
# limit that loopback never shows.
FAR_ROUND_TRIP_MS = 20

# From the end of a connection until its client has seen to it, where it does so on its own.
NOTICED_WITHIN_MS = 100

# How often the suite itself looks when it waits for something that has no event to wait for.
LOOK_EVERY_S = 0.005
