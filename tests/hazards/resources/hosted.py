"""A hosted resource as the tests use it: fresh keys, attempts with unlike ids, connections."""

import itertools
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass

from bench.hazards.resources.base import Attempt, Judged, Place, Resource, ResourceHost, Rule
from bench.hazards.resources.registry import open_resource

_count = itertools.count(1)


@dataclass(frozen=True)
class Hosted:
    kind: str
    host: ResourceHost
    place: Place

    def open(self, place: Place | None = None) -> AbstractContextManager[Resource]:
        return closing(open_resource(self.kind, self.place if place is None else place))

    def log(self, key: str) -> list[Judged]:
        return list(self.host.judged(self.place, key))


def fresh_key() -> str:
    return f"key-{next(_count)}"


def attempt(
    key: str,
    token: int | None,
    *,
    fence: bool = True,
    rule: Rule = Rule.BELOW,
    value: int | None = 1,
    value_read: int = 0,
) -> Attempt:
    return Attempt(f"attempt {next(_count)}", "writer", key, "grant-1", token, fence, rule, value_read, value)


def presentation(key: str, token: int | None, *, fence: bool = True, rule: Rule = Rule.BELOW) -> Attempt:
    return attempt(key, token, fence=fence, rule=rule, value=None)
