"""What no run of the reference showed is counted alike by both, and as the definitions have it."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from tests.judge.counts import Count
from tests.judge.hand_made import REFERENCE, Fields, campaign, holder_and_next, of
from tests.judge.lines import NOT_MEASURED, SAFE, UNAVAILABLE, UNSAFE, Line, lines
from tests.judge.meanings import LOOKING_MS
from tests.judge.records import Run, runs_of
from tests.judge.renderings import Rendered, judged


def _alike(folder: Path) -> dict[tuple[str, str], Line]:
    """The judge's lines, of which lockbench says the same."""
    runs = judged(folder)
    compared = Rendered.of(folder).against(runs)
    assert {name: one.wrong for name, one in compared.items() if one.wrong} == {}
    return lines(runs)


def _seen_of(count: Count) -> tuple[int, int]:
    return count.seen, count.of


def _leader_stalled_for(*ttls: int, survived: bool) -> Callable[[Fields], bool]:
    def keep(trial: Fields) -> bool:
        told = trial["parameters"]
        in_vain = told["stall_ttls"] == 4 and not trial["measures"]["survived"]
        return told["who"] == "leader" and told["stall_ttls"] in ttls and not (survived and in_vain)

    return keep


@pytest.mark.parametrize(("ttls", "exposed"), [((1, 4), 4), ((1,), 0)])
def test_a_system_that_served_nobody_in_unexposed_trials_only_is_counted_by_these(
    tmp_path: Path, ttls: tuple[int, ...], exposed: int
) -> None:
    keep = _leader_stalled_for(*ttls, survived=True)
    line = _alike(campaign(tmp_path, of("stalled-leader", "zookeeper"), keep))["zookeeper", "server stalled (leader)"]
    assert line.tally.word == UNAVAILABLE
    assert _seen_of(line.tally.nobody) == (0, exposed)
    assert _seen_of(line.behind) == (2, 6), "of the trials in which it was seen"


def test_a_control_that_shows_harm_has_a_line_of_its_own(tmp_path: Path) -> None:
    def never(trial: Fields) -> None:
        if trial["parameters"]["step"] == "0 ms":
            trial["measures"]["recovery_ms"] = -1.0

    found = _alike(campaign(tmp_path, of("clock-back-and-crash", "redis"), edit=never))
    line = found["redis", "crash of the holder, clocks back (nothing done)"]
    assert line.tally.word == UNAVAILABLE
    assert _seen_of(line.behind) == (6, 6)
    assert _seen_of(found["redis", "crash of the holder, clocks back"].behind) == (12, 12)


def test_a_write_that_was_taken_unread_is_harm_beside_one_that_went_with_its_transaction(tmp_path: Path) -> None:
    def taken(trial: Fields) -> None:
        """A second write of the stopped holder was sent before the next grant was told, and came after it."""
        (gone,) = (one for one in trial["writes"] if one["accepted"] is None)
        told_ns = holder_and_next(trial)[1]["from_ns"]
        came = {"sent_ns": told_ns - 1000, "judged_ns": told_ns + 1000, "answered_ns": told_ns + 2000}
        trial["writes"] = [{**gone, **came, "accepted": True, "order": 2, "reason": ""}, *trial["writes"]]

    keep = {"idle_timeout": "on", "pause_ttls": 3}
    folder = campaign(
        tmp_path, of("idle-in-transaction", "postgres-row"), lambda trial: bool(trial["parameters"] == keep), taken
    )
    line = _alike(folder)["postgres-row", "pause inside a transaction (idle timeout on)"]
    assert line.tally.word == UNSAFE
    assert _seen_of(line.tally.late_accepted(False)) == (6, 6)


def test_a_write_that_came_late_and_was_refused_is_harm_without_two_beliefs(tmp_path: Path) -> None:
    def overtaken(trial: Fields) -> None:
        """Sent while it believed, it came after the next grant, when the holder had been told of the loss."""
        holder, then = holder_and_next(trial)
        (late,) = (one for one in trial["writes"] if one["grant"] == holder["grant"])
        late["sent_ns"] = then["from_ns"] - 2_000_000
        holder.update(until_ns=then["from_ns"] - 1_000_000, ended_by="lost")

    folder = campaign(
        tmp_path, of("gc-pause", "redis"), lambda trial: bool(trial["parameters"] == {"pause_ttls": 2}), overtaken
    )
    line = _alike(folder)["redis", "pause of the holder"]
    assert line.tally.longest_ms == 0.0
    assert line.tally.shown.seen == line.tally.shown.of > 0


def _read_by_the_next(trial: Fields) -> None:
    """The late write reaches the resource just before the next holder presents its token and reads."""
    holder, _ = holder_and_next(trial)
    (late,) = (one for one in trial["writes"] if one["grant"] == holder["grant"])
    others = sorted(
        (one for one in (*trial["writes"], *trial["presentations"]) if one["grant"] != holder["grant"]),
        key=lambda one: one["order"],
    )
    late.update(
        order=others[0]["order"],
        judged_ns=others[0]["judged_ns"] - 1,
        accepted=True,
        highest_before=late["token"],
        value_before=late["value_read"],
    )
    value, order = late["value_written"], late["order"]
    for one in others:
        order += 1
        one.update(order=order, value_read=value)
        if "value_written" in one:
            one["value_before"], value = value, value + 1
            one["value_written"] = value


def _waits_fenced(trial: Fields) -> bool:
    return bool(trial["parameters"] == {"fence": True, "meanwhile": "waits"})


def test_a_late_write_that_the_next_holder_read_is_no_harm(tmp_path: Path) -> None:
    folder = campaign(tmp_path, of("late-on-the-wire", "redis"), _waits_fenced, _read_by_the_next)
    line = lines(judged(folder))["redis", "write late on the wire"]
    assert (line.tally.word, _seen_of(line.behind)) == (SAFE, (0, 6))
    assert [int(one["late_read"]) for one in _rows(folder, "hazards.csv")] == [1] * 6
    assert [int(one["lost_updates"]) for one in _rows(folder, "hazards.csv")] == [0] * 6


def test_and_lockbench_says_so(tmp_path: Path) -> None:
    _alike(campaign(tmp_path, of("late-on-the-wire", "redis"), _waits_fenced, _read_by_the_next))


def _sent_late_and_read(trial: Fields) -> None:
    """The holder wakes and sends its write between the next grant and the first read under it."""
    _read_by_the_next(trial)
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
    (row,) = _rows(folder, "hazard_verdicts.csv")
    assert [one["late_read"] for one in _rows(folder, "hazards.csv")] == ["1"] * 6
    assert "no late write met a fence" not in row["reason"]
    assert "6 more came before the new holder's first read" in row["reason"]


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


def test_a_late_write_that_was_taken_is_told_of_in_whichever_trial_it_came(rendered: Rendered) -> None:
    (redis,) = (
        row
        for row in csv.DictReader(io.StringIO(rendered.texts["hazard_verdicts.csv"]))
        if (row["system"], row["fault"]) == ("redis", "pause of the holder")
    )
    assert "1 more came before the new holder's first read" in redis["reason"]


def test_a_run_that_failed_stands_in_the_line_that_its_plan_names(tmp_path: Path) -> None:
    at_write = [
        run.run_id
        for run in runs_of(REFERENCE)
        if (run.scenario, run.system, run.plan["parameters"].get("presented")) == ("gc-pause", "redis", "at_write")
    ]
    folder = campaign(tmp_path, of("gc-pause", "redis"), failed=at_write[:1])
    void = {row["fault"]: row["void_runs"] for row in _rows(folder, "hazard_verdicts.csv")}
    assert void == {"pause of the holder": "", "pause of the holder (token first shown with a write)": at_write[0]}


def _rows(folder: Path, name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(Rendered.of(folder).texts[name])))


def test_a_run_without_trials_that_is_not_void_is_not_called_so(tmp_path: Path) -> None:
    folder = campaign(tmp_path, of("idle-in-transaction", "postgres-row"), lambda _: False)
    assert all(not line.void and line.tally.word == NOT_MEASURED for line in _alike(folder).values())
