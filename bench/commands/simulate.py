"""`lockbench simulate`: scenarios on a model of the locks, and random schedules that look for a counter-example."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bench.commands.terminal import ERR, OUT, print_json, steps
from bench.errors import LockbenchError

if TYPE_CHECKING:
    from bench.records.hazards import Scalar, Trial, TrialChecked
    from bench.simulator.by_name import Judged

_SCHEDULES_MAX = 10_000_000


def register(app: typer.Typer) -> None:
    """Add the command to the app."""
    app.command()(simulate)


def simulate(
    scenario: str | None = typer.Argument(None, help="A scenario of the hazard lab (`lockbench hazard list`)."),
    system: str = typer.Option(..., "--system", "-s", help="The system whose lock is modelled."),
    random: int | None = typer.Option(
        None, "--random", min=1, max=_SCHEDULES_MAX, help="Instead of a scenario: so many random schedules."
    ),
    seed: int = typer.Option(1, "--seed", min=0, help="Seed of the random schedules."),
    fence: bool | None = typer.Option(
        None, "--fence/--no-fence", help="Does the resource check tokens? Default: as the scenario has it, else yes."
    ),
    presented: str | None = typer.Option(
        None,
        "--presented",
        help="When a new holder shows its token: before_read or at_write. Default: the scenario's own, or before_read.",
    ),
    faults: str = typer.Option(
        "", "--faults", help="Of random schedules, separated by commas. Default: all but restart."
    ),
    ttl_ms: int | None = typer.Option(None, "--ttl-ms", min=1, help="The lease. Default: the scenario's own."),
    values: list[str] = typer.Option([], "--set", help="Another parameter of the scenario, as name=value."),
    svg: Path | None = typer.Option(None, "--svg", help="Draw the timeline into this file."),
    as_json: bool = typer.Option(False, "--json", help="One JSON document instead of text."),
) -> None:
    """Play a scenario on a model of the lock, or search random schedules for the smallest that breaks a rule.

    Examples: lockbench simulate gc-pause -s redis --no-fence;
    lockbench simulate fence-gap -s etcd --presented at_write --svg gap.svg;
    lockbench simulate --random 100000 -s redlock --seed 42
    """
    from bench.hazards.resources.base import Presented

    if presented is not None and presented not in list(Presented):
        raise LockbenchError(f"--presented is before_read or at_write, not {presented}")
    if (scenario is None) == (random is None):
        raise LockbenchError("name a scenario, or give --random N for random schedules: one of the two")
    if svg is not None and svg.suffix != ".svg":
        raise LockbenchError(f"--svg {svg}: name a file that ends in .svg")
    if random is not None:
        if values or ttl_ms is not None:
            raise LockbenchError("--set and --ttl-ms belong to a scenario: random schedules have settings of their own")
        presents = presented != Presented.AT_WRITE
        wanted = [one.strip() for one in faults.split(",") if one.strip()]
        _search(system, random, seed, fence is not False, presents, wanted, svg, as_json)
        return
    if faults:
        raise LockbenchError("--faults belongs to random schedules: a scenario says which faults strike")
    assert scenario is not None
    options = {"fence": fence, "presented": presented, "ttl_ms": ttl_ms}
    settled = {name: value for name, value in options.items() if value is not None} | _set(values)
    _play(scenario, system, settled, svg, as_json)


def _set(values: Sequence[str]) -> "dict[str, Scalar]":
    from bench.records.yaml_text import read_yaml

    found: dict[str, Scalar] = {}
    for value in values:
        name, equals, text = value.partition("=")
        parsed = read_yaml(text) if equals and text else None
        if not name or not isinstance(parsed, bool | int | float | str):
            raise LockbenchError(f"--set {value}: write it as name=value")
        found[name] = parsed
    return found


def _play(name: str, system: str, settled: "Mapping[str, Scalar]", svg: Path | None, as_json: bool) -> None:
    from bench.simulator.by_name import simulated

    drawn: dict[str, Judged] = {}
    documents = []
    for one in simulated(name, system, settled):
        drawn[one.words] = one.judged
        documents.append(_document(*one.judged, one.staging))
        if not as_json:
            _tell(f"{name} on {system}: {one.words}", *one.judged, one.staging)
    if as_json:
        print_json(documents)
    if svg is not None:
        _draw(svg, name, system, drawn, f"Scenario {name}, on the model of {system}.")


def _search(
    system: str,
    schedules: int,
    seed: int,
    fence: bool,
    presents: bool,
    faults: Sequence[str],
    svg: Path | None,
    as_json: bool,
) -> None:
    from bench.simulator.by_name import counter_examples

    with steps("playing schedules") as step:
        found = counter_examples(
            system,
            schedules,
            seed,
            fence=fence,
            presents=presents,
            faults=faults,
            progress=lambda done: step(f"{done:,} of {schedules:,} schedules") if done % 20_000 == 0 else None,
        )
    documents: dict[str, Any] = {}
    drawn: dict[str, Judged] = {}
    for rule, (one, judged) in found.items():
        documents[rule] = {"broken": one.broken, "schedules": schedules}
        if one.smallest is None or judged is None:
            if not as_json:
                OUT.print(f"{rule}: in none of {schedules:,} schedules", highlight=False)
            continue
        documents[rule] |= _document(*judged, ())
        drawn[rule] = judged
        if not as_json:
            words = f"{rule}: in {one.broken:,} of {schedules:,} schedules; the smallest has {len(one.smallest)} steps"
            _tell(words, *judged, ())
    if as_json:
        print_json(documents)
    if svg is not None:
        if not drawn:
            raise LockbenchError("no schedule broke a rule: there is nothing to draw")
        _draw(svg, "random", system, drawn, f"Smallest of {schedules:,} schedules (seed {seed}), model of {system}.")


def _document(trial: "Trial", checked: "TrialChecked", staging: Sequence[str]) -> dict[str, Any]:
    return {
        "trial": trial.model_dump(mode="json"),
        "findings": checked.model_dump(mode="json"),
        "staging": list(staging),
    }


def _tell(title: str, trial: "Trial", checked: "TrialChecked", staging: Sequence[str]) -> None:
    from bench.report.trial_lines import findings_line, timeline_lines

    OUT.print(title, style="bold", highlight=False, soft_wrap=True)
    for line in timeline_lines(trial):
        OUT.print(line, highlight=False, soft_wrap=True, markup=False)
    for words in staging:
        OUT.print(f"not as staged: {words}", highlight=False, soft_wrap=True, markup=False)
    OUT.print(f"found: {findings_line(checked)}\n", highlight=False, soft_wrap=True)


def _draw(path: Path, scenario: str, system: str, drawn: "Mapping[str, Judged]", caption: str) -> None:
    from bench.report.figures import trial_timeline
    from bench.systems.registry import system as entry_of

    drawing = trial_timeline(drawn, f"{entry_of(system).title}: {scenario}, simulated", caption)
    path.write_bytes(drawing.rendered("svg"))
    ERR.print(f"drawn: {path}", highlight=False, soft_wrap=True)
