"""Figures: one function makes one figure. Each returns a `Drawing`, which knows its caption and the runs behind it."""

from bench.report.figures.acquire_latency import acquire_latency
from bench.report.figures.claimed_ranges import claimed_ranges
from bench.report.figures.drawing import Drawing

ALL = (acquire_latency, claimed_ranges)

__all__ = ["ALL", "Drawing", "acquire_latency", "claimed_ranges"]
