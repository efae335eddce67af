"""`lockbench recommend`: which lock, for what you have and need, by what was measured."""

import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

import typer

from bench.analysis.places import find_campaign
from bench.commands.report_options import HAZARDS, WITHOUT_HAZARDS, hazards_asked
from bench.commands.terminal import OUT, print_json, steps
from bench.errors import LockbenchError
from bench.records.store import REFERENCE

if TYPE_CHECKING:
    from bench.analysis.advice.advice import Advice, Candidate
    from bench.analysis.advice.rules import Question


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(recommend)


def recommend(
    protects: str | None = typer.Option(
        None, "--protects", help="elsewhere, record or messages: what the lock protects."
    ),
    purpose: str | None = typer.Option(
        None, "--purpose", help="correctness or efficiency: does harm follow when two clients hold it?"
    ),
    token: str | None = typer.Option(None, "--token", help="checks or cannot: can the resource refuse an old token?"),
    pauses: str | None = typer.Option(
        None, "--pauses", help="possible or excluded: can a holder stand still for longer than its lease?"
    ),
    servers: str | None = typer.Option(
        None, "--servers", help="forget, restart or failover: what a held lock must survive."
    ),
    contention: str | None = typer.Option(None, "--contention", help="few or many: do clients wait for one key?"),
    runs: list[str] = typer.Option([], "--runs", help="Servers that you run already; give the option once for each."),
    budget_ms: float | None = typer.Option(None, "--budget-ms", min=0.0, help="For the 99th percentile of an acquire."),
    round_trip_ms: float | None = typer.Option(
        None, "--round-trip-ms", min=0.0, help="Between your clients and servers. Default: that of the campaign."
    ),
    recover_within_s: float | None = typer.Option(
        None, "--recover-within-s", min=0.0, help="After a crash of the holder the next client may wait so long."
    ),
    campaign: str = typer.Option(
        REFERENCE,
        "--campaign",
        "-c",
        help="The evidence: a campaign under data/runs, a folder, `latest` or `reference`.",
    ),
    hazards: str | None = HAZARDS,
    no_hazards: bool = WITHOUT_HAZARDS,
    as_json: bool = typer.Option(False, "--json", help="One JSON document instead of tables."),
) -> None:
    """Say which lock fits, by measured evidence, and first of all whether one is needed.

    On a terminal, and without an option, it asks. A question that nobody answers has its first answer.

    Examples: lockbench recommend; lockbench recommend --purpose correctness --token checks --runs redis --budget-ms 5
    """
    with steps("reading the runs"):
        from bench.analysis.advice.advice import advise
        from bench.analysis.advice.rules import rules
        from bench.analysis.advice.situation import Situation
        from bench.analysis.evidence import Evidence
        from bench.report.documents.recommend import recommend_blocks
        from bench.report.writers.terminal import terminal

        table = rules()
        given = {
            "protects": protects,
            "purpose": purpose,
            "token": token,
            "pauses": pauses,
            "servers": servers,
            "contention": contention,
        }
        answers = _checked({name: value for name, value in given.items() if value is not None})
        have = frozenset(_servers(runs))
        numbers = (budget_ms, round_trip_ms, recover_within_s)
        folder = find_campaign(campaign)
        lab = hazards_asked(folder, hazards, no_hazards)
    if not (answers or have or as_json or any(one is not None for one in numbers)) and _on_a_terminal():
        answers = {question.id: _ask(question) for question in table.questions}
        have = frozenset(_servers(_ask_for_servers()))
    with steps("looking up the evidence"):
        evidence = Evidence.load(folder, hazards=lab)
        situation = Situation({**table.defaults, **answers}, have, *numbers)
        advice = advise(evidence, situation)
    if as_json:
        print_json(_json(advice))
        return
    OUT.print(terminal(recommend_blocks(advice)), highlight=False)
    if advice.ranked:
        shown = sorted({one for finding in advice.ranked[0].found.values() for one in finding.shown_by})
        OUT.print("Where the numbers come from:", style="bold")
        for system, what in shown:
            words = f"lockbench show {system} {shlex.quote(what)} --campaign {shlex.quote(campaign)}"
            OUT.print(words, highlight=False, soft_wrap=True, markup=False)


def _checked(answers: Mapping[str, str]) -> dict[str, str]:
    """The answers as they are. Raises LockbenchError for one that there is none of."""
    from bench.analysis.advice.rules import rules

    for name, value in answers.items():
        known = rules().question(name).answers
        if value not in known:
            raise LockbenchError(f"--{name} {value}: choose from {', '.join(known)}")
    return dict(answers)


def _servers(asked: list[str]) -> list[str]:
    """Sets of servers by name. Raises LockbenchError for one that there is none of."""
    from bench.systems.registry import SERVER_SETS, is_server_set

    for name in asked:
        if not is_server_set(name):
            raise LockbenchError(f"--runs {name}: no servers of that name; choose from {', '.join(SERVER_SETS)}")
    return asked


def _on_a_terminal() -> bool:
    return bool(sys.stdin and sys.stdin.isatty() and sys.stdout and sys.stdout.isatty())


def _ask(question: "Question") -> str:
    names = list(question.answers)
    OUT.print(question.ask, style="bold", highlight=False)
    for number, name in enumerate(names, 1):
        OUT.print(f"  {number}  {question.answers[name]}", highlight=False)
    while True:
        said = str(typer.prompt("number", default="1"))
        if said.isdecimal() and 1 <= int(said) <= len(names):
            return names[int(said) - 1]
        OUT.print(f"a number from 1 to {len(names)}", highlight=False)


def _ask_for_servers() -> list[str]:
    from bench.systems.registry import SERVER_SETS

    OUT.print(f"What runs already? Any of {', '.join(SERVER_SETS)}, separated by spaces; or nothing.", highlight=False)
    while True:
        said = str(typer.prompt("servers", default="", show_default=False)).replace(",", " ").split()
        try:
            return _servers(said)
        except LockbenchError as wrong:
            OUT.print(str(wrong), highlight=False)


def _json(advice: "Advice") -> dict[str, object]:
    return {
        "answers": dict(advice.situation.answers),
        "need": [one.says for one in advice.need],
        "ranked": [_candidate(one) for one in advice.ranked],
        "excluded": [_candidate(one) for one in advice.excluded],
    }


def _candidate(one: "Candidate") -> dict[str, object]:
    return {
        "system": one.system,
        "row": one.row,
        "failed": [step.id for step in one.failed],
        "warned": [step.id for step in one.warned],
        "set": list(one.settings),
        "found": {
            name: {"passes": found.passes, "words": found.words, "runs": list(found.runs), "value": found.value}
            for name, found in one.found.items()
        },
    }
