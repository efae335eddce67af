"""Where lockbench once said other than its trials showed."""

import csv
import io
from collections.abc import Sequence
from pathlib import Path

from tests.judge.hand_made import REFERENCE, Fields, campaign, holder_and_next, of, read_by_the_next, waits_fenced
from tests.judge.lines import lines
from tests.judge.meanings import LOOKING_MS
from tests.judge.records import Run, runs_of
from tests.judge.renderings import Rendered, alike, rows_of


def test_and_lockbench_says_so(tmp_path: Path) -> None:
    alike(campaign(tmp_path, of("late-on-the-wire", "redis"), waits_fenced, read_by_the_next))


def _sent_late_and_read(trial: Fields) -> None:
    """The holder wakes and sends its write between the next grant and the first read under it."""
    read_by_the_next(trial)
    holder, then = holder_and_next(trial)
    (late,) = (one for one in trial["writes"] if one["grant"] == holder["grant"])
    late.update(sent_ns=then["from_ns"] + 1_000, judged_ns=then["from_ns"] + 2_000)
    for one in trial["presentations"]:
        if one["grant"] == then["grant"]:
            one["judged_ns"] = max(one["judged_ns"], late["judged_ns"] + 1_000)


def test_late_writes_that_were_all_read_met_the_fence(tmp_path: Path) -> None:
    folder = campaign(
        tmp_path, of("page-scenario", "redis"), lambda trial: bool(trial["parameters"]["fence"]), _sent_late_and_read
    )
    (row,) = rows_of(folder, "hazard_verdicts.csv")
    assert [one["late_read"] for one in rows_of(folder, "hazards.csv")] == ["1"] * 6
    assert "no late write met a fence" not in row["reason"]
    assert "6 more arrived before the new holder's first read" in row["reason"]


def test_no_sentence_says_that_two_holders_were_not_seen_where_two_believed(
    rendered: Rendered, runs: Sequence[Run]
) -> None:
    """But for the 50 ms that come from a client's looking. No other verdict forgives any time at all."""
    judged_lines = lines(runs)
    said = [
        (row["system"], row["fault"])
        for row in csv.DictReader(io.StringIO(rendered.texts["hazard_verdicts.csv"]))
        if row["reason"].startswith("two holders in 0 of ")
    ]
    assert [key for key in said if judged_lines[key].tally.longest_ms > LOOKING_MS] == []


def _served_beside_a_majority_that_hangs(trial: Fields) -> None:
    if (trial["parameters"]["how"], trial["parameters"]["nodes_down"]) == ("hang", 2):
        trial["measures"]["acquired"] = 1.0


def test_a_lock_that_is_had_beside_a_majority_that_hangs_does_not_go_by_the_majority(tmp_path: Path) -> None:
    folder = campaign(tmp_path, of("nodes-down", "zookeeper"), edit=_served_beside_a_majority_that_hangs)
    (claim,) = (one for one in rows_of(folder, "claims.csv") if one["id"] == "C36")
    assert claim["verdict"] == "fails", claim["why"]


def _believes_on(trial: Fields) -> None:
    holder, then = holder_and_next(trial)
    holder["until_ns"] = then["from_ns"] + 10_000_000


def test_the_hazard_beside_a_count_is_the_one_that_was_counted(tmp_path: Path) -> None:
    folder = campaign(tmp_path, of("crash-recovery", "redis"), edit=_believes_on)
    (row,) = rows_of(folder, "hazard_verdicts.csv")
    assert row["reason"].startswith(f"two holders in {row['shown']} of {row['of_trials']}; ")
    assert row["hazard"] == "two holders"


def test_a_late_write_that_was_taken_is_told_of_in_whichever_trial_it_came(rendered: Rendered) -> None:
    (redis,) = (
        row
        for row in csv.DictReader(io.StringIO(rendered.texts["hazard_verdicts.csv"]))
        if (row["system"], row["fault"]) == ("redis", "pause of the holder")
    )
    assert "1 more arrived before the new holder's first read" in redis["reason"]


def test_a_run_that_failed_stands_in_the_line_that_its_plan_names(tmp_path: Path) -> None:
    at_write = [
        run.run_id
        for run in runs_of(REFERENCE)
        if (run.scenario, run.system, run.plan["parameters"].get("presented")) == ("gc-pause", "redis", "at_write")
    ]
    folder = campaign(tmp_path, of("gc-pause", "redis"), failed=at_write[:1])
    void = {row["fault"]: row["void_runs"] for row in rows_of(folder, "hazard_verdicts.csv")}
    assert void == {"pause of the holder": "", "pause of the holder (token first shown by a write)": at_write[0]}
