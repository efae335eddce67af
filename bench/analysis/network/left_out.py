"""How wrong the cost model is on a network that it has not seen: each setting is left out once, and predicted."""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bench.analysis.network.cost_model import CostModel, Network, cost_model
from bench.analysis.network.samples import Sample, Sampled


@dataclass(frozen=True, slots=True)
class Miss:
    """One setting, predicted by a model of all others."""

    network: str
    peer_network: str
    predicted_us: float
    measured_us: float  # the median of its runs
    inside: int  # of its runs, how many lay within the predicted interval
    runs: int

    @property
    def error(self) -> float:
        """As a share of what was measured; below 0: the prediction was too low."""
        return self.predicted_us / self.measured_us - 1.0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """All settings of one operation of one system."""

    system: str
    operation: str
    misses: tuple[Miss, ...]

    @property
    def median_error(self) -> float:
        """Of the sizes of the errors."""
        return statistics.median(abs(one.error) for one in self.misses)

    @property
    def worst(self) -> Miss:
        return max(self.misses, key=lambda one: abs(one.error))

    @property
    def inside_share(self) -> float:
        """Of all left-out runs, those within the interval that was predicted for them."""
        return sum(one.inside for one in self.misses) / sum(one.runs for one in self.misses)


def left_out(of: Sampled, operation: str) -> LeftOut | None:
    """None: without one of its networks too few are left for a model."""
    misses = []
    for setting in dict.fromkeys(sample.setting for sample in of.samples):
        others = replace(of, samples=tuple(one for one in of.samples if one.setting != setting))
        own = [one for one in of.samples if one.setting == setting and operation in one.p50_us]
        model = cost_model(others, operation)
        if model is not None and own:
            misses.append(_miss(model, own))
    return LeftOut(of.system, operation, tuple(misses)) if misses else None


def _miss(model: CostModel, own: Sequence[Sample]) -> Miss:
    """All runs of a setting had nearly the same network: they are predicted at the median of theirs."""
    where = Network(
        statistics.median(one.rtt_us for one in own),
        statistics.median(one.peer_rtt_us for one in own),
        statistics.median(one.fdatasync_us for one in own),
    )
    predicted = model.at(where).p50
    measured = [one.p50_us[model.operation] for one in own]
    return Miss(
        *own[0].setting,
        predicted_us=predicted.value,
        measured_us=statistics.median(measured),
        inside=sum(predicted.contains(value) for value in measured),
        runs=len(measured),
    )
