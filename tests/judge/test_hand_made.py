"""What no run of the reference showed is counted alike by both, and as the definitions have it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.judge.counts import Count
from tests.judge.hand_made import Fields, campaign, holder_and_next, of, read_by_the_next, waits_fenced
from tests.judge.lines import NOT_MEASURED, SAFE, UNAVAILABLE, UNSAFE, lines
from tests.judge.renderings import alike, judged, rows_of


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
    line = lines(alike(campaign(tmp_path, of("stalled-leader", "zookeeper"), keep)))[
        "zookeeper", "server stalled (leader)"
    ]
    assert line.tally.word == UNAVAILABLE
    assert _seen_of(line.tally.nobody) == (0, exposed)
    assert _seen_of(line.behind) == (2, 6), "of the trials in which it was seen"


def test_a_control_that_shows_harm_has_a_line_of_its_own(tmp_path: Path) -> None:
    def never(trial: Fields) -> None:
        if trial["parameters"]["step"] == "0 ms":
            trial["measures"]["recovery_ms"] = -1.0

    found = lines(alike(campaign(tmp_path, of("clock-back-and-crash", "redis"), edit=never)))
    line = found["redis", "crash of the holder, clocks set back (nothing done)"]
    assert line.tally.word == UNAVAILABLE
    assert _seen_of(line.behind) == (6, 6)
    assert _seen_of(found["redis", "crash of the holder, clocks set back"].behind) == (12, 12)


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
    line = lines(alike(folder))["postgres-row", "pause inside a transaction (idle timeout on)"]
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
    line = lines(alike(folder))["redis", "pause of the holder"]
    assert line.tally.longest_ms == 0.0
    assert line.tally.shown.seen == line.tally.shown.of > 0


def test_a_late_write_that_the_next_holder_read_is_no_harm(tmp_path: Path) -> None:
    folder = campaign(tmp_path, of("late-on-the-wire", "redis"), waits_fenced, read_by_the_next)
    line = lines(judged(folder))["redis", "write delayed on the wire"]
    assert (line.tally.word, _seen_of(line.behind)) == (SAFE, (0, 6))
    assert [int(one["late_read"]) for one in rows_of(folder, "hazards.csv")] == [1] * 6
    assert [int(one["lost_updates"]) for one in rows_of(folder, "hazards.csv")] == [0] * 6


def test_a_run_without_trials_that_is_not_void_is_not_called_so(tmp_path: Path) -> None:
    folder = campaign(tmp_path, of("idle-in-transaction", "postgres-row"), lambda _: False)
    assert all(not line.void and line.tally.word == NOT_MEASURED for line in lines(alike(folder)).values())
