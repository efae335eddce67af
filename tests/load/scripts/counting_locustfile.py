"""The bench's classes, and in each worker a count of its own: what it reported to Locust, written down at its end."""

import json
import os
from collections import Counter
from pathlib import Path

from locust import events
from locust.runners import WorkerRunner

from bench.load import locustfile
from bench.load.locustfile import *  # noqa: F403  # as the file in the repository's root

__all__ = locustfile.__all__
_counted = Counter[str]()


@events.request.add_listener
def _count(name: str, **_: object) -> None:
    _counted[name] += 1


@events.test_start.add_listener
def _begin(**_: object) -> None:
    _counted.clear()


@events.test_stop.add_listener
def _write(environment: object, **_: object) -> None:
    runner = getattr(environment, "runner", None)
    if isinstance(runner, WorkerRunner):
        Path(os.environ["COUNTED"], f"{runner.client_id}.json").write_text(json.dumps(_counted))
