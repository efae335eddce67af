"""A mapping whose values are made when they are first asked for."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

_Value = TypeVar("_Value")


class Deferred(Mapping[str, _Value]):
    """Its names are known at once; each value is made by its own function, once. What that raises, the reader gets."""

    def __init__(self, makers: Mapping[str, Callable[[], _Value]]) -> None:
        self._makers = dict(makers)
        self._made: dict[str, _Value] = {}

    def __getitem__(self, name: str) -> _Value:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __contains__(self, name: object) -> bool:
        return name in self._makers

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)
