"""Tables of a hazard campaign: on the terminal, as Markdown, HTML and CSV, and in the comparison's two safety cells."""

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from bench.analysis.evidence import Evidence
from bench.analysis.hazards.evidence import HazardEvidence
from bench.records.store import CampaignFolder, HazardFolder
from bench.report.claims_table import safety_rows
from bench.report.comparison import build_comparison
from bench.report.documents.hazards import hazard_terminal_blocks, hazards_document
from bench.report.fitting import WIDTH
from bench.report.hazard_cells import COUNTER, FEW, NO_TOKEN, clock_sensitivity, pause_safety
from bench.report.hazard_rows import VOID, label, median_words, scenario_tables, value_words
from bench.report.hazard_tidy import trials_csv, verdicts_csv
from bench.report.limits import limits
from bench.report.table_model import Footnotes
from bench.report.writers.html import html_page
from bench.report.writers.markdown import markdown
from bench.report.writers.terminal import terminal
from tests.analysis.hazards import records
from tests.analysis.hazards.records import Staged, often, two_holders
from tests.report import hazard_campaigns


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> HazardFolder:
    return hazard_campaigns.whole(tmp_path_factory.mktemp("hazards"))


@pytest.fixture(scope="module")
def hazards(folder: HazardFolder) -> HazardEvidence:
    return HazardEvidence.load(folder)


@pytest.fixture(scope="module")
def both(folder: HazardFolder, synthetic: Path) -> Evidence:
    """A campaign of load with the hazards beside it."""
    return Evidence.load(CampaignFolder(synthetic), hazards=folder)


def printed(hazards: HazardEvidence, width: int = 400) -> str:
    console = Console(width=width, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(terminal(hazard_terminal_blocks(hazards)))
    return captured.get()


def part(text: str, title: str) -> str:
    """One table of the terminal's text: from its title to the next empty title line."""
    lines = text.split("\n")
    start = next(number for number, line in enumerate(lines) if line.startswith(title))
    end = next(
        (
            number
            for number, line in enumerate(lines[start + 2 :], start + 2)
            if not line.strip() and number > start + 3
        ),
        len(lines),
    )
    return "\n".join(lines[start:end])


def test_the_terminal_keeps_to_its_width(hazards: HazardEvidence) -> None:
    lines = printed(hazards, WIDTH).split("\n")
    assert max(len(line.rstrip()) for line in lines) <= WIDTH
    # No column was squeezed out: every scenario's table ends with its verdicts.
    assert sum(line.rstrip().endswith("verdict") for line in lines) == len(scenario_tables(hazards))


def test_systems_stand_in_table_order_and_repetitions_in_one_row(hazards: HazardEvidence) -> None:
    (pauses,) = [one for one in scenario_tables(hazards) if one.scenario == "gc-pause"]
    assert list(dict.fromkeys(row.system for row in pauses.rows)) == list(hazard_campaigns.SYSTEMS)
    assert pauses.parameters == ("fence", "pause_ttls"), "the parameters that vary, those of the runs' grid first"
    (row,) = [
        row
        for row in pauses.rows
        if row.system == "redis" and dict(row.parameters) == {"fence": "off", "pause_ttls": "1.6"}
    ]
    assert (row.trials, row.late_accepted, row.late_refused, row.lost_updates) == (2, 2, 0, 2)
    assert row.evidence == ("gc-pause-redis-01", "gc-pause-redis-03")
    assert median_words(row.overlap_s, digits=3) == ("0.596", "0.594\u20130.598")
    assert row.verdict == "unsafe", "with the fence off; the row's own trials, and no others"


def test_counts_verdicts_and_measures_are_printed(hazards: HazardEvidence) -> None:
    text = printed(hazards)
    pauses = part(text, "gc-pause: pause of the holder")
    above, below, *_ = pauses.splitlines()[2:]
    assert above.split() == ["two", "late", "late", "lost"]
    assert below.split() == [
        *("System", "fence", "pause,", "TTL", "n", "holders,", "s"),
        *("accepted", "refused", "updates", "pause,", "ms", "wait,", "ms", "verdict"),
    ]
    fenced = next(line for line in pauses.splitlines() if "fence held" in line)
    assert fenced.rstrip().endswith("fence held"), "one line, and the whole word in the explanation"
    assert "fence held (fence held so far): " in text
    assert "with fence (safe only with fencing): " in text
    redlock = [line for line in pauses.splitlines() if line.split()[:1] == ["Redlock"]]
    assert len(redlock) == 1, "a system is named once"
    assert "not measured" in redlock[0], "its shortest pause is no evidence"
    assert "unsafe" in pauses
    assert "The hazard window against pause \u2212 TTL" in text
    assert "the lock has no TTL" in text.replace("\n", " ")
    assert "unavailable" in part(text, "nodes-down")


def test_void_rows_have_their_reason(hazards: HazardEvidence) -> None:
    text = printed(hazards)
    assert f"[1] gc-pause-zookeeper-02: not as staged: {hazard_campaigns.REASON}" in text
    assert "[2] gc-pause-etcd-04: failed (servers): port 1 is taken" in text
    (pauses,) = [one for one in scenario_tables(hazards) if one.scenario == "gc-pause"]
    void = [row for row in pauses.rows if row.void]
    assert [row.verdict for row in void] == [VOID, VOID]
    assert [row.parameters["fence"] for row in void] == ["on", "on"]


def test_of_a_search_only_the_smallest_breaking_value_is_shown(hazards: HazardEvidence) -> None:
    (search,) = [one for one in scenario_tables(hazards) if one.scenario == "redlock-clock"]
    told = {(row.parameters["ttl_ms"], row.parameters["nodes_jumped"]): row.measures for row in search.rows}
    assert told["500", "3"]["smallest_breaking_ms"] == ("14", "")
    assert told["500", "3"]["largest_harmless_ms"] == ("13", "")
    assert told["500", "2"]["smallest_breaking_ms"] == ("none up to 550", "")
    assert len(search.rows) == 4
    assert "275" not in part(printed(hazards), "redlock-clock")


def test_two_holders_for_less_than_a_place_are_no_nought() -> None:
    assert median_words((0.0, 0.0002, 0.002), digits=3) == ("<0.001", "0.000\u20130.002")
    assert median_words((0.0, 0.0), digits=3) == ("0.000", "")


def test_two_holders_have_no_column_where_they_are_not_the_subject(hazards: HazardEvidence) -> None:
    has = {one.scenario: one.has_overlaps for one in scenario_tables(hazards)}
    assert has["gc-pause"]
    assert not has["nodes-down"]


def test_tokens_are_counted_in_pairs(hazards: HazardEvidence) -> None:
    text = part(printed(hazards), "token-sources")
    assert "39 of 39" in text
    assert "does not rise" in text
    assert "no token" in text
    assert "overlap" not in text


def test_a_campaign_without_runs_is_one_sentence(tmp_path: Path) -> None:
    nothing = HazardEvidence.load(records.start(tmp_path, records.plan("gc-pause", "redis", fence=False)))
    assert printed(nothing).strip() == "No run of this campaign has started."
    assert "No run of this campaign says anything" in markdown(hazards_document(nothing))
    assert "No run of this campaign says anything" in html_page(hazards_document(nothing, ()))
    assert len(trials_csv(nothing).splitlines()) == 1


def test_one_run_alone_is_a_table(tmp_path: Path) -> None:
    plan = records.plan("gc-pause", "redis", fence=False)
    folder = records.start(tmp_path, plan)
    records.add_run(folder, plan, records.two_holders(False))
    (one,) = scenario_tables(HazardEvidence.load(folder))
    assert one.parameters == ()
    assert one.rows[0].late_accepted == 1
    assert "unsafe" in printed(HazardEvidence.load(folder))


def test_what_never_came_is_said(hazards: HazardEvidence) -> None:
    (recovery,) = [one for one in scenario_tables(hazards) if one.scenario == "crash-recovery"]
    found = {(row.system, row.parameters["ttl_ms"]): row.measures["recovery_ms"] for row in recovery.rows}
    assert found["etcd", "3,000"] == ("never", "")
    assert found["redis", "1,000"] == ("1023", "")


def test_headings_and_values_are_words() -> None:
    assert label("pause_ttls") == "pause, TTL"
    assert label("ttl_ms") == "TTL, ms"
    assert label("nodes_down") == "nodes down"
    assert [value_words(one) for one in (True, False, 0.25, 1000, "entry_deleted")] == [
        *("on", "off", "0.25", "1,000", "entry deleted")
    ]


def test_markdown_and_html_are_whole_whatever_a_reason_holds(hazards: HazardEvidence) -> None:
    text = markdown(hazards_document(hazards))
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
    assert "not confirmed \\| within 2 s" in text
    html = html_page(hazards_document(hazards, ()))
    assert "<b>the pause</b>" not in html
    assert "&lt;b&gt;the pause&lt;/b&gt;" in html
    for words in ("safe only with fencing", "unavailable", "gc-pause-etcd-04", "Staged:"):
        assert words in text
        assert words in html


def test_every_trial_and_every_void_run_is_a_row_of_the_csv(hazards: HazardEvidence) -> None:
    rows = list(csv.DictReader(io.StringIO(trials_csv(hazards))))
    assert len(rows) == sum(max(1, len(run.trials)) for run in hazards.runs)
    void = {row["run_id"] for row in rows if row["void_reason"]}
    assert void == {"gc-pause-zookeeper-02", "gc-pause-etcd-04"}
    first = next(row for row in rows if row["run_id"] == "gc-pause-redis-01" and row["parameter_pause_ttls"] == "1.6")
    assert (first["late_accepted"], first["overlap_s"], first["parameter_fence"]) == ("1", "0.598", "False")
    verdicts = list(csv.DictReader(io.StringIO(verdicts_csv(hazards))))
    assert {(row["system"], row["fault"]): row["verdict"] for row in verdicts}[
        "redlock", "pause of the holder"
    ] == "unsafe"


def test_the_comparisons_safety_cells_come_from_the_verdicts(both: Evidence) -> None:
    notes = Footnotes()
    pauses, clocks = pause_safety(both, notes), clock_sensitivity(both, notes)
    assert pauses("redis").words == "fence held so far, while the counter survives: two holders in 6 of 6 pauses"
    assert pauses("redlock").words == "unsafe: two holders in 4 of 4 pauses"
    assert pauses("postgres-row").words == "not seen: two holders in 0 of 4 pauses; waiters pinned for up to 1.0\u00a0s"
    assert clocks("redlock").words == (
        "yes: two holders once clocks jump by what is left of the holder's validity plus the drift term "
        "(1 % of the TTL + 2 ms), on 3 of the 5 nodes held"
    )
    assert clocks("redis").words == "yes: two holders in 1 of 1 (server clock jump (ahead))"
    assert clocks("etcd").words == "not seen: two holders in 0 of 1 jumps, 1 run"
    assert not clocks("zookeeper").measured
    assert f"{NO_TOKEN}: Redlock." in notes.texts
    assert any(note.startswith(FEW) and "Postgres row" in note for note in notes.texts)


def test_a_safety_cell_counts_holders_by_each_faults_own_runs(both: Evidence) -> None:
    ahead = records.Staged(faults=(records.window("clock_jump", amount=5000.0),))
    whose = records.Staged({"whose": "contender"}, faults=(records.window("client_clock", amount=5000.0),))
    stuck = records.pause(1600.0, never_served=1)
    found = [
        *records.often("server-clock", "etcd", ahead, repetitions=3),
        *records.often("redlock-clock", "etcd", records.jump(5000.0, False), repetitions=3),
        *records.often("client-clock", "dynamodb", whose, repetitions=6),
        *records.often("gc-pause", "redis", stuck),
    ]
    for number, run in enumerate(found):
        found[number] = replace(run, plan=run.plan.model_copy(update={"run_id": f"{run.run_id}-{number}"}))
        found[number] = replace(
            found[number], trials=tuple(replace(row, plan=found[number].plan) for row in run.trials)
        )
    evidence = replace(both, hazards=records.evidence(*found))
    pauses, clocks = pause_safety(evidence, Footnotes()), clock_sensitivity(evidence, Footnotes())
    assert clocks("etcd").words.startswith("not seen"), "three runs of one fault and three of another are not six"
    assert clocks("dynamodb").words.startswith("no:")
    assert pauses("redis").words == "unavailable: two holders in 0 of 6 pauses"


def test_the_comparison_names_the_hazard_campaign(both: Evidence, evidence: Evidence) -> None:
    assert any(records.CAMPAIGN in value for name, value in build_comparison(both).facts if name == "Under faults")
    assert not any(name == "Under faults" for name, _ in build_comparison(evidence).facts)
    told = " ".join(limits(both))
    assert "Staged:" in told
    assert "among them what happens when a holder pauses" not in told
    assert "among them what happens when a holder pauses" in " ".join(limits(evidence))


def test_claims_about_safety_have_their_runs(hazards: HazardEvidence) -> None:
    rows = {row.id: row for row in safety_rows(hazards)}
    assert "accepted 3 of 3" in rows["C19"].measured
    assert "gc-pause-redis-01" in rows["C19"].evidence
    assert "C01" not in rows


def test_a_fence_lasts_as_long_as_its_counter(both: Evidence) -> None:
    paused = [
        run
        for name in ("redis", "etcd")
        for run in often("gc-pause", name, two_holders(False, 4000.0), two_holders(True, 4000.0))
    ]
    fell = often("token-sources", "redis", Staged({"event": "server_killed"}, pairs=10, fell=10))
    notes = Footnotes()
    told = pause_safety(replace(both, hazards=records.evidence(*paused, *fell)), notes)
    assert told("redis").words == "safe only with fencing, while the counter survives: two holders in 12 of 12 pauses"
    assert told("etcd").words == "safe only with fencing: two holders in 12 of 12 pauses"
    assert notes.texts == (f"{COUNTER}: Redis.",)
    few = records.evidence(*(run for run in paused if run.run_id.endswith("-01")), *fell)
    told = pause_safety(replace(both, hazards=few), Footnotes())
    assert told("redis").words == "fence held so far, while the counter survives: two holders in 2 of 2 pauses"


def test_the_tokens_cell_tells_what_the_token_did_not_survive(both: Evidence) -> None:
    (fencing,) = [one for one in build_comparison(both).properties if one.key == "fencing"]
    assert "; fell after its entry was deleted" in fencing.pairs["redis"].measured.words
    assert "fell" not in fencing.pairs["etcd"].measured.words
