"""Figures: one function makes one figure. Each returns a `Drawing`, which knows its caption and the runs behind it."""

from bench.report.figures.acquire_latency import acquire_latency
from bench.report.figures.claimed_ranges import claimed_ranges
from bench.report.figures.drawing import Drawing
from bench.report.figures.where_time_goes import where_time_goes

ALL = (acquire_latency, where_time_goes, claimed_ranges)

__all__ = ["ALL", "Drawing", "acquire_latency", "claimed_ranges", "where_time_goes"]
