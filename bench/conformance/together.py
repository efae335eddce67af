"""Several threads at once, with a deadline and with their exceptions brought home."""

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class Running(Generic[T]):
    """One function on its own thread. The thread is a daemon: a hanging acquire must not hang the test session."""

    def __init__(self, function: Callable[[], T]) -> None:
        self._results: list[T] = []
        self._errors: list[BaseException] = []
        self._function = function
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._results.append(self._function())
        except BaseException as error:  # noqa: BLE001 - carried to the thread that asks for the result
            self._errors.append(error)

    def result(self, within_ms: float) -> T:
        """What the function returned. AssertionError when it raised, or has not ended in time."""
        self._thread.join(within_ms / 1000)
        if self._thread.is_alive():
            raise AssertionError(f"still running after {within_ms:.0f} ms")
        if self._errors:
            error = self._errors[0]
            if isinstance(error, AssertionError):
                raise error
            raise AssertionError(f"an operation raised {type(error).__name__}: {error}") from error
        return self._results[0]

    def running(self) -> bool:
        """Whether the function has not ended yet."""
        return self._thread.is_alive()


def together(functions: Sequence[Callable[[], T]], within_ms: float) -> list[T]:
    """Run all functions at the same time and return their results in order."""
    return [started.result(within_ms) for started in [Running(function) for function in functions]]
