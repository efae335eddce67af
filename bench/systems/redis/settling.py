"""Whether a script that can run twice without harm has run: asked again when its reply is lost."""

from redis.exceptions import RedisError
from redis.exceptions import TimeoutError as RedisTimeout

from bench.systems.redis.connection import Link
from bench.systems.redis.refusals import ErrorReply


def settle(link: Link, packed: bytes, within_s: float) -> tuple[int, bool]:
    """Ask an owner-checked script; when its reply is lost, once more on a new connection. Returns the reply and whether
    it took two. Raises RedisError or UnfitServer."""
    link.open()
    try:
        return link.call(packed, within_s), False
    except ErrorReply:
        raise
    except RedisError:
        link.open()
    try:
        return link.call(packed, within_s), True
    except ErrorReply as refusal:  # of the second request: what became of the first is not known
        raise RedisTimeout(str(refusal)) from refusal
