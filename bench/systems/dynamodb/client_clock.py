"""The lock that compares clocks of two machines, as is often advised: kept to be measured."""

from dataclasses import replace
from typing import ClassVar

from bench.systems.base import Capabilities
from bench.systems.dynamodb.calls import ConditionFailed
from bench.systems.dynamodb.item import Clause, numbers
from bench.systems.dynamodb.lock import DynamoDBLock


class ClientClockDynamoDBLock(DynamoDBLock):
    """Judges a lease by wall clocks: the holder's when it wrote the expiry, the other's when it compares. Unsafe.

    A client whose clock is ahead takes a lease that is not over; one whose clock is behind waits too long.
    """

    capabilities: ClassVar[Capabilities] = replace(
        DynamoDBLock.capabilities, client_clock_matters=True, lease_clock="wall"
    )

    def _free(self, key: str) -> Clause:
        now_ms = self.clock.wall_ns() // 1_000_000
        return Clause("attribute_not_exists(holder) OR expires_ms < :now", numbers(now=now_ms))

    def _lease(self, ttl_ms: int) -> Clause:
        expires_ms = self.clock.wall_ns() // 1_000_000 + ttl_ms
        return Clause("lease_ms = :lease, expires_ms = :expires", numbers(lease=ttl_ms, expires=expires_ms))

    def _look(self, key: str, refused: ConditionFailed) -> None:
        """Nothing to learn: the item says when it expires."""
