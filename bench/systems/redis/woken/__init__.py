"""Wait strategies of one Redis server in which a release wakes waiters, who also look by themselves each interval."""

from collections.abc import Mapping

from bench.systems.redis import session
from bench.systems.redis.scripts import command
from bench.systems.redis.woken import scripts
from bench.systems.redis.woken.blpop import Blpop
from bench.systems.redis.woken.pubsub import PubSub
from bench.systems.redis.woken.queue import Queue
from bench.systems.redis.woken.waiter import Waiter

WAITERS: Mapping[str, type[Waiter]] = {"pubsub": PubSub, "blpop": Blpop, "queue": Queue}
# A client that waits otherwise never sends the further ones, and nobody loads them for it.
LOAD_SCRIPTS = (*session.LOAD_SCRIPTS, *(command("SCRIPT", "LOAD", script.source) for script in scripts.EVERY))
