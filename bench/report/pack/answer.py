"""The short answer: which chosen system fits, by the rules of `lockbench recommend`, for three kinds of need."""

from collections.abc import Mapping

from bench.analysis import names
from bench.analysis.advice.advice import advise
from bench.analysis.advice.rules import rules
from bench.analysis.advice.situation import Situation
from bench.analysis.evidence import Evidence
from bench.report.model import Block, Bullets, Heading, Paragraph

_NEEDS: Mapping[str, Mapping[str, str]] = {
    "Two holders would damage data, and the resource refuses old tokens": {"purpose": "correctness", "token": "checks"},
    "Two holders would damage data, and the resource cannot refuse anything": {
        "purpose": "correctness",
        "token": "cannot",
    },
    "Two holders would only do work twice": {"purpose": "efficiency"},
}
_NONE = "none of these, by what was measured"
_MORE = (
    "Holders may pause for longer than a lease here. Rules and order are those of `lockbench recommend`, which asks "
    "for the rest: what a lock must survive, what you run already, your latency budget."
)


def answer_blocks(evidence: Evidence) -> tuple[Block, ...]:
    """Nothing where no fault was measured: then nobody knows what is safe."""
    if evidence.hazards is None:
        return ()
    lines = [f"{need}: {_fitting(evidence, answers)}." for need, answers in _NEEDS.items()]
    return Heading("The short answer"), Bullets(lines), Paragraph(_MORE)


def _fitting(evidence: Evidence, answers: Mapping[str, str]) -> str:
    advice = advise(evidence, Situation({**rules().defaults, **answers}))
    return ", then ".join(names.title(one.system) for one in advice.ranked) or _NONE
