"""The one clock of a history: all processes of a lab read it, and so do the leases that their clients hold.

It counts the time for which the machine is suspended. No step of a wall clock moves it, and neither does what a fault
does to the monotonic clock of one process: instants of several actors stay comparable whatever is done to one of them.
"""

from bench.systems.clock import SYSTEM_CLOCK

now_ns = SYSTEM_CLOCK.monotonic_ns
