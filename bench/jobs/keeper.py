"""Whose servers keep the records."""

from bench.systems.registry import System, system


def keeper() -> System:
    """The system whose servers keep the records: jobs without a lock run beside their data."""
    return system("postgres-row")
